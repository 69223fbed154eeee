"""Whether a small value surely keeps every rule of its shape: what every frame of a live session is asked.

One expression a shape, written from its annotations and compiled when the first value of it comes, so that a
frame costs few steps of Python. A yes is final. A no has no words and may be wrong: then the slow way judges.
"""

from collections.abc import Callable, Iterable
from math import isfinite
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, UNSET, Meta, Struct, UnsetType
from msgspec.structs import fields

from felan_core.protocol.base import LIMITS, MAX_INTEGER, Wire, kind_of

SURE_BYTES: Final = 2048
"""The largest JSON or MessagePack whose value may be asked: no object in it has 1,024 entries, and it breaks
none of the larger bounds, though a byte of the one may be six of the other.
"""
_FREE_LEVELS: Final = 16
"""So deep free JSON may be, wherever a shape holds it."""
_FEW: Final = 2
"""So many questions about a member are written in its holder's expression instead of called."""
_TEXTS: Final = frozenset((str,))
_ABSENT: Final = (("UNSET", UnsetType), ("None", NoneType))

Sure = Callable[..., bool]
"""May raise ``Problem`` as well, which is a no."""


def is_normal(value: Any, levels: int) -> bool:
    """Whether ``value`` is plain JSON as ``plain`` returns it, nested at most ``levels`` deep: exact types,
    small integers, no float that could be an integer, no list as long as structured data may not be. It does
    not look for lone surrogates.
    """
    kind = kind_of(value)
    if kind is dict:
        if levels == 0:
            return False
        for name, item in value.items():
            if type(name) is not str:
                return False
            # Most of it is one of these, which take no call.
            what = kind_of(item)
            if what is str or what is bool:
                continue
            if what is int:
                if item > MAX_INTEGER or item < -MAX_INTEGER:
                    return False
            elif not is_normal(item, levels - 1):
                return False
        return True
    if kind is list:
        return (
            levels > 0
            and len(value) < LIMITS.structured_entries
            and all(type(item) is str or is_normal(item, levels - 1) for item in value)
        )
    if kind is int:
        return -MAX_INTEGER <= value <= MAX_INTEGER
    if kind is float:
        return not value.is_integer() and isfinite(value)
    return kind is str or kind is bool or value is None


