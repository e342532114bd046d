"""Commands load only the packages that they need: a start is felt by people, and repeated by supervisors."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow  # a process for each


def test_help_and_wrong_arguments_load_no_part_of_the_registry() -> None:
    assert _loaded_with("registry.cli", "registry.wiring", "registry.core", "sqlalchemy", "psycopg", "scrapy") == ""


HEAVY = (
    "rich", "structlog", "asyncio", "pydantic_settings", "twisted", "scrapy", "fastapi", "uvicorn", "sqlalchemy",
    "psycopg", "numpy", "orjson", "registry.settings", "registry.wiring", "registry.core", "crawler",
)  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "code", "also"),
    [
        (["--help"], 0, ("pydantic",)),
        ([], 2, ("pydantic",)),
        (["nonsense"], 2, ("pydantic",)),
        (["crawl", "--help"], 0, ()),
        (["crawl"], 2, ()),
        (["search"], 2, ()),
        (["check"], 2, ()),
        (["serve", "--port", "x"], 2, ()),
        (["inspect", "--nonsense"], 2, ()),
        (["seed"], 2, ()),
        (["seed", "nonsense"], 2, ()),
        (["seed", "file", "--help"], 0, ()),
    ],
)
def test_help_and_wrong_usage_answer_without_heavy_packages(
    arguments: list[str], code: int, also: tuple[str, ...]
) -> None:
    """Typer loads pydantic once it parses options; all else that takes long to import stays out."""
    assert _loaded_by_command(arguments, *HEAVY, *also) == (code, [])


def test_a_loaded_package_is_noticed(tmp_path: Path) -> None:
    assert _loaded_by_command(["check", str(tmp_path / "none")], "rich", "structlog", "registry.core") == (
        2,
        ["registry.core", "rich", "structlog"],
    )


def test_a_worker_starts_without_the_api() -> None:
    """Workers are restarted often, and on a busy machine each further import takes a second."""
    assert _loaded_with("registry.cli.working", "fastapi", "uvicorn", "starlette") == ""


def test_the_api_starts_without_the_crawler() -> None:
    assert _loaded_with("registry.cli.serving", "crawler", "scrapy", "pyreqwest", "pycares", "registry.demo") == ""


def test_a_crawl_starts_without_the_api_and_the_search_engine() -> None:
    """Engines and vectors take as much memory as a thousand hosts in flight, and are not needed before its end."""
    heavy = ("numpy", "tantivy", "usearch", "tokenizers", "meilisearch", "alembic", "fastapi", "uvicorn", "starlette")
    assert _loaded_with("registry.cli.crawling", *heavy) == ""


def _loaded_by_command(arguments: list[str], *modules: str) -> tuple[int, list[str]]:
    """Return the exit code of a command, and those of `modules` that its process has loaded."""
    program = f"""
import sys
from registry.cli import main
sys.argv = ["waypost", *{arguments!r}]
code = 0
try:
    main()
except SystemExit as end:
    code = end.code
print(code, *sorted(set({modules!r}) & set(sys.modules)))
"""
    completed = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    code, *loaded = completed.stdout.splitlines()[-1].split()
    return int(code), loaded


def _loaded_with(module: str, *modules: str) -> str:
    """Return those of `modules` that a fresh process has loaded after importing `module`."""
    program = f"import sys, {module}; print(*(set({modules!r}) & set(sys.modules)))"
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout.strip()
