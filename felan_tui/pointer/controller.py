"""PointerController: keeps the pointer's history and draft, and sends requests about it to the host.

It outlives the screen, so that what is written there is still there at the next opening.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from felan_core.protocol import ProtocolError
from felan_core.protocol.base import UNSET, JsonObject
from felan_core.protocol.elements import Element, ViewElement
from felan_core.protocol.operations import UiActionParams
from felan_tui.pointer.facts import ELEMENT, STALE, Pointer, PointerHistory, pointer_of, remedy
from felan_tui.session.controller import Refusal, words

_TRIES = 3
"""How often an action is asked for again where only what is said *about* the pointer had changed."""


@dataclass(frozen=True)
class Draft:
    """A text that is not published, and the pointer that it started from."""

    base: Pointer
    text: str


class Outcome(NamedTuple):
    """The result of a publish or a clear. ``words``: why it failed; ``pointer``: the current one."""

    kind: Literal["done", "stale", "failed"]
    pointer: Pointer | None = None
    words: str = ""


class PointerController:
    """The pointer of one session. ``act`` asks the host; ``changed`` is called after each change."""

    def __init__(self, act: Callable[[UiActionParams], Awaitable[None]], *, now: Callable[[], int]) -> None:
        self._act = act
        self.now = now
        self.history = PointerHistory(now)
        self.draft: Draft | None = None
        self.changed: Callable[[], None] | None = None
        self._since: list[Pointer] | None = None
        """The updates that arrived since an action was requested, before its answer."""

    @property
    def latest(self) -> Pointer | None:
        """The current pointer; None where the host has shown none."""
        return self.history.latest

    @property
    def busy(self) -> bool:
        """Whether an action's answer is out."""
        return self._since is not None

    def take(self, element: Element | None) -> None:
        """The element as it is now; others and None are ignored."""
        if not isinstance(element, ViewElement) or element.id != ELEMENT:
            return
        pointer = pointer_of(element)
        if pointer is None:
            return
        if self._since is not None:
            self._since.append(pointer)
        self.history.take(pointer)
        if self.changed is not None:
            self.changed()

    def drop_draft(self) -> None:
        """The draft is not wanted any more; it can still be read in the history."""
        if self.draft is not None:
            self.history.set_aside(self.draft.text)
            self.draft = None

    async def publish(self, text: str, base: Pointer) -> Outcome:
        """Publish ``text`` over ``base`` alone. A successful publish deletes the draft."""
        generation, revision = base.expected
        values: JsonObject = {
            "expectedGeneration": generation,
            "expectedRevision": revision,
            "text": text,
        }
        outcome = await self._ask("publish", values, base, lambda since: _published(since, text, base))
        if outcome.kind == "done" and self.draft is not None and self.draft.text == text:
            self.draft = None
        return outcome

    async def clear(self, seen: Pointer) -> Outcome:
        """Clear the pointer that the person saw, and no other."""
        if self.latest is not None and self.latest.expected != seen.expected:
            return Outcome("stale", self.latest, remedy("STALE_REVISION"))
        return await self._ask("clear", None, seen, lambda since: _cleared(since, seen))

    async def _ask(
        self,
        action: str,
        values: JsonObject | None,
        base: Pointer,
        judge: Callable[[list[Pointer]], Outcome | None],
    ) -> Outcome:
        if self._since is not None:
            return Outcome("failed", self.latest, "an earlier change is still under way")
        since: list[Pointer] = []
        self._since = since
        try:
            for _ in range(_TRIES):
                latest = self.latest
                if latest is None:
                    return Outcome("failed", None, "the host has not shown the task pointer yet")
                since.clear()
                params = UiActionParams(
                    element=ELEMENT,
                    revision=latest.element,
                    action=action,
                    values=UNSET if values is None else values,
                )
                try:
                    await self._act(params)
                except ProtocolError as error:
                    if error.code != "stale_request":
                        return Outcome("failed", self.latest, words(error))
                    if self.latest is not None and self.latest.expected != base.expected:
                        return Outcome("stale", self.latest, remedy("STALE_REVISION"))
                    continue
                except Refusal as error:
                    told = f"{words(error)}. Whether it was done is not known"
                    return Outcome("failed", self.latest, told)
                return judge(since) or self._unanswered(base)
            return Outcome("failed", self.latest, "it changes too fast; try again in a moment")
        finally:
            self._since = None

    def _unanswered(self, base: Pointer) -> Outcome:
        """The answer did not come as an element's revision, because a fresh snapshot took its place."""
        latest = self.latest
        if latest is not None and latest.expected != base.expected:
            return Outcome("stale", latest, remedy("STALE_REVISION"))
        return Outcome("failed", latest, "the host sent no result; look again")


def _published(since: list[Pointer], text: str, base: Pointer) -> Outcome | None:
    """Only one writer can win a revision: the next one with this text is ours, whatever came after it."""
    for pointer in since:
        if (pointer.revision, pointer.status, pointer.text) == (base.revision + 1, "CLEAN", text):
            return Outcome("done", pointer)
    return _refused(since)


def _cleared(since: list[Pointer], seen: Pointer) -> Outcome | None:
    for pointer in since:
        if pointer.status == "CLEARED" and pointer.revision > seen.revision:
            return Outcome("done", pointer)
    return _refused(since)


def _refused(since: list[Pointer]) -> Outcome | None:
    refused = next((pointer for pointer in reversed(since) if pointer.code), None)
    if refused is None:
        return None
    if refused.code in STALE:
        return Outcome("stale", since[-1], remedy(refused.code))
    return Outcome("failed", since[-1], f"{refused.code}: {remedy(refused.code)}")
