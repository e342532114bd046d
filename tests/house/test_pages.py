"""Documentation is true: pages made from code are current, links lead somewhere, decisions are listed."""

import re
import tomllib
from itertools import zip_longest
from pathlib import Path

import pytest

from registry.cli import pages, porch
from registry.cli.pages.formats import GENERAL, rules_of
from registry.core.findings import Reason
from registry.core.recognise import FORMATS
from registry.core.scoring.rubric import RUBRIC
from registry.settings import Settings
from tests.support.shared import ROOT

DOCS = ROOT / "docs"
DECISIONS = sorted((DOCS / "adr").glob("*.md"))
TEXTS = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

GIVEN_ELSEWHERE = {
    Reason.ADP_DETAIL_UNANSWERED: "needs two documents: merge.py",
    Reason.AWAS_HINT: "is seen on the front page, which is of no format: assess.py",
}
"""Rules named after a format that its module cannot give."""

_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FENCE = re.compile(r"```.*?```", re.DOTALL)


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_page_says_what_the_code_says(name: str) -> None:
    kept, made = (DOCS / name).read_text(encoding="utf-8").splitlines(), pages.PAGES[name]().splitlines()
    first = next((number for number, pair in enumerate(zip_longest(kept, made), 1) if pair[0] != pair[1]), None)
    assert first is None, f"run `make docs`: it differs from line {first} on"


def test_a_stale_page_is_noticed(tmp_path: Path) -> None:
    assert pages.stale(tmp_path) == tuple(pages.PAGES)
    assert pages.write(tmp_path) == tuple(pages.PAGES)
    assert pages.stale(tmp_path) == ()
    (tmp_path / "rubric.md").write_text("# Rubric\n")
    assert pages.stale(tmp_path) == ("rubric.md",)


def test_pages_do_not_depend_on_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: made() for name, made in pages.PAGES.items()}
    monkeypatch.setenv("WAYPOST_PUBLIC_URL", "https://elsewhere.example")
    monkeypatch.setenv("XDG_DATA_HOME", "/elsewhere")
    monkeypatch.setenv("COLUMNS", "40")
    assert {name: made() for name, made in pages.PAGES.items()} == before


def test_pages_are_complete() -> None:
    formats, rubric, settings = (pages.PAGES[name]() for name in ("formats.md", "rubric.md", "settings.md"))
    assert [form.slug for form in FORMATS if f"## {form.title}\n" not in formats] == []
    assert [reason for reason in RUBRIC if f"| `{reason}` |" not in rubric] == []
    assert [name for name, field in Settings.model_fields.items() if (field.description or "?") not in settings] == []


def test_every_rule_of_a_format_is_on_its_page() -> None:
    """A rule that the page leaves out belongs to all formats, or its module hides it from `rules_of`."""
    own = {reason for reason in RUBRIC if reason.partition(".")[0] not in GENERAL}
    assert own - {reason for form in FORMATS for reason in rules_of(form)} == set(GIVEN_ELSEWHERE)


def test_every_exit_code_is_told() -> None:
    codes = re.findall(r"^\| (\d+) \| \w", pages.PAGES["cli.md"](), re.MULTILINE)
    assert codes == [str(code) for code in (porch.DONE, porch.NO, porch.USAGE, porch.UNAVAILABLE, porch.INTERRUPTED)]


@pytest.mark.parametrize("page", TEXTS, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = _LINK.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    local = [target.partition("#")[0] for target in targets if "://" not in target and not target.startswith("#")]
    assert [target for target in local if not (page.parent / target).exists()] == []


def test_decisions_are_numbered_and_listed() -> None:
    numbers = [int(path.name.partition("-")[0]) for path in DECISIONS]
    assert numbers == list(range(1, len(numbers) + 1))
    index = (DOCS / "README.md").read_text(encoding="utf-8")
    assert [path.name for path in DECISIONS if f"(adr/{path.name})" not in index] == []


@pytest.mark.parametrize("path", DECISIONS, ids=lambda path: path.name)
def test_a_decision_has_its_number_its_day_and_its_place(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    number = int(path.name.partition("-")[0])
    assert text.startswith(f"# {number}. ")
    assert re.search(r"^\*\*Decided\*\* \d{4}-\d{2}-\d{2}\.$", text, re.MULTILINE)
    title = text.partition("\n")[0].partition(". ")[2]
    assert f"| {title} |" in (DOCS / "README.md").read_text(encoding="utf-8")


def test_the_changelog_knows_the_version() -> None:
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert "## Unreleased\n" in changelog
    assert version in changelog


def test_commands_of_the_makefile_exist() -> None:
    """What the documents tell people to make."""
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    told = {name for page in TEXTS for name in re.findall(r"`make ([a-z-]+)", page.read_text(encoding="utf-8"))}
    assert told and told <= targets
