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
    cursor: Maybe[Cursor] = UNSET
    limit: Maybe[PageLimit] = UNSET


class RevisionResult(Wire, frozen=True, kw_only=True):
    revision: Revision


class Image(Wire, frozen=True, kw_only=True):
    media_type: Label
    data: Base64


class PtySize(Wire, frozen=True, kw_only=True):
    columns: Annotated[int, Meta(ge=1, le=1000)]
    rows: Annotated[int, Meta(ge=1, le=1000)]
