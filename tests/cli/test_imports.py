"""Commands load only the packages that they need: a start is felt by people, and repeated by supervisors."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow  # a process for each


def test_help_and_wrong_arguments_load_no_part_of_the_registry() -> None:
    assert _loaded_with("registry.cli", "registry.wiring", "registry.core", "sqlalchemy", "psycopg", "scrapy") == ""


def test_a_worker_starts_without_the_api() -> None:
    """Workers are restarted often, and on a busy machine each further import takes a second."""
    assert _loaded_with("registry.cli.working", "fastapi", "uvicorn", "starlette") == ""


def test_the_api_starts_without_the_crawler() -> None:
    assert _loaded_with("registry.cli.serving", "crawler", "scrapy", "pyreqwest", "pycares", "registry.demo") == ""


@pytest.mark.parametrize("module", ["registry.cli.crawling", "registry.cli.onepass"])
def test_a_crawl_starts_without_the_api_and_the_search_engine(module: str) -> None:
    """Engines and vectors take as much memory as a thousand hosts in flight, and are not needed before its end."""
    heavy = ("numpy", "tantivy", "usearch", "tokenizers", "meilisearch", "alembic", "fastapi", "uvicorn", "starlette")
    assert _loaded_with(module, *heavy) == ""


def _loaded_with(module: str, *modules: str) -> str:
    """Return those of `modules` that a fresh process has loaded after importing `module`."""
    program = f"import sys, {module}; print(*(set({modules!r}) & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
