"""The task pointer and its history, as this client saw it: pure shapes from the element `felan.pointer`.

The rules of a text are those of the task pointer's contract, §1; the host has the last word on them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from felan_core.protocol.elements import ViewElement
from felan_tui.bars.pointer import SIGNS
from felan_tui.text.safe import safe_line
from felan_tui.text.spans import ago

ELEMENT: Final = "felan.pointer"
MAX_BYTES: Final = 8192
HISTORY: Final = 200
"""Revisions that are kept to look back at."""
STALE: Final = frozenset({"STALE_GENERATION", "STALE_REVISION"})
UNREADABLE_SIGN: Final = ("!", "$text-error")

# Unicode White_Space, which is not what `str.strip` takes away: U+001C to U+001F are not in it.
_WHITE_SPACE = (
    "\t\n\x0b\x0c\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)
_REMEDIES: Final = {
    "STALE_GENERATION": "it was cleared or started again meanwhile",
    "STALE_REVISION": "somebody else changed it meanwhile",
    "STATE_INVALID": "its file is damaged. Move the file aside, then publish anew; felan pointer show "
    "says what is wrong with it",
    "LOCK_TIMEOUT": "another writer had it locked for too long. Try again in a moment",
    "PATH_UNSAFE": "its folder is a link, or somebody else's, and is not written to. felan pointer doctor "
    "says which",
    "IO_ERROR": "its file could not be read or written: a full disk, or a missing permission. "
    "felan pointer doctor looks for the cause",
    "REQUEST_INVALID": "the text was refused",
}


@dataclass(frozen=True)
class Pointer:
    """One revision of the element. ``element``: its revision; ``revision``: the pointer's own.

    ``updated_at`` is in milliseconds since the epoch, None where there is none. ``code`` says why the state
    could not be read, or why a publish was refused.
    """

    element: int
    status: str
    generation: str = ""
    revision: int = 0
    task: str = ""
    text: str = ""
    updated_at: int | None = None
    code: str = ""

    @property
    def expected(self) -> tuple[str, int]:
        """The generation and revision that a publish over this one expects (§2)."""
        return (self.generation or "ABSENT", self.revision)

    @property
    def readable(self) -> bool:
        """Whether there is a state, or certainly none; a stale answer for no state is readable too."""
        return self.status in SIGNS and not (
            self.status == "ABSENT" and bool(self.code) and self.code not in STALE
        )

    @property
    def sign(self) -> tuple[str, str]:
        """Sign and colour."""
        return SIGNS[self.status] if self.readable else UNREADABLE_SIGN

    @property
    def name(self) -> str:
        """Status and revision in a word or two: `CLEAN r4`."""
        if not self.readable:
            return f"unreadable {safe_line(self.code) or safe_line(self.status)}".rstrip()
        return f"{self.status} r{self.revision}" if self.revision else self.status

    def says_the_same(self, other: "Pointer") -> bool:
        """Whether both are alike in all but the element's revision."""
        return replace(self, element=other.element) == other


def pointer_of(element: ViewElement) -> Pointer | None:
    """The pointer of the element; None where the element has no item."""
    if not element.items:
        return None
    fields = element.items[0].fields

    def text(name: str) -> str:
        value = fields.get(name)
        return value if isinstance(value, str) else ""

    def number(name: str) -> int | None:
        value = fields.get(name)
        return int(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    return Pointer(
        element=element.revision,
        status=text("status"),
        generation=text("generation"),
        revision=number("revision") or 0,
        task=text("taskId"),
        text=text("text"),
        updated_at=number("updatedAt"),
        code=text("code")[:256],
    )


class Seen(NamedTuple):
    """A row of the history. ``at``: when this client saw it, in milliseconds.

    ``pointer`` is None for a text of the person's own that was not published. ``missed``: how many revisions
    before this one were not seen.
    """

    number: int
    at: int
    text: str
    pointer: Pointer | None = None
    missed: int = 0


class PointerHistory:
    """The revisions since attaching, oldest first, fed with every element that comes.

    ``now``: milliseconds since the epoch. At most ``keep`` rows stay.
    """

    def __init__(self, now: Callable[[], int], *, keep: int = HISTORY) -> None:
        self._now = now
        self._keep = keep
        self._next = 0
        self.rows: list[Seen] = []

    @property
    def latest(self) -> Pointer | None:
        """The newest revision."""
        return next((row.pointer for row in reversed(self.rows) if row.pointer is not None), None)

    def take(self, pointer: Pointer) -> bool:
        """Record `pointer`. False where it differs from the latest in nothing that is published."""
        latest = self.latest
        if latest is not None and pointer.says_the_same(latest):
            index = next(i for i, row in enumerate(self.rows) if row.pointer is latest)
            self.rows[index] = self.rows[index]._replace(pointer=pointer)
            return False
        missed = max(0, pointer.revision - latest.revision - 1) if latest is not None else 0
        self._add(Seen(self._next, self._now(), pointer.text, pointer, missed))
        return True

    def set_aside(self, text: str) -> None:
        """A text of the person's own that is not published: it can still be read and copied."""
        self._add(Seen(self._next, self._now(), text))

    def _add(self, row: Seen) -> None:
        self._next += 1
        self.rows.append(row)
        if len(self.rows) > self._keep:
            latest = self.latest
            # The newest revision is never dropped, however much was set aside after it.
            oldest = next(
                i for i, one in enumerate(self.rows) if one.pointer is None or one.pointer != latest
            )
            del self.rows[oldest]


def size_of(text: str) -> int:
    """UTF-8 bytes."""
    return len(text.encode("utf-8", "surrogatepass"))


def text_problem(text: str) -> str | None:
    """Why this cannot be published, as a sentence; None where it can (§1)."""
    if "\0" in text:
        return "It holds a NUL character, which a pointer cannot."
    if any("\ud800" <= character <= "\udfff" for character in text):
        return "It holds half of a character (a lone surrogate), which a pointer cannot."
    if (over := size_of(text) - MAX_BYTES) > 0:
        return f"It is {over:,} {'byte' if over == 1 else 'bytes'} too long: a pointer holds {MAX_BYTES:,}."
    if not text.strip(_WHITE_SPACE):
        return "It is empty: write the goal and the next step."
    return None


def merged(mine: str, theirs: Pointer) -> str:
    """Both texts in one, to be edited: mine first, and a line between them."""
    return f"{mine.rstrip()}\n\n----- theirs, {theirs.name} -----\n{theirs.text}"


def remedy(code: str) -> str:
    """The meaning of a code and its remedy, without a full stop."""
    return _REMEDIES.get(code, "felan pointer doctor looks for the cause")


def age(at: int | None, now: int) -> str:
    """How long ago an instant is, in words; both in milliseconds."""
    if at is None:
        return ""
    return ago((now - at) / 1000)
