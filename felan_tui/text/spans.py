"""Spans of time in words, for lines that say how long something has been going on. Pure."""


def span(seconds: float) -> str:
    """`12 s`, `3 min 05 s`, `2 h 04 min`, `3 d 02 h`. Negative is zero."""
    whole = max(0, int(seconds))
    minutes, second = divmod(whole, 60)
    hours, minute = divmod(minutes, 60)
    days, hour = divmod(hours, 24)
    if days:
        return f"{days} d {hour:02} h"
    if hours:
        return f"{hours} h {minute:02} min"
    if minutes:
        return f"{minutes} min {second:02} s"
    return f"{second} s"


def ago(seconds: float) -> str:
    """How long ago something was: `just now`, `3 min ago`, `2 h ago`, `4 d ago`. Negative is now."""
    whole = max(0, int(seconds))
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if whole >= size:
            return f"{whole // size} {unit} ago"
    return "just now"
