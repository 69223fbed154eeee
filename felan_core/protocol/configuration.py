"""The closed configuration: the names that config.get and config.set know, their types, and the check.

There are 72 names (session protocol §10): 7 for models and thinking, 65 others, and with them
``extensionConfig.<extension>.<setting>`` for what the registered extensions declare. Names are flat strings
with dots. None of them is a secret or the path of a configuration file. Pure: reading and writing a settings
file is the host's work.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol, cast, get_args

import msgspec

from felan_core.protocol.base import LIMITS, Json, JsonObject, as_list, as_object
from felan_core.protocol.checks import check_entries, weight
from felan_core.protocol.errors import ProtocolError, invalid
from felan_core.protocol.plain import plain
from felan_core.protocol.problems import Problem, nearest, refusal_text, short
from felan_core.protocol.session import Thinking

Effect = Literal["screen", "host", "session", "agent"]
"""Where an option takes effect: the ``screen`` at once, the ``host`` at its next use, the next ``session``,
or the ``agent`` that it is handed on to when that supports it (else it is kept for it).
"""

EXTENSION_PREFIX: Final = "extensionConfig."
_THINKING: Final[tuple[str, ...]] = get_args(Thinking)


class SettingType(Protocol):
    """The type of a setting: the check of a value, and its JSON Schema."""

    def problem(self, value: Json) -> str | None:
        """The fault of plain JSON ``value``, in words; None for a valid one."""
        ...

    def schema(self) -> JsonObject:
        """The JSON Schema of the accepted values."""
        ...


class TextSetting(msgspec.Struct, frozen=True):
    """A string, at most ``textBytes``."""

    def problem(self, value: Json) -> str | None:
        if not isinstance(value, str):
            return "must be a string"
        if len(value.encode()) > LIMITS.text_bytes:
            return f"more than {LIMITS.text_bytes} bytes"
        return None

    def schema(self) -> JsonObject:
        return {"type": "string", "maxLength": LIMITS.text_bytes}


class FlagSetting(msgspec.Struct, frozen=True):
    """``true`` or ``false``."""

    def problem(self, value: Json) -> str | None:
        return None if isinstance(value, bool) else "must be true or false"

    def schema(self) -> JsonObject:
        return {"type": "boolean"}


class WholeSetting(msgspec.Struct, frozen=True):
    """An integer from ``low`` to ``high``."""

    low: int = 0
    high: int = 2**53 - 1

    def problem(self, value: Json) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int):
            return "must be a whole number"
        if self.low <= value <= self.high:
            return None
        bounded = f"from {self.low} to {self.high}"
        return f"must be {bounded if self.high < 2**53 - 1 else f'at least {self.low}'}"

    def schema(self) -> JsonObject:
        return {"type": "integer", "minimum": self.low, "maximum": self.high}


class NumberSetting(msgspec.Struct, frozen=True):
    """A number from ``low`` to ``high``."""

    low: float
    high: float

    def problem(self, value: Json) -> str | None:
        if isinstance(value, bool) or not isinstance(value, int | float):
            return "must be a number"
        return None if self.low <= value <= self.high else f"must be from {self.low:g} to {self.high:g}"

    def schema(self) -> JsonObject:
        return {"type": "number", "minimum": self.low, "maximum": self.high}


class ChoiceSetting(msgspec.Struct, frozen=True):
    """One of ``values``: strings, or ``False``."""

    values: tuple[str | bool, ...]

    def problem(self, value: Json) -> str | None:
        # By type too: 0 == False, and 0 is none of the choices.
        if any(type(value) is type(choice) and value == choice for choice in self.values):
            return None
        words = (choice if isinstance(choice, str) else "false" for choice in self.values)
        return f"must be one of {', '.join(words)}"

    def schema(self) -> JsonObject:
        return {"enum": list(self.values)}


class ListSetting(msgspec.Struct, frozen=True):
    """An array of ``of``, at most ``structuredEntries`` long."""

    of: SettingType

    def problem(self, value: Json) -> str | None:
        items = as_list(value)
        if items is None:
            return "must be an array"
        if len(items) > LIMITS.structured_entries:
            return f"more than {LIMITS.structured_entries} entries"
        for index, item in enumerate(items):
            found = self.of.problem(item)
            if found is not None:
                return f"entry {index} {found}"
        return None

    def schema(self) -> JsonObject:
        return {"type": "array", "items": self.of.schema(), "maxItems": LIMITS.structured_entries}


class MapSetting(msgspec.Struct, frozen=True):
    """An object: ``of`` by name; ``names`` limits the names unless it is empty."""

    of: SettingType
    names: tuple[str, ...] = ()

    def problem(self, value: Json) -> str | None:
        members = as_object(value)
        if members is None:
            return "must be an object"
        if len(members) > LIMITS.structured_entries:
            return f"more than {LIMITS.structured_entries} entries"
        for name, item in members.items():
            if self.names and name not in self.names:
                return f"knows only {', '.join(self.names)}"
            found = self.of.problem(item)
            if found is not None:
                return f"member {short(name)!r} {found}"
        return None

    def schema(self) -> JsonObject:
        if not self.names:
            return {"type": "object", "additionalProperties": self.of.schema()}
        members = {name: self.of.schema() for name in self.names}
        return {"type": "object", "properties": members, "additionalProperties": False}


class FreeSetting(msgspec.Struct, frozen=True):
    """Free JSON: an agent's own structure, or a setting whose declaration is not known here."""

    kinds: tuple[Literal["object", "string"], ...] = ()

    def problem(self, value: Json) -> str | None:
        names: dict[str, type[Any]] = {"object": dict, "string": str}
        if self.kinds and not isinstance(value, tuple(names[kind] for kind in self.kinds)):
            return f"must be {' or '.join(f'an {k}' if k == 'object' else f'a {k}' for k in self.kinds)}"
        return None

    def schema(self) -> JsonObject:
        return {"type": list(self.kinds)} if self.kinds else {}


