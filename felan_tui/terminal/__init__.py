"""The terminal: its input as events, its background, and the driver that connects it to the app.

`reader` (with `sequences`, `win32` and `keys`), `pastes` and `background` are pure: bytes and times in,
events out. `driver` does the I/O.
"""
