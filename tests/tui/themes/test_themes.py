"""The shipped themes can be read, and a broken one is named by its file and key."""

import ast
import re
from pathlib import Path

import pytest
from textual.app import App, ComposeResult
from textual.color import Color
from textual.theme import Theme

from felan_tui.text.widgets import Line
from felan_tui.themes import DEFAULT_DARK, DEFAULT_LIGHT, ThemeError, load_theme, load_themes, shipped_folder

ROOT = Path(__file__).parents[3]
SHIPPED = {theme.name: theme for theme in load_themes().themes}
READABLE = sorted(name for name, theme in SHIPPED.items() if not theme.ansi)

TEXT = ["text", "text-muted", "text-primary", "text-secondary", "text-accent", "text-success", "text-warning"]
TEXT += ["text-error", "foreground", "primary", "secondary", "accent", "success", "warning", "error"]
TEXT += ["footer-key-foreground", "footer-description-foreground"]
GROUNDS = ["background", "surface", "panel"]
PAIRS = [
    ("block-cursor-foreground", "block-cursor-background"),
    ("text", "screen-selection-background"),
    ("foreground", "input-selection-background"),
    ("button-color-foreground", "primary"),
    ("button-color-foreground", "error"),
    ("button-color-foreground", "success"),
    ("button-color-foreground", "warning"),
]


def variables(theme: Theme) -> dict[str, str]:
    return {**theme.to_color_system().generate(), **theme.variables}


def luminance(color: Color) -> float:
    def linear(part: int) -> float:
        share = part / 255
        return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4

    return 0.2126 * linear(color.r) + 0.7152 * linear(color.g) + 0.0722 * linear(color.b)


def contrast(one: Color, other: Color) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_both_defaults_and_the_terminal_s_own_colours_are_shipped() -> None:
    assert load_themes().errors == []
    assert load_themes().themes[0].name == DEFAULT_DARK
    assert {DEFAULT_DARK, DEFAULT_LIGHT, "felan-ansi"} <= SHIPPED.keys()
    assert SHIPPED[DEFAULT_DARK].dark
    assert not SHIPPED[DEFAULT_LIGHT].dark
    assert all((shipped_folder() / f"{name}.toml").is_file() for name in SHIPPED)


@pytest.mark.parametrize("name", READABLE)
def test_every_text_colour_can_be_read_on_every_ground(name: str) -> None:
    colors = variables(SHIPPED[name])
    pairs = [(text, ground) for text in TEXT for ground in GROUNDS] + PAIRS
    poor = []
    for text, ground in pairs:
        back = Color.parse(colors[ground])
        fore = Color.parse(colors[text])
        assert fore.a == 1 and back.a == 1, f"{text} on {ground} depends on what is behind"
        if (ratio := contrast(fore, back)) < 4.5:
            poor.append(f"{text} on {ground}: {ratio:.2f}")
    assert not poor


@pytest.mark.parametrize("name", READABLE)
def test_the_colours_of_programs_can_be_read_and_are_of_their_hue(name: str) -> None:
    sixteen = SHIPPED[name].terminal
    assert sixteen is not None
    back = Color.parse(str(SHIPPED[name].background))
    assert sixteen.background_color == back.rgb
    assert sixteen.foreground_color == Color.parse(str(SHIPPED[name].foreground)).rgb
    colors = [Color(*sixteen.ansi_colors[number]) for number in range(16)]
    for number, color in enumerate(colors):
        if not (number == 0 and SHIPPED[name].dark):
            assert contrast(color, back) >= 4.5, number
    for number, most in ((1, 0), (9, 0), (2, 1), (10, 1), (4, 2), (12, 2)):
        assert max(colors[number].rgb) == colors[number].rgb[most], number


