"""Writes the database into a backup, and a backup into a database.

Both use PostgreSQL's own programs. A dump has one snapshot, in which the rows of each table are counted too. A restore
is one transaction, which ends with a comparison of these counts: it succeeds as a whole, or changes nothing.
"""

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, Final, LiteralString, cast

import psycopg
from psycopg import sql

from registry.store.backup_folder import DATABASE, BackupManifest, BackupRefused, BadBackup
from registry.store.engine import CONNECT_SECONDS, StoreUnavailable, libpq, sqlalchemy_url
from registry.store.migrate import revisions
from registry.store.opt_out_file import OptOutLine
from registry.store.opt_outs import REPORTED
from registry.store.postgres_programs import Connection, Programs, find_programs

SCHEMA: Final = "public"
WITHOUT_ROWS: Final = ("search_dirty", "search_target")
"""Tables whose rows stay out of the dump: they say what an index has. Without them, each index is filled again."""

_LOCK_SECONDS: Final = 60
_CHUNK: Final = 1024 * 1024
_MAX_ERROR_CHARS: Final = 300

_TABLES: Final = """
    SELECT relname FROM pg_class
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p') AND NOT relispartition ORDER BY relname
"""
_RELATIONS: Final = """
    SELECT count(*) FROM pg_class c
    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f')
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
"""
_FILLED: Final = """
    SELECT EXISTS (SELECT FROM domains) OR EXISTS (SELECT FROM opt_outs) OR EXISTS (SELECT FROM api_keys)
        OR EXISTS (SELECT FROM listing_holds)
"""
_OTHERS: Final = """
    SELECT count(*) FROM pg_stat_activity
    WHERE datname = current_database() AND application_name LIKE 'waypost%' AND application_name <> 'waypost backup'
"""
_DROP_ALL: Final = """
DO $$
DECLARE entry record;
BEGIN
  FOR entry IN
    SELECT relname, CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE'
      WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind
    FROM pg_class c WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f', 'S')
      AND NOT EXISTS (  -- of an extension, or part of another one: sequences of columns, partitions
        SELECT FROM pg_depend d
        WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = 0 AND d.deptype IN ('e', 'i', 'a')
      )
  LOOP
    EXECUTE format('DROP %s IF EXISTS public.%I CASCADE', entry.kind, entry.relname);
  END LOOP;
  FOR entry IN
    SELECT p.oid::regprocedure AS signature FROM pg_proc p WHERE pronamespace = 'public'::regnamespace
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE format('DROP ROUTINE IF EXISTS %s CASCADE', entry.signature);
  END LOOP;
END $$;
"""
_BEGIN: Final = f"""
BEGIN;
SET LOCAL lock_timeout = '{_LOCK_SECONDS}s';
SET LOCAL statement_timeout = 0;
SET LOCAL client_min_messages = error;
{_DROP_ALL}
SET LOCAL lock_timeout = 0;
"""
_REVOKE_KEYS: Final = "UPDATE public.api_keys SET revoked_at = now() WHERE revoked_at IS NULL;\n"


@dataclass(frozen=True, slots=True)
class DatabaseState:
    """`is_filled`: whether it holds anything of a registry, or of others. `opt_outs`: as lines of the file."""

    name: str
    is_filled: bool
    opt_outs: tuple[OptOutLine, ...]


