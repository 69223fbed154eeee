"""What a session leaves on disk: the SQLite database and the one thread that writes it.

``store`` opens it, ``batch`` collects what one transaction changes, ``rows`` says what comes back, ``errors``
what can go wrong. The host imports from those four modules.
"""
