"""The check of a document's text: CommonMark without raw HTML, its links absolute http(s) (session protocol
§5).

A CommonMark parser is the judge, not a pattern: ``<b>`` in a code fence is text. It is loaded at the first
document that could hold HTML or a link at all.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from felan_core.protocol.problems import Problem, short

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.rules_core import StateCore
    from markdown_it.token import Token

_DEEP: Final = 100
_STEPS: Final = 1_000_000
"""How far the search for the ends of links may go in one paragraph: about a tenth of a second."""
_MARK: Final = re.compile(r"[^\w\s]")
_BRACKET: Final = re.compile(r"[\[\]]")
_parser: "list[MarkdownIt]" = []


def check_markdown(text: str, where: str) -> None:
    """Refuse raw HTML, and links, images and autolinks that are not absolute http(s). Raises ``Problem``."""
    # Without these two nothing in CommonMark is HTML, a link or an image.
    if "<" not in text and "[" not in text:
        return
    try:
        tokens = _commonmark().parse(text)
    except (RecursionError, _TooManyBrackets):
        raise Problem(where, "nested too deeply") from None
    _check(tokens, where)


def _commonmark() -> "MarkdownIt":
    if not _parser:
        from markdown_it import MarkdownIt

        made = MarkdownIt("commonmark", {"maxNesting": _DEEP})
        # By itself it takes a link to javascript: for text, and says nothing.
        made.validateLink = _any_link
        # Neither emphasis nor entities make a link or HTML of a text, and floods of them are slow.
        made.disable(["emphasis", "entity", "newline", "balance_pairs", "fragments_join", "text_join"])
        made.core.ruler.at("inline", _inline)
        _parser.append(made)
    return _parser[0]


class _TooManyBrackets(Exception):
    pass


def _inline(state: "StateCore") -> None:
    """The parser's own step, of the paragraphs that can hold anything, and only of those that end soon: it
    looks for the end of every bracket that stands open, as far as the paragraph goes.
    """
    for token in state.tokens:
        text = token.content
        if token.type != "inline" or not ("<" in text or "]" in text):
            continue
        if _open_brackets(text) * len(_MARK.findall(text)) > _STEPS:
            raise _TooManyBrackets
        token.children = []
        state.md.inline.parse(text, state.md, state.env, token.children)


def _open_brackets(text: str) -> int:
    """The largest number of brackets open at once."""
    now = most = 0
    for bracket in _BRACKET.findall(text):
        now = now + 1 if bracket == "[" else max(0, now - 1)
        most = max(most, now)
    return most


def _any_link(url: str) -> bool:
    return True


def _check(tokens: "Iterable[Token]", where: str) -> None:
    for token in tokens:
        if token.level >= _DEEP - 1:
            # What is deeper was not parsed.
            raise Problem(where, "nested too deeply")
        if token.type in ("html_block", "html_inline"):
            raise Problem(where, f"raw HTML is not taken: {short(token.content.strip())!r}")
        if token.type in ("link_open", "image"):
            url = str(token.attrs.get("href" if token.type == "link_open" else "src", ""))
            if not _is_absolute(url):
                raise Problem(where, f"only absolute http(s) links are taken: {short(url)!r}")
        if token.children:
            _check(token.children, where)


def _is_absolute(url: str) -> bool:
    scheme, separator, rest = url.partition("://")
    hosted = bool(separator) and rest[:1] not in ("", "/", "?", "#", ":")
    return hosted and scheme.lower() in ("http", "https")
