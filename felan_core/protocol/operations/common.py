"""Shapes that operations of several kinds share (session protocol §4)."""

from typing import Annotated

from msgspec import Meta

from felan_core.protocol.base import UNSET, Base64, Cursor, Id, Label, Maybe, PageLimit, Revision, Text, Wire


class Empty(Wire, frozen=True, kw_only=True):
    """``{}``: no parameters, or a result that says only that it was done."""


class Target(Wire, frozen=True, kw_only=True):
    """Which host is meant: compared whole, ``target_mismatch`` otherwise."""

    namespace: Label
    instance: Id
    root: Text


class PageParams(Wire, frozen=True, kw_only=True):
    """One page of a list: from ``cursor`` on, at most ``limit`` rows (64 when absent)."""

    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class RevisionResult(Wire, frozen=True, kw_only=True):
    """The revision from then on."""

    revision: Revision


class Image(Wire, frozen=True, kw_only=True):
    """A picture beside a text: its media type and its bytes in base64."""

    media_type: Label
    data: Base64


class PtySize(Wire, frozen=True, kw_only=True):
    """A terminal's size in cells."""

    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]