class EitherSetting(msgspec.Struct, frozen=True):
    """Any of ``of``."""

    of: tuple[SettingType, ...]

    def problem(self, value: Json) -> str | None:
        problems = [one.problem(value) for one in self.of]
        if None in problems:
            return None
        return " or ".join(text.removeprefix("must be ") for text in cast(list[str], problems)).join(
            ("must be ", "")
        )

    def schema(self) -> JsonObject:
        return {"anyOf": [one.schema() for one in self.of]}


class ConfigOption(NamedTuple):
    """One name of the closed list. ``default`` None: unset, it has no value."""

    name: str
    group: str
    type: SettingType
    effect: Effect
    default: Json = None


class _Group(NamedTuple):
    name: str

    def __call__(self, name: str, type: SettingType, effect: Effect, default: Json = None) -> ConfigOption:
        return ConfigOption(name, self.name, type, effect, default)


def _table() -> dict[str, ConfigOption]:
    text, flag, whole = TextSetting(), FlagSetting(), WholeSetting()
    texts = ListSetting(text)

    def choice(*values: str | bool) -> ChoiceSetting:
        return ChoiceSetting(values)

    def or_flag(*words: str) -> EitherSetting:
        return EitherSetting((flag, ChoiceSetting(words)))

    def or_whole(word: str) -> EitherSetting:
        return EitherSetting((whole, ChoiceSetting((word,))))

    level = ChoiceSetting(_THINKING)
    queued = choice("all", "one-at-a-time")
    model, extra, talk = _Group("models and thinking"), _Group("model extras"), _Group("interaction")
    tool, session, terminal = _Group("tools"), _Group("sessions"), _Group("terminal")
    network, shell, resource = _Group("network"), _Group("shell"), _Group("resources")
    update = _Group("updates")
    rows = (
        model("defaultProvider", text, "session"),
        model("defaultModel", text, "session"),
        model("enabledModels", texts, "session"),
        model("defaultThinkingLevel", level, "session", "medium"),
        model("modelThinkingLevels", MapSetting(level), "session"),
        model("thinkingBudgets", MapSetting(whole, ("minimal", "low", "medium", "high")), "agent"),
        model("hideThinkingBlock", flag, "screen", False),
        extra("showCacheMissNotices", flag, "agent", False),
        extra("cacheWarming", choice("off", "streaming", "idle"), "agent", "idle"),
        talk("steeringMode", queued, "host", "one-at-a-time"),
        talk("followUpMode", queued, "host", "one-at-a-time"),
        talk("externalEditor", text, "screen"),
        talk("doubleEscapeAction", choice("tree", "fork", "none"), "screen", "tree"),
        talk("treeFilterMode", choice("default", "no-tools", "user-only", "labeled-only", "all"), "screen"),
        talk("defaultProjectTrust", choice("ask", "always", "never"), "agent", "ask"),
        tool("defaultTools", texts, "agent", ["read", "bash", "edit", "write"]),
        tool("codemode.mode", choice("on", "only"), "agent"),
        tool("codemode.inlineBudget", whole, "agent", 3000),
        session("sessionDir", text, "agent"),
        session("sessionShareDestination", choice("auto", "gist", "radius"), "agent"),
        session("compaction.enabled", flag, "agent", True),
        session("compaction.reserveTokens", whole, "agent", 16384),
        session("compaction.keepRecentTokens", whole, "agent", 20000),
        session("compaction.modelOverrides", FreeSetting(("object",)), "agent"),
        session("branchSummary.reserveTokens", whole, "agent", 16384),
        session("branchSummary.skipPrompt", flag, "agent", False),
        terminal("theme", text, "screen", "system"),
        terminal("quietStartup", or_flag("header"), "screen", False),
        terminal("tuiMode", choice("regular", "fullscreen"), "screen", "fullscreen"),
        terminal("fullscreenExitOutput", choice("transcript", "resume-hint"), "screen"),
        terminal("fullscreenScrollbar", choice("auto", "always", "hidden"), "screen"),
        terminal("fullscreenCopyOnSelect", flag, "screen", True),
        terminal("fullscreenWheelScrollLines", or_whole("auto"), "screen"),
        terminal("editorPaddingX", WholeSetting(0, 3), "screen", 0),
        terminal("outputPad", WholeSetting(0, 1), "screen", 1),
        terminal("autocompleteMaxVisible", WholeSetting(3, 20), "screen", 5),
        terminal("showHardwareCursor", flag, "screen", False),
        terminal("terminal.showImages", flag, "screen", True),
        terminal("terminal.imageWidthCells", whole, "screen", 60),
        terminal("terminal.clearOnShrink", flag, "screen", False),
        terminal("terminal.showTerminalProgress", flag, "screen", False),
        terminal("terminal.hyperlinks", or_flag("auto"), "screen"),
        terminal("terminal.images", choice("kitty", "iterm2", "auto", False), "screen"),
        terminal("terminal.trueColor", or_flag("auto"), "screen"),
        terminal("images.autoResize", flag, "screen", True),
        terminal("images.blockImages", flag, "screen", False),
        terminal("markdown.codeBlockIndent", text, "screen", "  "),
        terminal("markdown.mermaid", choice("off", "final", "streaming"), "screen", "streaming"),
        network("transport", choice("auto", "sse", "websocket", "websocket-cached"), "agent"),
        network("httpProxy", text, "agent"),
        network("httpIdleTimeoutMs", or_whole("disabled"), "agent", 300000),
        network("websocketConnectTimeoutMs", or_whole("disabled"), "agent", 15000),
        network("retry.enabled", flag, "agent", True),
        network("retry.maxRetries", whole, "agent", 3),
        network("retry.baseDelayMs", whole, "agent", 2000),
        network("retry.maxAgentDelayMs", whole, "agent", 60000),
        network("retry.provider.timeoutMs", whole, "agent"),
        network("retry.provider.maxRetries", whole, "agent", 0),
        network("retry.provider.maxRetryDelayMs", whole, "agent", 60000),
        shell("shellPath", text, "host"),
        shell("shellCommandPrefix", text, "host"),
        shell("npmCommand", texts, "agent"),
        resource("packages", ListSetting(FreeSetting(("string", "object"))), "agent"),
        resource("extensions", texts, "agent"),
        resource("skills", texts, "agent"),
        resource("prompts", texts, "agent"),
        resource("themes", texts, "screen"),
        resource("enableSkillCommands", flag, "agent", True),
        update("collapseChangelog", flag, "screen", False),
        update("enableInstallTelemetry", flag, "agent", False),
        update("enableAnalytics", flag, "agent", False),
        update("warnings.anthropicExtraUsage", flag, "agent", True),
    )
    return {row.name: row for row in rows}


