"""Text that tries to style, act on, garble or crash a screen: every block and widget is shown each of
these.
"""

MARKUP = {
    "a style": "[red]x[/red]",
    "a closing tag alone": "a [/x] b",
    "an action": "[@click=app.quit]x[/]",
    "a link": "[link=http://x]l[/link]",
    "an assignment": "[stage=1: x]",
    "an open tag": "z [b + should",
    "a variable": "$primary [$foo]x",
    "rich markup": "[bold red]x[/bold red] :smile:",
}

ESCAPES = {
    "clipboard by OSC 52": "a\x1b]52;c;aGk=\x1b\\b",
    "clipboard by OSC 52 and BEL": "a\x1b]52;c;aGk=\x07b",
    "title": "a\x1b]0;owned\x07b",
    "clear screen": "a\x1b[2Jb",
    "a colour": "a\x1b[31mb\x1b[0m",
    "an unfinished CSI": "ab\x1b[31",
    "an unfinished OSC": "ab\x1b]52;c;aGk=",
    "DCS": "a\x1bP1;2|payload\x1b\\b",
    "APC": "a\x1b_Gf=32;AAAA\x1b\\b",
    "SS3": "a\x1bOPb",
    "reset": "a\x1bcb",
    "C1 CSI": "a\x9b2Jb",
    "C1 OSC": "a\x9d52;c;aGk=\x9cb",
    "bell and backspace": "a\x07\x08b",
    "NUL": "a\x00b",
    "DEL": "a\x7fb",
    "shift out": "a\x0eb",
    "a sequence around a NUL": "a\x1b\x00[2Jb",
    "CRLF and CR": "a\r\nb\rc",
    "NEL and separators": "a\x85b\u2028c\u2029d",
}

INVISIBLE = {
    "right-to-left override": "a\u202eb",
    "isolates": "a\u2066b\u2069",
    "zero-width space": "a\u200bb",
    "a joiner between letters": "ad\u200dmin",
    "a soft hyphen": "a\xadb",
    "a byte order mark": "\ufeffab",
    "tag characters": "a\U000e0041\U000e0042b",
    "a variation selector with data": "a\U000e0100b",
    "a lone surrogate": "a\ud800b",
    "many marks": "a" + "\u0301" * 400 + "b",
}

LONG = {
    "1 MB without a break": "x" * 1_000_000,
    "1 MB of ideographs": "漢" * 350_000,
}

SHORT = {**MARKUP, **ESCAPES, **INVISIBLE}
ALL = {**SHORT, **LONG}

FORBIDDEN = frozenset(
    [chr(point) for point in (*range(0x20), *range(0x7F, 0xA0)) if point != 0x0A]
    + [*"\u200b\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069\ufeff\xad\u2028\u2029"]
    + [chr(point) for point in range(0xD800, 0xE000)]
    + [chr(point) for point in range(0xE0000, 0xE1000)]
)


def harmful(text: str) -> frozenset[str]:
    """The characters of `text` that may not reach a terminal."""
    return FORBIDDEN.intersection(text)
