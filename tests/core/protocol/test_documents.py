import pytest

from felan_core.protocol.documents import check_markdown
from felan_core.protocol.problems import Problem
from tests.harness.work import calls

FLOODS = [
    "[", "![", "[](", "[a](http://x.y ", "[a](http://x.y) ", "[*a ", "[_a", "[**a", "[`` ` ", "[&amp;",
    "[[]", "]", "<", "<a ", "<http://a", "> [", "- [\n", "[a]: http://x.y\n", "[a](((((",
]  # fmt: skip


def check(text: str) -> str:
    try:
        check_markdown(text, "document")
    except Problem as problem:
        return str(problem)
    return ""


@pytest.mark.parametrize("flood", FLOODS)
def test_a_flood_costs_as_much_a_character_however_long_it_is(flood: str) -> None:
    check("[a]")  # loads the parser
    short, long = (calls(lambda text=(flood * size)[:size]: check(text)) for size in (250, 2_000))
    assert long < 16 * short + 500


@pytest.mark.parametrize("text", ["[" * 4_000 + "]", "[a]" + "![" * 4_000 + "]", "[" * 4_000 + "]" * 4_000])
def test_brackets_that_are_left_open_by_the_thousand_are_refused(text: str) -> None:
    assert "nested too deeply" in check(text)


def test_what_is_around_a_link_hides_nothing() -> None:
    for text in ("*[a](x)*", "**_[a](x)_**", "&amp;[a](x)", "[[a](x)", "[" * 50 + "[a](x)", "a\\\n[a](x)"):
        assert "only absolute http(s) links" in check(text), text
    assert "raw HTML" in check("*<b>*")
    assert check("`[a](x)` and \\[a](x) and " + "[" * 300) == ""
