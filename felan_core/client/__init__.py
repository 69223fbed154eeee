"""The client library: transports, one method an operation, and the replica of a session."""
