"""pg_dump, pg_restore and psql: which of those on this machine suit a server, and how they are run.

A password is handed on in the environment of the program, never on its command line.
"""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from psycopg.conninfo import conninfo_to_dict, make_conninfo

from registry.store.embedded_postgres import home

SAFE_RELEASES: Final = {13: 22, 14: 19, 15: 14, 16: 10, 17: 6}
"""First minor versions in which psql runs no command that a dump hides (CVE-2025-8714); 18 and later: all."""

_VERSION: Final = re.compile(rb"\) (\d{1,3})\.?(\d{1,3})?")
_PROBE_SECONDS: Final = 20


class ProgramsUnavailable(Exception):
    """No suitable PostgreSQL programs are on this machine; the message says which are needed."""


@dataclass(frozen=True, slots=True)
class Programs:
    folder: Path
    version: int

    def command(self, program: str) -> str:
        return str(self.folder / program)


@dataclass(frozen=True, slots=True)
class Connection:
    """How a program reaches a database: `conninfo` for its command line, without a password, and its environment."""

    conninfo: str
    environment: Mapping[str, str]

    @classmethod
    def of(cls, conninfo: str, *, is_embedded: bool) -> "Connection":
        """Split a libpq connection string. The embedded server must not be reached with the caller's PG variables; a
        configured one must be, because the registry uses them too. Raise ProgramsUnavailable."""
        options = {key: str(value) for key, value in conninfo_to_dict(conninfo).items() if value is not None}
        environment = {**home.ENVIRONMENT} if is_embedded else {**os.environ, "LC_ALL": "C"}
        if "sslpassword" in options:
            raise ProgramsUnavailable("sslpassword cannot be handed on safely: name a service file with it (PGSERVICE)")
        if (password := options.pop("password", None)) is not None:  # guard: backup-password-hidden
            environment["PGPASSWORD"] = password
        return cls(make_conninfo("", **options), environment)


def find_programs(at_least: int, *, has_tls: bool = False) -> Programs:
    """Return the oldest programs whose major version is at least this. `has_tls`: leave out those of the package
    embedded-postgres, which were built without TLS. Raise ProgramsUnavailable."""
    usable, rejected = [], []
    for folder in _candidates(with_package=not has_tls):
        try:
            printed = subprocess.run(
                [str(folder / "pg_dump"), "--version"], capture_output=True, timeout=_PROBE_SECONDS, check=True
            ).stdout
        except (OSError, subprocess.SubprocessError):
            continue
        match = _VERSION.search(printed)
        if match is None:
            continue
        major, minor = int(match[1]), int(match[2] or 0)
        if major >= at_least and minor >= SAFE_RELEASES.get(major, 0):
            usable.append(Programs(folder, major))
        else:
            rejected.append(f"{folder} ({major}.{minor})")
    if usable:
        return min(usable, key=lambda programs: programs.version)
    encrypted = " with TLS, as this connection has," if has_tls else ""
    raise ProgramsUnavailable(
        f"pg_dump, pg_restore and psql{encrypted} of PostgreSQL {at_least} or later are needed, with its latest fixes;"
        f" found: {', '.join(rejected) or 'none'}. Install your system's postgresql-client-{at_least}"
    )


def _candidates(*, with_package: bool) -> list[Path]:
    found = []
    if with_package and (package := home.package_folder()) is not None:
        found.append(package / "pginstall" / "bin")
    found += sorted(home.SYSTEM_BINARIES.glob("*/bin"))
    if on_path := shutil.which("pg_dump"):
        found.append(Path(on_path).resolve().parent)  # a wrapper's folder has none of the others
    return [folder for folder in dict.fromkeys(found) if (folder / "psql").exists()]