class Database:
    """A database to back up or to restore. Raise StoreUnavailable from all methods, ProgramsUnavailable from `dump` and
    `restore`."""

    def __init__(self, url: str, *, is_embedded: bool) -> None:
        """Raise BadDatabaseUrl."""
        self.url = url
        self._conninfo = libpq(sqlalchemy_url(url))
        self._is_embedded = is_embedded

    def dump(self, folder: Path, lock: int) -> dict[str, Any]:
        """Write the dump into the folder; return the facts for its manifest. pg_dump inherits the descriptor `lock`, so
        that no other backup uses the folder meanwhile. Raise BackupRefused without a schema of this program."""
        with self._connected() as connection:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            programs = self._programs(connection, connection.info.server_version // 10_000)
            tables = [name for (name,) in connection.execute(_TABLES)]
            if "alembic_version" not in tables:
                raise BackupRefused("the database holds no registry: run `waypost migrate`")
            revision = str(_single_value(connection, "SELECT version_num FROM alembic_version"))
            snapshot = str(_single_value(connection, "SELECT pg_export_snapshot()"))
            reached = self._reached()
            command = [programs.command("pg_dump"), "--format=custom", "--no-password", f"--snapshot={snapshot}"]
            command += [f"--schema={SCHEMA}", "--no-owner", "--no-privileges", "--lock-wait-timeout=60s"]
            command += [f"--exclude-table-data={SCHEMA}.{name}" for name in WITHOUT_ROWS]
            command += [f"--file={folder / DATABASE}", f"--dbname={reached.conninfo}"]
            with tempfile.TemporaryFile() as errors:
                process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, umask=0o077,
                    env=reached.environment, pass_fds=(lock,),
                )  # fmt: skip
                with _ended(process):
                    counted = [name for name in tables if name not in WITHOUT_ROWS]
                    rows = {name: _count(connection, name) for name in counted}
                    if process.wait() != 0:
                        raise StoreUnavailable(f"pg_dump failed: {_said(errors)}")
            return {
                "revision": revision,
                "server": connection.info.server_version,
                "client": programs.version,
                "rows": rows,
            }

    def state(self) -> DatabaseState:
        """Return what the database holds now."""
        with self._connected() as connection:
            relations = int(str(_single_value(connection, _RELATIONS)))
            is_filled = relations > 0
            opt_outs: tuple[OptOutLine, ...] = ()
            with contextlib.suppress(psycopg.errors.UndefinedTable, psycopg.errors.UndefinedColumn):
                is_filled = bool(_single_value(connection, _FILLED)) if relations else False
                opt_outs = tuple(
                    OptOutLine("out", host, how, evidence, at)
                    for host, how, evidence, at in connection.execute(
                        "SELECT host, how, evidence, created_at FROM opt_outs WHERE how <> ALL(%s)", [list(REPORTED)]
                    )
                )  # fmt: skip
            return DatabaseState(str(connection.info.dbname), is_filled, opt_outs)

    def restore(self, dump: BinaryIO, manifest: BackupManifest, *, revokes_keys: bool) -> None:
        """Replace everything in the schema by the dump, in one transaction. Raise BackupRefused if other programs use
        the database or the dump is too new for it, BadBackup if the dump does not have the rows of the manifest."""
        with self._connected() as connection:
            server = connection.info.server_version // 10_000
            if manifest.server // 10_000 > server:
                raise BackupRefused(
                    f"the backup is of PostgreSQL {manifest.server // 10_000}, but this server is {server}: use a"
                    " server of that version or later"
                )
            if manifest.revision not in revisions():
                raise BackupRefused(
                    f"the backup has schema {manifest.revision}, which this program does not know: upgrade waypost"
                )
            if others := _single_value(connection, _OTHERS):
                raise BackupRefused(
                    f"{others} other connections use the database: stop serve, workers and the schedule first"
                )
            programs = self._programs(connection, max(server, manifest.client))
        self._run(programs, dump, _checks(manifest) + (_REVOKE_KEYS if revokes_keys else ""), server)

    def _run(self, programs: Programs, dump: BinaryIO, end: str, server: int) -> None:
        """Send the dump as statements to psql, between the beginning of the transaction and its end. Without the last
        line, psql commits nothing."""
        reached = self._reached()
        reading = [programs.command("pg_restore"), f"--schema={SCHEMA}", "--no-owner", "--no-privileges", "--file=-"]
        writing = [programs.command("psql"), "--no-psqlrc", "--quiet", "--no-password", "--set=ON_ERROR_STOP=1"]
        writing += ["--output=/dev/null", f"--dbname={reached.conninfo}"]
        with tempfile.TemporaryFile() as read_errors, tempfile.TemporaryFile() as write_errors:
            reader = subprocess.Popen(
                reading, stdin=dump, stdout=subprocess.PIPE, stderr=read_errors, env=reached.environment
            )
            with _ended(reader):
                writer = subprocess.Popen(writing, stdin=subprocess.PIPE, stderr=write_errors, env=reached.environment)
                with _ended(writer):
                    statements = cast(IO[bytes], writer.stdin)
                    with contextlib.suppress(BrokenPipeError):  # psql says why it has ended
                        statements.write(_BEGIN.encode())
                        _copy(cast(IO[bytes], reader.stdout), statements, server)
                        if reader.wait() == 0:
                            statements.write(f"{end}COMMIT;\n".encode())
                        statements.close()
                    if writer.wait() != 0:
                        raise BadBackup(f"the database refuses the backup, nothing was changed: {_said(write_errors)}")
                if reader.wait() != 0:
                    raise BadBackup(f"{DATABASE} cannot be read, nothing was changed: {_said(read_errors)}")

    def _programs(self, connection: psycopg.Connection[Any], at_least: int) -> Programs:
        return find_programs(at_least, has_tls=bool(connection.pgconn.ssl_in_use))

    def _reached(self) -> Connection:
        return Connection.of(self._conninfo, is_embedded=self._is_embedded)

    @contextlib.contextmanager
    def _connected(self) -> Iterator[psycopg.Connection[Any]]:
        try:
            with psycopg.connect(
                self._conninfo,
                autocommit=True,
                connect_timeout=CONNECT_SECONDS,
                application_name="waypost backup",
            ) as connection:
                connection.execute("SET statement_timeout = 0")
                connection.execute("SET idle_in_transaction_session_timeout = 0")
                yield connection
        except (psycopg.OperationalError, psycopg.InterfaceError, psycopg.errors.InsufficientPrivilege) as error:
            raise StoreUnavailable(f"{type(error).__name__}: {str(error).partition(chr(10))[0][:200]}") from error


