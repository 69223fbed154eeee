"""Child processes of a session: start, spool, read, stop."""
