"""A stopped cluster of the embedded PostgreSQL with all migrations, which new data folders begin with.

initdb and the migrations take seconds, a copy takes a tenth of that. tests/store/test_embedded.py and the demo begin
without.
"""

import atexit
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from registry.store.embedded_postgres import server as embedded
from registry.store.embedded_postgres.home import ServerHome, find_home
from registry.store.embedded_postgres.watchdog import PID_FILE
from registry.store.migrate import upgrade
from tests.support.demo import forget_remains, wait_until_stopped
from tests.support.hang import HANG_SECONDS


def copy_cluster(folder: Path) -> None:
    """Put a copy where the server of `folder` looks for its data."""
    forget_remains(folder)
    server_home = find_home(folder)
    new_data = server_home.home / "data.copy"
    # cp keeps the owner: for root, the server and its files belong to another account.
    subprocess.run(["cp", "-a", str(_template().data), str(new_data)], check=True)
    new_data.rename(server_home.data)


@contextmanager
def own_server() -> Iterator[tuple[str, Path]]:
    """Yield the URL and the data folder of a migrated server of its own, for a test that harms it."""
    with tempfile.TemporaryDirectory(prefix="waypost-test-") as directory:
        Path(directory).chmod(0o711)  # the account that runs the server must reach its data
        folder = Path(directory) / "postgres"
        copy_cluster(folder)
        server = embedded.start(folder)
        data = find_home(folder).data
        try:
            yield server.dsn, data
        finally:
            server.release()
            wait_until_stopped(data, HANG_SECONDS)


@cache
def _template() -> ServerHome:
    directory = tempfile.TemporaryDirectory(prefix="waypost-cluster-")
    atexit.register(directory.cleanup)
    Path(directory.name).chmod(0o711)  # the account that runs the server must reach its data
    folder = Path(directory.name) / "postgres"
    server = embedded.start(folder)
    upgrade(server.dsn)
    server.release()
    server_home = find_home(folder)
    wait_until_stopped(server_home.data, HANG_SECONDS)
    assert not (server_home.data / PID_FILE).exists(), "the server does not stop"
    return server_home