CONFIG_OPTIONS: Final[dict[str, ConfigOption]] = _table()
"""The closed list by name, in the order of the tables that it comes from."""


def check_config_keys(
    keys: Iterable[str], extensions: Mapping[str, SettingType] | None = None
) -> tuple[str, ...]:
    """The names that config.get asks for, each of them known.

    ``extensions``: what the registered extensions declare, by full name; None where that is not known (a
    client), and then every well-formed extension name is taken. Raises ``invalid_request`` that names the
    nearest known one.
    """
    asked = tuple(keys)
    for index, name in enumerate(asked):
        _setting(name, extensions, f"keys[{index}]")
    return asked


def check_config_values(
    values: Json, *, in_session: bool = False, extensions: Mapping[str, SettingType] | None = None
) -> JsonObject:
    """The values of a config.set by name, normalised; ``None`` unsets. The input is not changed.

    ``in_session``: the request names a session, and only ``extensionConfig.*`` can be set.
    ``extensions``: as for ``check_config_keys``. Raises ``ProtocolError('invalid_request')``.
    """
    members = as_object(plain(values))
    if members is None:
        raise invalid("values: not an object")
    for name, value in members.items():
        where = f"values.{short(name)}"
        setting = _setting(name, extensions, "values")
        if in_session and not name.startswith(EXTENSION_PREFIX):
            raise invalid(refusal_text(where, "a session takes extensionConfig.* alone"))
        if value is None:
            continue
        problem = setting.problem(value) or _bounds_problem(value)
        if problem is None and name == "httpProxy":
            problem = _proxy_problem(value)
        if problem is not None:
            raise invalid(refusal_text(where, problem))
    return members


