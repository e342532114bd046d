"""Adding a format is a module, its row, its rules and its fixture folder: whatever is missing is named here."""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from registry.cli.pages.formats import format_modules, rules_of
from registry.core import probes
from registry.core.findings import Reason, Severity
from registry.core.format import Format, Role
from registry.core.merge import PRECEDENCE
from registry.core.recognise import FORMAT_BY_SLUG, FORMATS, ROWS
from registry.core.scoring.rubric import RUBRIC
from tests.support.shared import ROOT

FIXTURES = ROOT / "tests" / "formats"
FORMAT = [pytest.param(form, id=form.slug) for form in FORMATS]


@cache
def cases(slug: str) -> dict[str, dict[str, Any]]:
    """What must come out of each fixture of a format, by name of the case."""
    folders = sorted(path.parent for path in (FIXTURES / slug).glob("*/expected.json"))
    return {folder.name: json.loads((folder / "expected.json").read_text(encoding="utf-8")) for folder in folders}


def given() -> Iterator[Reason]:
    """Every reason that a fixture of any format ends with."""
    for form in FORMATS:
        for expected in cases(form.slug).values():
            yield from (Reason(finding["reason"]) for finding in expected["findings"])


@pytest.mark.parametrize("module", format_modules(), ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_module_is_recognised_by_a_row(module: object) -> None:
    assert [value for value in vars(module).values() if isinstance(value, Format)], "exports no format"
    tests = {id(row.test) for row in ROWS}
    for form in (value for value in vars(module).values() if isinstance(value, Format)):
        assert FORMAT_BY_SLUG.get(form.slug) is form, "has no row in recognise.py"
    assert tests & {id(value) for value in vars(module).values()}, "recognise.py uses no test of it"


def test_slugs_are_told_apart() -> None:
    """Folder, API value and index facet: one spelling, one format."""
    made = [value.slug for module in format_modules() for value in vars(module).values() if isinstance(value, Format)]
    assert len(made) == len(set(made)) == len(FORMATS)
    assert all(slug == slug.lower() and slug.replace("-", "").isalnum() for slug in made)


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_is_described(form: Format) -> None:
    assert form.title and form.spec and form.media_types
    assert all(path.startswith("/") for path in form.paths)


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_has_a_fixture_that_is_found(form: Format) -> None:
    found = [name for name, out in cases(form.slug).items() if out["outcome"] == "found" and out["format"] == form.slug]
    assert found, f"no case in tests/formats/{form.slug} is found"


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_has_a_fixture_that_is_something_else(form: Format) -> None:
    others = [name for name, out in cases(form.slug).items() if out["outcome"] != "found" or out["format"] != form.slug]
    assert others, f"every case in tests/formats/{form.slug} is found: what must not be taken for it?"


@pytest.mark.parametrize("form", FORMAT)
def test_every_error_rule_is_broken_by_a_fixture(form: Format) -> None:
    errors = {reason for reason in rules_of(form) if RUBRIC[reason].severity is Severity.ERROR}
    assert errors - set(given()) == set()


def test_every_folder_belongs_to_a_format() -> None:
    folders = {path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(FORMAT_BY_SLUG)


def test_every_case_is_complete() -> None:
    """A folder without its expected.json would be skipped in silence."""
    folders = [path for path in FIXTURES.glob("*/*") if path.is_dir() and path.name != "__pycache__"]
    wanted = {"response.json", "body", "expected.json"}
    assert folders and [str(path) for path in folders if not wanted <= {file.name for file in path.iterdir()}] == []


@pytest.mark.parametrize("form", [f for f in FORMATS if f.role is Role.SERVICE], ids=lambda form: form.slug)
def test_a_service_has_its_place_when_documents_differ(form: Format) -> None:
    assert form.slug in PRECEDENCE


def test_the_plan_and_the_order_of_precedence_name_formats() -> None:
    steps = [*probes.STEPS, *(step for steps in probes.SHORT.values() for step in steps)]
    steps += [step for step, _ in probes.CONDITIONAL]
    hoped = {step.format for step in steps if step.format is not None}
    assert hoped | set(PRECEDENCE) <= set(FORMAT_BY_SLUG)


@pytest.mark.parametrize("slug", ["awp", "atp", "woa", "awas", "adp"])
def test_every_host_is_asked_for_the_native_formats(slug: str) -> None:
    asked = {step.path for step in probes.STEPS}
    assert FORMAT_BY_SLUG[slug].paths[0] in asked


def test_fixtures_name_hosts_that_nobody_has() -> None:
    """Recorded documents of real sites stay out of the repository."""
    hosts = {_host(path) for path in FIXTURES.glob("*/*/response.json")}
    assert {host for host in hosts if not host.endswith((".example", ".invalid", ".test", "example.com"))} == set()


def _host(path: Path) -> str:
    url: str = json.loads(path.read_text(encoding="utf-8"))["url"]
    return url.partition("://")[2].partition("/")[0].partition(":")[0]