def _checks(manifest: BackupManifest) -> str:
    """Return statements that fail unless the database has the revision and the rows of the manifest."""
    lines = [
        _fails_unless("the schema", "(SELECT version_num FROM public.alembic_version)", sql.Literal(manifest.revision))
    ]
    lines += [
        _fails_unless(name, f"(SELECT count(*) FROM public.{name})", sql.Literal(rows))  # noqa: S608
        for name, rows in manifest.rows.items()  # names of a checked form
    ]
    return "DO $$ BEGIN\n" + "".join(lines) + "END $$;\n"


def _fails_unless(what: str, value: str, expected: sql.Literal) -> str:
    message = f"'{what} differs from the manifest: % instead of %'"
    literal = expected.as_string(None)
    return f"IF {value} <> {literal} THEN RAISE EXCEPTION {message}, {value}, {literal}; END IF;\n"


def _count(connection: psycopg.Connection[Any], table: str) -> int:
    return int(str(_single_value(connection, sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(SCHEMA, table)))))


def _single_value(connection: psycopg.Connection[Any], statement: LiteralString | sql.Composed) -> object:
    row = connection.execute(statement).fetchone()
    return row and row[0]


def _copy(source: IO[bytes], target: IO[bytes], server: int) -> None:
    """Copy statements. Those of pg_restore 17 and later begin with a setting that older servers do not know."""
    chunk = source.read(_CHUNK)
    if server < 17:
        chunk = chunk.replace(b"\nSET transaction_timeout = 0;\n", b"\n", 1)
    while chunk:
        target.write(chunk)
        chunk = source.read(_CHUNK)


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Wait for the process at the end of the block; kill it after an error."""
    with process:
        try:
            yield
        except BaseException:
            process.kill()
            raise


def _said(errors: IO[bytes]) -> str:
    """Return the first error of a program. Further lines may show texts of sites."""
    errors.seek(0)
    lines = errors.read(_CHUNK).decode(errors="replace").splitlines()
    first = next((line for line in lines if "error:" in line.lower()), lines[0] if lines else "it said nothing")
    return first[:_MAX_ERROR_CHARS]
