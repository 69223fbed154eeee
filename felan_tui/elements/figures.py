"""Writes numbers, amounts, spans of time and instants for people. Pure; the time zone is a parameter."""

from datetime import datetime, tzinfo

_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def number(value: float) -> str:
    """A number without noise: thousands apart, at most two decimals, no trailing zeros."""
    if float(value).is_integer():
        return f"{int(value):,}" if abs(value) < 10**15 else f"{value:.3g}"
    if abs(value) >= 0.01:
        return f"{value:,.2f}".rstrip("0").rstrip(".")
    return f"{value:.2g}"


def is_bytes(unit: str) -> bool:
    """Whether a unit counts bytes."""
    return unit.casefold() in ("b", "byte", "bytes")


def amount(value: float, unit: str) -> str:
    """`value` with its unit; bytes in steps of 1,024. An empty unit is none."""
    if is_bytes(unit):
        size = float(value)
        for name in _BYTE_UNITS:
            if abs(size) < 1024 or name == _BYTE_UNITS[-1]:
                return f"{size:.0f} {name}" if name == "B" else f"{size:.1f} {name}"
            size /= 1024
    return f"{number(value)} {unit}".rstrip()


def instant(milliseconds: float, zone: tzinfo | None = None) -> str:
    """An instant of the wire (milliseconds since the epoch) as local time to the second."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, zone).strftime("%Y-%m-%d %H:%M:%S")
    except (OverflowError, OSError, ValueError):
        return number(milliseconds)
