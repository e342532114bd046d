"""Servers of several trees beside each other, each on a database of its own, to be measured in turns."""

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from benchmarks.crawl import postgres
from benchmarks.trees import search_path
from registry.store.engine import sqlalchemy_url


class Side(NamedTuple):
    """A running server of one tree."""

    name: str
    port: int
    process: "subprocess.Popen[str]"


@contextlib.contextmanager
def served(program: str, trees: Mapping[str, Path], server: str, folder: Path, services: int) -> Iterator[list[Side]]:
    """Yield a server for each tree, by its name.

    `program`: a module with a coroutine `main` for the acts `fill DATABASE FOLDER COUNT` and `serve DATABASE FOLDER`;
    a server prints its port on its first line. `server`: the URL of a PostgreSQL server.
    """
    sides: list[Side] = []
    with contextlib.ExitStack() as stack:
        for number, (name, tree) in enumerate(trees.items()):
            home = folder / f"side-{number}"
            home.mkdir()
            environment = {**os.environ, "PYTHONPATH": search_path(tree)}
            url = new_database(server, number, environment)
            subprocess.run(command(program, "fill", url, str(home), str(services)), check=True, env=environment)
            process = subprocess.Popen(
                command(program, "serve", url, str(home)), env=environment, stdout=subprocess.PIPE, text=True
            )
            stack.callback(end, process)
            assert process.stdout is not None
            sides.append(Side(name, int(process.stdout.readline()), process))
        yield sides


def new_database(server: str, number: int, environment: Mapping[str, str]) -> str:
    """Return the URL of an empty database, migrated by the migrations of the tree in the environment."""
    name = f"{postgres.PREFIX}_{os.getpid()}_{number}"
    url = sqlalchemy_url(server).set(database=name).render_as_string(hide_password=False)
    with postgres.connected(server) as admin:
        postgres.drop(admin, name)
        admin.execute(f"CREATE DATABASE {name}".encode())
    program = "import sys; from registry.store.migrate import upgrade; upgrade(sys.argv[1])"
    subprocess.run([sys.executable, "-P", "-c", program, url], check=True, env=environment)
    return url


def command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-P", "-c", f"import uvloop; from {program} import main; uvloop.run(main())", *arguments]


def end(process: "subprocess.Popen[str]") -> None:
    process.terminate()
    process.wait(30)
