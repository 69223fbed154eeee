"""A host that other programs may find: who owns a data folder, and later the socket that serves it."""
