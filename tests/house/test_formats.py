"""Adding a format takes a folder, two lines and a fixture folder; these tests name whatever is missing."""

import importlib
import json
import pkgutil
from collections import Counter
from functools import cache
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from registry.core import formats
from registry.core.assessing.recognise import ROWS
from registry.core.format_support.format import Format, Role
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.merging.held import PRECEDENCE
from registry.core.model.findings import Severity
from registry.core.visiting import probes
from tests.support.shared import ROOT


def format_modules() -> tuple[ModuleType, ...]:
    """Return the packages below registry/core/formats, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return tuple(importlib.import_module(f"{formats.__name__}.{name}") for name in names)


FIXTURES = ROOT / "tests" / "formats"
CASES = [path for path in FIXTURES.glob("*/*") if path.is_dir() and path.name != "__pycache__"]


@cache
def outcomes(slug: str) -> dict[str, dict[str, Any]]:
    """Return the expected result of each fixture of a format, by name of the case."""
    folders = sorted(path.parent for path in (FIXTURES / slug).glob("*/expected.json"))
    return {folder.name: json.loads((folder / "expected.json").read_text(encoding="utf-8")) for folder in folders}


def test_a_format_is_in_the_list_and_in_the_table() -> None:
    for module in format_modules():
        form = module.FORMAT
        assert any(listed is form for listed in FORMATS), f"{form.slug} is not in registry/core/formats/__init__.py"
        assert any(row.result is form for row in ROWS), f"{form.slug} has no row in recognise.py"
        assert module.__name__.endswith("." + form.slug.replace("-", "_"))
        assert form.title and form.spec and form.media_types
        assert all(path.startswith("/") for path in form.paths)


def test_slugs_paths_and_places_are_unique() -> None:
    """Folder, API value and index facet use one spelling of the slug for one format."""
    slugs = [value.slug for module in format_modules() for value in vars(module).values() if isinstance(value, Format)]
    assert len(slugs) == len(set(slugs)) == len(FORMATS)
    assert all(slug == slug.lower() and slug.replace("-", "").isalnum() for slug in slugs)
    promised = [path for form in FORMATS for path in form.promises()]
    precedence = [form.precedence for form in FORMATS if form.precedence is not None]
    probed = [(path.sub_host, path.stage, path.order) for form in FORMATS for path in form.probe_paths]
    for values in (promised, precedence, probed):
        assert Counter(values).most_common(1)[0][1] == 1, Counter(values).most_common(1)


def _is_found(form: Format, expected: dict[str, Any]) -> bool:
    return bool(expected["outcome"] == "found" and expected["format"] == form.slug)


def test_a_format_has_a_fixture_that_is_found() -> None:
    assert [f.slug for f in FORMATS if not any(_is_found(f, case) for case in outcomes(f.slug).values())] == []


def test_a_format_has_a_fixture_that_is_something_else() -> None:
    """What must not be taken for it?"""
    assert [f.slug for f in FORMATS if all(_is_found(f, case) for case in outcomes(f.slug).values())] == []


def test_every_error_rule_is_broken_by_a_fixture() -> None:
    cases = [case for form in FORMATS for case in outcomes(form.slug).values()]
    broken = {finding["reason"] for case in cases for finding in case["findings"]}
    errors = {rule.code for form in FORMATS for rule in form.rules if rule.severity is Severity.ERROR}
    assert errors - broken == set()


def test_a_format_says_where_its_entries_are() -> None:
    """Without places, entries that a reader drops would go unnoticed; a format without entries gives a reason."""
    assert [form.slug for form in FORMATS if bool(form.parts) == bool(form.no_parts)] == []


def test_every_case_is_complete() -> None:
    """The fixture tests would silently skip a folder without expected.json."""
    required = {"response.json", "body", "expected.json"}
    assert CASES and [str(case) for case in CASES if not required <= {file.name for file in case.iterdir()}] == []
    assert {case.parent.name for case in CASES} <= set(FORMAT_BY_SLUG)


def test_a_service_has_its_place_when_documents_differ() -> None:
    assert {form.slug for form in FORMATS if form.role is Role.SERVICE} <= set(PRECEDENCE)


def test_the_plan_and_the_order_of_precedence_name_formats() -> None:
    steps = [*probes.STEPS, *(step for steps in probes.SHORT.values() for step in steps)]
    steps += [step for step, _ in probes.CONDITIONAL]
    assert {step.format for step in steps if step.format is not None} | set(PRECEDENCE) <= set(FORMAT_BY_SLUG)
    probed = {step.path for step in probes.STEPS}
    assert {FORMAT_BY_SLUG[slug].paths[0] for slug in ("awp", "atp", "woa", "awas", "adp")} <= probed


def test_fixtures_name_reserved_hosts_only() -> None:
    """Recorded documents of real sites stay out of the repository."""
    urls = (json.loads((case / "response.json").read_text(encoding="utf-8"))["url"] for case in CASES)
    hosts = {urlsplit(url).hostname or "" for url in urls}
    assert {host for host in hosts if not host.endswith((".example", ".invalid", ".test", "example.com"))} == set()
