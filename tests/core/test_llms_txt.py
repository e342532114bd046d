"""llms.txt as Markdown: which line is the title, and which links are links."""

import pytest

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.formats.llms_txt import TITLE

URL = "https://tidal-mill.example/llms.txt"


def assess(text: str) -> Assessment:
    return assess_body(text.encode(), URL, "text/plain")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("# Tidal Mill", "Tidal Mill"),
        ("# Tidal Mill #", "Tidal Mill"),
        ("#\tTidal Mill ###  ", "Tidal Mill"),
        ("# Tidal C#", "Tidal C#"),
        ("Tidal Mill\n===", "Tidal Mill"),
        ("Tidal\nMill\n  =  ", "Tidal Mill"),
        ("\n\n  # **Tidal Mill**\n", "Tidal Mill"),
        ("# [Tidal `Mill`](https://tidal-mill.example/)", "Tidal `Mill`"),
        ("# Tidal &amp; Mill", "Tidal & Mill"),
        ("---\nlayout: plain\ntitle: Other\n---\n\n# Tidal Mill", "Tidal Mill"),
        ("<!-- generated -->\n# Tidal Mill", "Tidal Mill"),
        ("<!-- generated\n# Other\n--> \n\nTidal Mill\n=====", "Tidal Mill"),
        ("<!--> # Tidal Mill", "Tidal Mill"),
        ("***\n# Tidal Mill", "Tidal Mill"),
        ("# Tidal <!-- old --> Mill", "Tidal Mill"),
        ("\ufeff# Tidal Mill\r\n\r\n> Grinds", "Tidal Mill"),
        ("# # #", "#"),
    ],
)
def test_the_first_heading_is_the_title(text: str, name: str) -> None:
    assessment = assess(text)
    assert assessment.service is not None and assessment.service.name == name
    assert TITLE not in [finding.rule for finding in assessment.findings]


@pytest.mark.parametrize(
    "text",
    [
        "Tidal Mill", "Tidal Mill\n\n===", "Tidal Mill\n---", "## Tidal Mill", "#Tidal Mill", "#", "# #",
        "> Tidal Mill\n===", "- Tidal Mill\n===", "```\n# Tidal Mill\n```", "~~~md\nTidal Mill\n===\n~~~",
        "<!-- # Tidal Mill -->", "Intro.\n\n# Tidal Mill", "<!--\n# Tidal Mill",
    ],
)  # fmt: skip
def test_other_beginnings_are_no_title(text: str) -> None:
    assessment = assess(text)
    assert assessment.service is not None and assessment.service.name is None
    assert [finding.rule for finding in assessment.findings] == [TITLE]


@pytest.mark.parametrize(
    "markdown",
    [
        "[Prices](/prices.md)", '[Prices](/prices.md "All of them")', "[Prices]( </prices.md> 'All' )",
        "[Prices][p]\n\n[P]: /prices.md", "[Prices][]\n\n[prices]: </prices.md> (All)",
        "```\n[Code](/code.md)\n```\n[Prices](/prices.md)", "~~~ md\n```\n[Code](/code.md)\n~~~\n[Prices](/prices.md)",
        "> ```\n> [Code](/code.md)\n> ```\n[Prices](/prices.md)", "- a\n\n  ```sh\n  x\n  ```\n- [Prices](/prices.md)",
        "`[Code](/code.md)` and [Prices](/prices.md)", "<!-- [Old](/old.md) --> [Prices](/prices.md)",
        "![Image](/image.png) [Prices](/prices.md)", "``` one line ``` [Prices](/prices.md)",
        "[Prices](/prices.md)\n```\n[Code](/code.md)",
    ],
)  # fmt: skip
def test_links_are_read_as_markdown(markdown: str) -> None:
    service = assess(f"# Tidal Mill\n\n{markdown}\n").service
    assert service is not None
    assert service.native == {
        "llms-txt": {"links": [{"name": "Prices", "url": "https://tidal-mill.example/prices.md"}]}
    }


def test_parentheses_and_code_belong_to_a_link() -> None:
    service = assess("# Tidal Mill\n\n[`grind` (old)](/a_(b).md) & `x` [other](/c.md)").service
    assert service is not None
    assert [link["url"] for link in service.native["llms-txt"]["links"]] == [
        "https://tidal-mill.example/a_(b).md", "https://tidal-mill.example/c.md",
    ]  # fmt: skip


def test_the_summary_stands_below_the_title() -> None:
    service = assess("---\n" + "key: value\n" * 30 + "---\nTidal Mill\n===\n\n> Grinds\n> flour\n").service
    assert service is not None and service.description == "Grinds flour"
