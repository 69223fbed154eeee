"""What a session leaves on disk: the SQLite database and the one thread that writes it.

``Store`` opens it, ``Batch`` collects what one transaction changes, ``rows`` says what comes back, ``errors`` what
can go wrong. The host imports from those modules.
"""
