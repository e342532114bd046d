"""Documentation is correct: pages made from code are current, links work, decisions are listed."""

import re
import tomllib
from itertools import zip_longest
from pathlib import Path

import pytest

from docs import generate as pages
from registry.cli import common
from registry.core.formats import FORMATS
from registry.core.scoring.rubric import RUBRIC
from registry.settings import Settings, meanings
from tests.support.shared import ROOT

DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "adr").glob("*.md"))
TEXTS = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

GENERAL = frozenset({
    "advice", "listing", "document", "manifest", "address", "endpoint", "pointer", "signature", "conflict", "service",
    "injection", "capability",
})  # fmt: skip
"""Families of rules that belong to no single format."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)


@pytest.mark.slow
def test_generated_pages_are_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in an environment of other values."""
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://elsewhere.example")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    monkeypatch.setenv("COLUMNS", "40")
    assert {name: line for name in pages.PAGES if (line := _first_difference(name))} == {}, "run `make docs`"


def _first_difference(name: str) -> int | None:
    """Return the first line in which the committed page differs from the generated one, None when they are equal."""
    committed, generated = (DOCS / name).read_text(encoding="utf-8").splitlines(), pages.PAGES[name]().splitlines()
    return next((n for n, (old, new) in enumerate(zip_longest(committed, generated), 1) if old != new), None)


def test_a_stale_page_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick = {name: pages.PAGES[name] for name in ("formats.md", "rubric.md", "settings.md")}
    monkeypatch.setattr(pages, "PAGES", quick)
    assert pages.stale(tmp_path) == tuple(quick)
    assert pages.write(tmp_path) == tuple(quick)
    assert pages.stale(tmp_path) == ()
    (tmp_path / "rubric.md").write_text("# Rubric\n")
    assert pages.stale(tmp_path) == ("rubric.md",)
    assert pages.write(tmp_path) == ("rubric.md",)
    assert pages.stale(tmp_path) == ()


def test_pages_are_complete() -> None:
    formats, rubric, settings = (pages.PAGES[name]() for name in ("formats.md", "rubric.md", "settings.md"))
    assert [form.slug for form in FORMATS if f"## {form.title}\n" not in formats] == []
    assert [code for code in RUBRIC if f"| `{code}` |" not in rubric] == []
    described = meanings()
    assert [name for name in Settings.model_fields if described.get(name, "?") not in settings] == []


def test_every_rule_of_a_format_is_on_its_page() -> None:
    page = pages.PAGES["formats.md"]()
    codes = {code for code in RUBRIC if code.partition(".")[0] not in GENERAL}
    assert [code for code in codes if f"| `{code}` |" not in page] == []


def test_every_exit_code_is_documented() -> None:
    codes = re.findall(r"^\| (\d+) \| \w", pages.PAGES["cli.md"](), re.MULTILINE)
    known = (common.DONE, common.NO, common.USAGE, common.UNAVAILABLE, common.INTERRUPTED)
    assert codes == [str(code) for code in known]


def test_relative_links_lead_to_files() -> None:
    assert {page.name: broken for page in TEXTS if (broken := _broken_links(page))} == {}


def _broken_links(page: Path) -> list[str]:
    targets = _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    local = [target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")]
    return [target for target in local if not (page.parent / target).exists()]


def test_a_decision_has_its_number_its_date_and_its_index_entry() -> None:
    """Numbers of deleted decisions are not used again, so there are gaps."""
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert len({path.name.partition("-")[0] for path in DECISIONS}) == len(DECISIONS)
    for path in DECISIONS:
        text = path.read_text(encoding="utf-8")
        number, title = int(path.name.partition("-")[0]), text.partition("\n")[0].partition(". ")[2]
        assert text.startswith(f"# {number}. "), path.name
        assert re.search(r"^\*\*Decided\*\* \d{4}-\d{2}-\d{2}\.$", text, re.MULTILINE), path.name
        assert f"- [{number} {title}](adr/{path.name})\n" in index, path.name


def test_the_changelog_names_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased\n" in changelog
    assert version in changelog


def test_commands_of_the_makefile_exist() -> None:
    """The documents name `make` targets that exist."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    cited = {name for page in TEXTS for name in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    assert cited and cited <= targets
