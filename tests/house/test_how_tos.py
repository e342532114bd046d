"""The steps of docs/adding-a-filter.md, adding-a-column.md and adding-an-endpoint.md work, applied to a copy."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from registry.store.migrate import current_head
from tests.house.following import copy_tree, follow, make_docs, pytest_in, run
from tests.support.shared import ROOT

pytestmark = pytest.mark.slow

FILTER = "adding-a-filter.md"
ROWS = "registry/core/search_filters.py"
PASSES = "tests/api/test_filters.py::test_a_service_of_the_version_before_passes_every_filter"
HAS_ROW = "tests/core/test_search_filters.py::test_every_field_of_filters_has_a_row"

TESTS = {
    FILTER: (
        HAS_ROW, PASSES, "tests/core/test_search_filters.py::test_the_example_has_a_value_for_every_filter",
        "tests/search/test_embedded.py::TestEmbedded::test_filters_narrow_inside_the_query",
    ),
    "adding-a-column.md": (
        "tests/store/test_service_versions.py",
        "tests/store/test_migrations.py::test_an_upgraded_database_matches_the_tables",
    ),
    "adding-an-endpoint.md": (
        "tests/api/test_categories.py", "tests/api/test_openapi.py", "-k", "categories or checked or makes",
    ),
}  # fmt: skip
"""The tests that pass after following each page."""


@pytest.mark.parametrize("page", TESTS)
def test_following_the_page_passes_the_tests(tmp_path: Path, page: str) -> None:
    copy_tree(tmp_path)
    follow(page, tmp_path)
    for migration in (tmp_path / "migrations/versions").glob("20991231*"):
        migration.write_text(migration.read_text().replace('"HEAD"', f'"{current_head()}"'))
    assert make_docs(tmp_path).returncode == 0
    written = run(tmp_path, "-m", "ruff", "check", "--no-cache", "registry", "migrations")
    assert written.returncode == 0, written.stdout
    process = pytest_in(tmp_path, *TESTS[page])
    assert process.returncode == 0, process.stdout


FORGOTTEN: dict[str, tuple[Sequence[tuple[str, str, str]], str]] = {
    "the row": ([(ROWS, '"min_capabilities", "min_capabilities",', '"min_capabilities", "min_score",')], HAS_ROW),
    "the value of older services": ([("tests/api/test_filters.py", '    "min_capabilities": "1",\n', "")], PASSES),
    "what older services lack": ([(ROWS, "len(listing.capabilities)", "len(listing.keywords)")], PASSES),
}
"""What is forgotten: (file, text, its replacement) in the copy, and the test that names it."""


@pytest.mark.long
@pytest.mark.parametrize("forgotten", FORGOTTEN)
def test_a_forgotten_part_of_a_filter_fails_the_test_that_the_page_names(tmp_path: Path, forgotten: str) -> None:
    edits, test = FORGOTTEN[forgotten]
    assert test.rpartition("::")[2] in (ROOT / "docs" / FILTER).read_text()
    copy_tree(tmp_path)
    follow(FILTER, tmp_path)
    for name, text, replacement in edits:
        source = (tmp_path / name).read_text()
        assert text in source
        (tmp_path / name).write_text(source.replace(text, replacement))
    process = pytest_in(tmp_path, test)
    assert process.returncode == 1, process.stdout
