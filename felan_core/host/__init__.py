"""The session host: admission, one actor a session, the interaction broker, fan-out."""
