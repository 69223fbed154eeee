"""The terminal app: a client of the session host like any other."""
