"""Pictures of the running app: `make screenshots`."""
