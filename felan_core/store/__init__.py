"""What a session leaves on disk: the SQLite database and the one thread that writes it."""