def used_variables() -> dict[str, set[str]]:
    """`$variable` → the files of the screen whose styles name it."""
    found: dict[str, set[str]] = {}
    for path in sorted((ROOT / "felan_tui").rglob("*")):
        if "cli" in path.relative_to(ROOT).parts:
            continue  # the command draws nothing; `$comment` there is JSON Schema
        texts: list[str] = []
        if path.suffix == ".tcss":
            texts = [path.read_text()]
        elif path.suffix == ".py":
            for node in ast.walk(ast.parse(path.read_text())):
                if isinstance(node, ast.Constant) and isinstance(node.value, str):
                    texts.append(node.value)
        for text in texts:
            own = set(re.findall(r"(?m)^\s*\$([a-z][a-z0-9-]*)\s*:", text))
            for name in set(re.findall(r"\$([a-z][a-z0-9-]*)", text)) - own:
                found.setdefault(name, set()).add(str(path.relative_to(ROOT)))
    return found


@pytest.mark.parametrize("name", sorted(SHIPPED))
def test_every_variable_that_the_screen_uses_is_in_the_theme(name: str) -> None:
    known = variables(SHIPPED[name]).keys()
    used = used_variables()
    assert "text-muted" in used

    def is_known(key: str) -> bool:
        # `$text-` of an f-string: the beginning of several names.
        return key in known or (key.endswith("-") and any(name.startswith(key) for name in known))

    assert {key: files for key, files in used.items() if not is_known(key)} == {}


@pytest.mark.parametrize("name", sorted(SHIPPED))
async def test_a_screen_paints_in_the_theme(name: str) -> None:
    class Painted(App[None]):
        def compose(self) -> ComposeResult:
            yield Line(("words", "bold $text-accent on $panel"), (" and more", "$text-muted"))

    app = Painted()
    app.register_theme(SHIPPED[name])
    app.theme = name
    async with app.run_test() as pilot:
        await pilot.pause()
        row = app.query_one(Line).render_line(0)
        assert row.text.startswith("words and more")
        wanted = Color.parse(variables(SHIPPED[name])["text-accent"])
        color = next(iter(row)).style
        assert color is not None
        assert color.color is not None
        if not SHIPPED[name].ansi:
            assert color.color.get_truecolor() == (wanted.r, wanted.g, wanted.b)


GOOD = 'name = "mine"\n[colors]\nprimary = "#112233"\n'


@pytest.mark.parametrize(
    ("text", "key", "says"),
    [
        ("name = \nx", None, "line 1"),
        ('name = "No Good"\n[colors]\nprimary = "#123"', "name", "small letters"),
        ('[colors]\nprimary = "#123"', "name", "small letters"),
        ('name = "a"', "colors.primary", "missing"),
        (GOOD + 'accent = "lila"', "colors.accent", "'lila' is not a colour"),
        (GOOD + "accent = 7", "colors.accent", "not a string"),
        (GOOD + 'acent = "#123"', "colors.acent", "accent"),
        (GOOD + '[variables]\ntext-mutd = "#123"', "variables.text-mutd", "no variable"),
        (GOOD + '[variables]\ntext = "[red]"', "variables.text", "not a colour"),
        ('name = "a"\ncolors = 1', "colors", "not a table"),
        ('dark = "yes"\n' + GOOD, "dark", "true or false"),
        ("size = 3\n" + GOOD, "size", "not a key"),
        (GOOD + '[terminal]\nred = "#f00"', "terminal.black", "missing"),
        (GOOD + '[terminal]\nrot = "#f00"', "terminal.rot", "bright-white"),
    ],
)
def test_a_broken_file_is_named_with_its_key(tmp_path: Path, text: str, key: str | None, says: str) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises(ThemeError) as caught:
        load_theme(path)
    assert caught.value.path == path
    assert caught.value.key == key
    assert says in str(caught.value)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"#" * 70_000], ids=["not text", "too large"])
def test_a_file_that_is_no_theme_at_all_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "mine.toml"
    path.write_bytes(data)
    with pytest.raises(ThemeError):
        load_theme(path)


def test_one_broken_file_stands_in_nobody_s_way(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text("name")
    (tmp_path / "b.toml").write_text(GOOD)
    (tmp_path / "c.toml").mkdir()
    loaded = load_themes(tmp_path)
    assert [theme.name for theme in loaded.themes] == ["mine"]
    assert [error.path.name for error in loaded.errors] == ["a.toml", "c.toml"]
    assert load_themes(tmp_path / "nowhere") == type(loaded)()
