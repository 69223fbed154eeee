"""The session host, its wire contract and what it runs; nothing in here draws a screen."""

__version__ = "0.1.0"
