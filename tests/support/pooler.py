"""Debian's PgBouncer before a test's database."""

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from registry.store.engine import sqlalchemy_url
from tests.support.hang import HANG_SECONDS

needs_pgbouncer = pytest.mark.skipif(shutil.which("pgbouncer") is None, reason="no PgBouncer here")


@contextmanager
def pooled(database_url: str, mode: str, *, takes_options: bool = False) -> Iterator[str]:
    """Yield the URL of the same database behind PgBouncer, as soon as it listens. `takes_options`: as its operator has
    to configure it for session locks."""
    target = sqlalchemy_url(database_url)
    host = str(target.query.get("host") or target.host)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    lines = [
        "[databases]", f"{target.database} = host={host} user={target.username}", "[pgbouncer]",
        "listen_addr = 127.0.0.1", f"listen_port = {port}", "auth_type = any", "unix_socket_dir =",
        f"pool_mode = {mode}", "default_pool_size = 3",
        f"ignore_startup_parameters = extra_float_digits{',options' if takes_options else ''}",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        file = Path(folder) / "pgbouncer.ini"
        file.write_text("\n".join(lines))
        account = ["-u", Path(host).owner()] if os.geteuid() == 0 else []  # it refuses to run as root
        process = subprocess.Popen(["pgbouncer", "-q", *account, str(file)], stderr=subprocess.DEVNULL)
        try:
            deadline = time.monotonic() + HANG_SECONDS
            while not _listens(port):
                assert process.poll() is None and time.monotonic() < deadline
                time.sleep(0.05)
            yield f"postgresql://{target.username}@127.0.0.1:{port}/{target.database}"
        finally:
            process.kill()
            process.wait()


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0
