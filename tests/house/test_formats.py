"""Adding a format takes a folder, two lines and a fixture folder; these tests name whatever is missing."""

import importlib
import json
import pkgutil
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from registry.core import formats
from registry.core.assessing.recognise import ROWS
from registry.core.format_support.format import Format, Role
from registry.core.formats import FORMAT_BY_SLUG, FORMATS
from registry.core.merging.merge import PRECEDENCE
from registry.core.model.findings import Severity
from registry.core.visiting import probes
from tests.support.shared import ROOT


def format_modules() -> tuple[ModuleType, ...]:
    """Return the packages below registry/core/formats, by name."""
    names = sorted(module.name for module in pkgutil.iter_modules(formats.__path__))
    return tuple(importlib.import_module(f"{formats.__name__}.{name}") for name in names)


FIXTURES = ROOT / "tests" / "formats"
FORMAT = [pytest.param(form, id=form.slug) for form in FORMATS]


@cache
def cases(slug: str) -> dict[str, dict[str, Any]]:
    """Return the expected result of each fixture of a format, by name of the case."""
    folders = sorted(path.parent for path in (FIXTURES / slug).glob("*/expected.json"))
    return {folder.name: json.loads((folder / "expected.json").read_text(encoding="utf-8")) for folder in folders}


def codes_of_broken_rules() -> Iterator[str]:
    """Yield the code of every rule that a fixture of any format breaks."""
    for form in FORMATS:
        for expected in cases(form.slug).values():
            yield from (finding["reason"] for finding in expected["findings"])


@pytest.mark.parametrize("module", format_modules(), ids=lambda module: module.__name__.rpartition(".")[2])
def test_a_format_is_in_the_list_and_in_the_table(module: ModuleType) -> None:
    form = module.FORMAT
    assert any(listed is form for listed in FORMATS), "is not in the list of registry/core/formats/__init__.py"
    assert any(row.result is form for row in ROWS), "has no row in recognise.py"


def test_a_folder_is_named_after_its_format() -> None:
    misnamed = [module.__name__ for module in format_modules() if not module.__name__.endswith(_folder(module.FORMAT))]
    assert misnamed == []


def _folder(form: Format) -> str:
    return "." + form.slug.replace("-", "_")


def test_a_well_known_path_belongs_to_one_format() -> None:
    promised = [path for form in FORMATS for path in form.promises()]
    assert sorted({path for path in promised if promised.count(path) > 1}) == []


def test_formats_have_different_places_in_the_order_of_precedence() -> None:
    places = [form.precedence for form in FORMATS if form.precedence is not None]
    assert len(places) == len(set(places))


def test_probe_paths_of_a_stage_have_different_places() -> None:
    places = [
        (probe_path.sub_host, probe_path.stage, probe_path.order) for form in FORMATS for probe_path in form.probe_paths
    ]
    assert len(places) == len(set(places))


def test_slugs_are_unique() -> None:
    """Folder, API value and index facet use one spelling of the slug for one format."""
    slugs = [value.slug for module in format_modules() for value in vars(module).values() if isinstance(value, Format)]
    assert len(slugs) == len(set(slugs)) == len(FORMATS)
    assert all(slug == slug.lower() and slug.replace("-", "").isalnum() for slug in slugs)


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_is_described(form: Format) -> None:
    assert form.title and form.spec and form.media_types
    assert all(path.startswith("/") for path in form.paths)


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_has_a_fixture_that_is_found(form: Format) -> None:
    found = [
        name
        for name, expected in cases(form.slug).items()
        if expected["outcome"] == "found" and expected["format"] == form.slug
    ]
    assert found, f"no case in tests/formats/{form.slug} is found"


@pytest.mark.parametrize("form", FORMAT)
def test_a_format_has_a_fixture_that_is_something_else(form: Format) -> None:
    others = [
        name
        for name, expected in cases(form.slug).items()
        if expected["outcome"] != "found" or expected["format"] != form.slug
    ]
    assert others, f"every case in tests/formats/{form.slug} is found: what must not be taken for it?"


@pytest.mark.parametrize("form", FORMAT)
def test_every_error_rule_is_broken_by_a_fixture(form: Format) -> None:
    errors = {rule.code for rule in form.rules if rule.severity is Severity.ERROR}
    assert errors - set(codes_of_broken_rules()) == set()


def test_every_folder_belongs_to_a_format() -> None:
    folders = {path.name for path in FIXTURES.iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders <= set(FORMAT_BY_SLUG)


def test_every_case_is_complete() -> None:
    """The fixture tests would silently skip a folder without expected.json."""
    folders = [path for path in FIXTURES.glob("*/*") if path.is_dir() and path.name != "__pycache__"]
    required = {"response.json", "body", "expected.json"}
    assert folders and [str(path) for path in folders if not required <= {file.name for file in path.iterdir()}] == []


@pytest.mark.parametrize("form", [f for f in FORMATS if f.role is Role.SERVICE], ids=lambda form: form.slug)
def test_a_service_has_its_place_when_documents_differ(form: Format) -> None:
    assert form.slug in PRECEDENCE


def test_the_plan_and_the_order_of_precedence_name_formats() -> None:
    steps = [*probes.STEPS, *(step for steps in probes.SHORT.values() for step in steps)]
    steps += [step for step, _ in probes.CONDITIONAL]
    expected_formats = {step.format for step in steps if step.format is not None}
    assert expected_formats | set(PRECEDENCE) <= set(FORMAT_BY_SLUG)


@pytest.mark.parametrize("slug", ["awp", "atp", "woa", "awas", "adp"])
def test_every_host_is_probed_for_the_native_formats(slug: str) -> None:
    probed_paths = {step.path for step in probes.STEPS}
    assert FORMAT_BY_SLUG[slug].paths[0] in probed_paths


def test_fixtures_name_reserved_hosts_only() -> None:
    """Recorded documents of real sites stay out of the repository."""
    hosts = {_host(path) for path in FIXTURES.glob("*/*/response.json")}
    assert {host for host in hosts if not host.endswith((".example", ".invalid", ".test", "example.com"))} == set()


def _host(path: Path) -> str:
    url: str = json.loads(path.read_text(encoding="utf-8"))["url"]
    return url.partition("://")[2].partition("/")[0].partition(":")[0]