class SureOf(dict[Any, Sure]):
    """The question of each type, made when it is first asked.

    Its argument is the value. Where ``beside`` is set there is a second one, the plain JSON that the value
    was converted from: its types have to be exact, and its members all known. ``walks``: whether free JSON
    is looked into.
    """

    def __init__(self, *, walks: bool, beside: bool = False) -> None:
        super().__init__()
        self._walks = walks
        self._beside = beside
        self._scope: dict[str, Any] = {
            "UNSET": UNSET,
            "is_normal": is_normal,
            "texts": _TEXTS.issuperset,
            "sure": self,
        }

    def __missing__(self, hint: Any) -> Sure:
        made = self[hint] = self._made(self._terms(hint, "it", "raw"))
        return made

    def _made(self, terms: list[str]) -> Sure:
        # What is compiled here is made of the annotations of our own shapes, and of nothing from outside.
        return eval(f"lambda {self._two('it', 'raw')}: {' and '.join(terms) or 'True'}", self._scope)

    def _two(self, it: str, raw: str) -> str:
        return f"{it}, {raw}" if self._beside else it

    def _terms(self, hint: Any, it: str, raw: str) -> list[str]:
        """The expressions that are all true where ``it``, a ``hint`` made of ``raw``, surely is right."""
        origin = get_origin(hint)
        if origin is Annotated:
            base, *metas = get_args(hint)
            if base is str:
                return self._exactly("str", raw) + _in_bytes(metas, it)
            if base is int:
                return self._exactly("int", raw)
            for meta in metas:
                if meta.extra and "verified" in meta.extra:
                    return self._rows(get_args(base)[0], meta.extra["verified"], it, raw)
            return self._terms(base, it, raw)
        if origin is Union or origin is UnionType:
            return self._one_of(get_args(hint), it, raw)
        if origin is Literal:
            return self._exactly(type(get_args(hint)[0]).__name__, raw)
        if origin is list:
            return self._exactly("list", raw) + self._each(get_args(hint)[0], it, raw)
        if hint is int or hint is float:
            return [f"is_normal({raw if self._beside else it}, 0)"]
        if hint is str:
            return self._exactly("str", raw)
        if hint is Any or origin is dict:
            return self._free(hint, it, raw)
        if isinstance(hint, type) and issubclass(hint, Struct):
            return self._members(hint, it, raw)
        return []

    def _exactly(self, kind: str, raw: str) -> list[str]:
        return [f"type({raw}) is {kind}"] if self._beside else []

    def _free(self, hint: Any, it: str, raw: str) -> list[str]:
        walk = [f"is_normal({raw if self._beside else it}, {_FREE_LEVELS})"] if self._walks else []
        if hint is Any or get_args(hint)[1] is Any:
            return walk
        return walk + self._each(get_args(hint)[1], f"{it}.values()", f"{raw}.values()")

    def _rows(self, shape: type[Struct], verified: str, those: str, raws: str) -> list[str]:
        """As ``_each``; the values in the member ``verified`` are left to whoever holds the rows."""
        question = self._made(self._members(shape, "it", "raw", verified))
        return [*self._exactly("list", raws), f"all(map({self._named(question)}, {self._two(those, raws)}))"]

    def _members(self, shape: type[Struct], it: str, raw: str, verified: str = "") -> list[str]:
        hints = get_type_hints(shape, include_extras=True)
        tag = shape.__struct_config__.tag_field
        # Whether these were there the value does not tell, and the slow way knows what their absence means.
        there = [f"{tag!r} in {raw}"] if tag else []
        always, optional = len(there), list[str]()
        about: list[str] = []
        for field in fields(shape):
            hint, member, wire = hints[field.name], f"{it}.{field.name}", repr(field.encode_name)
            terms = self._terms(hint, member, f"{raw}[{wire}]")
            if field.name == verified:
                terms = [*self._exactly("dict", f"{raw}[{wire}]")]
                terms += [f"texts(map(type, {raw}[{wire}]))"] if self._beside else []
            about += terms if len(terms) <= _FEW else [self._ask(hint, member, f"{raw}[{wire}]")]
            if field.default is UNSET:
                optional.append(f"({member} is not UNSET)")
            else:
                always += 1
            if field.default not in (UNSET, NODEFAULT):
                there.append(f"{wire} in {raw}")
        if self._beside:
            members = " + ".join((str(always), *optional))
            about[:0] = [f"type({raw}) is dict", *there, f"len({raw}) == {members}"]
        if issubclass(shape, Wire) and shape.verify is not Wire.verify:
            about.append(f"{it}.verify() is None")
        return about

    def _one_of(self, branches: tuple[Any, ...], it: str, raw: str) -> list[str]:
        given = [branch for branch in branches if branch not in (UnsetType, NoneType)]
        if len(given) == 1:
            about = self._terms(given[0], it, raw)
        elif any(get_origin(branch) is Annotated for branch in given):
            raise TypeError(f"the class of a value does not say which it is of {given}")
        else:
            about = [f"sure[type({it})]({self._two(it, raw)})"]
        absent = [f"{it} is {name}" for name, kind in _ABSENT if kind in branches]
        return [f"({' or '.join((*absent, ' and '.join(about)))})"] if about else []

    def _each(self, item: Any, those: str, raws: str) -> list[str]:
        terms = self._terms(item, "it", "raw")
        if not terms:
            return []
        if terms == self._exactly("str", "raw"):
            return [f"texts(map(type, {raws}))"]
        return [f"all(map({self._named(self[item])}, {self._two(those, raws)}))"]

    def _ask(self, hint: Any, it: str, raw: str) -> str:
        return f"{self._named(self[hint])}({self._two(it, raw)})"

    def _named(self, question: Sure) -> str:
        """A name for it in the expressions."""
        name = f"sure_{len(self._scope)}"
        self._scope[name] = question
        return name


def _in_bytes(metas: Iterable[Any], it: str) -> list[str]:
    """Whether a string that is short enough in characters is so in bytes, of which each has at most four."""
    limits = [meta.max_length for meta in metas if isinstance(meta, Meta) and meta.max_length is not None]
    return [f"({it}.isascii() or len({it}) <= {limit // 4})" for limit in limits if limit < SURE_BYTES]


SURE: Final = SureOf(walks=False)
"""Of values whose text was looked at already."""
SURE_DECODED: Final = SureOf(walks=True)
"""Of values just decoded."""
SURE_PLAIN: Final = SureOf(walks=True, beside=True)
"""Of values just converted, and the plain JSON that they were converted from."""