def _setting(name: str, extensions: Mapping[str, SettingType] | None, where: str) -> SettingType:
    option = CONFIG_OPTIONS.get(name)
    if option is not None:
        return option.type
    if name.startswith(EXTENSION_PREFIX):
        if extensions is not None:
            declared = extensions.get(name)
            if declared is not None:
                return declared
        elif _well_formed(name):
            return FreeSetting()
    raise _unknown(name, extensions or {}, where)


def _well_formed(name: str) -> bool:
    extension, _, setting = name.removeprefix(EXTENSION_PREFIX).partition(".")
    return bool(extension and setting) and len(name.encode()) <= LIMITS.label_bytes


def _unknown(name: str, extensions: Mapping[str, SettingType], where: str) -> ProtocolError:
    return invalid(f"{where}: no option is named {nearest(name, [*CONFIG_OPTIONS, *extensions])}")


def _bounds_problem(value: Json) -> str | None:
    if weight(value) > LIMITS.structured_bytes:
        return f"more than {LIMITS.structured_bytes} bytes"
    try:
        check_entries(value, LIMITS.structured_entries)
    except Problem as problem:
        return problem.rule
    return None


def _proxy_problem(value: str) -> str | None:
    """The configuration holds no secret: a proxy is a scheme, a host and a port."""
    authority = value.partition("://")[2] if "://" in value else value
    for end in "/?#\\":
        authority = authority.partition(end)[0]
    # Also what a lenient reader would take for a user: an @ that stands behind a slash or is escaped.
    if "@" in value or "%40" in value.lower() or "@" in authority:
        return "a proxy with a user or password in it is refused: the configuration holds no secret"
    return None
