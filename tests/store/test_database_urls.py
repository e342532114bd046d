"""Every spelling of a database means the same to the pool, the fast lane, sessions, migrations and commands."""

import os
from collections.abc import Iterator

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict
from sqlalchemy.dialects.postgresql import psycopg as dialects

from registry.store.diagnosis import examine
from registry.store.engine import BadDatabaseUrl, libpq, make_engine, session_conninfo, sqlalchemy_url
from registry.store.holder import hold_leases
from registry.store.migrate import upgrade
from registry.store.unit_of_work import Store
from registry.wiring import utc_now
from tests.support.cluster import own_server
from tests.support.database import SERVER

ONE = {"connect_timeout": "10"}
TWO = {"host": "h1,h2", "port": "5432,5433", "target_session_attrs": "read-write", "connect_timeout": "3"}
ME = {"user": "me", "password": "p@ss", "dbname": "way"}

IS_READ_ONLY = "SELECT current_setting('transaction_read_only')"

SPELLINGS = (
    ("postgresql://me:p%40ss@db.example:6432/way?sslmode=require",
     ME | ONE | {"host": "db.example", "port": "6432", "sslmode": "require"}),
    ("postgresql+psycopg://me:p%40ss@db.example:6432/way?sslmode=require",
     ME | ONE | {"host": "db.example", "port": "6432", "sslmode": "require"}),
    ("host=db.example port=6432 user=me password=p@ss dbname=way sslmode=require",
     ME | ONE | {"host": "db.example", "port": "6432", "sslmode": "require"}),
    # several hosts: libpq's URL, its keywords, and three of SQLAlchemy's
    ("postgresql://me:p%40ss@h1:5432,h2:5433/way", ME | TWO),
    ("postgresql+psycopg://me:p%40ss@h1:5432,h2:5433/way", ME | TWO),
    ("host=h1,h2 port=5432,5433 user=me password=p@ss dbname=way", ME | TWO),
    ("postgresql+psycopg://me:p%40ss@/way?host=h1:5432&host=h2:5433", ME | TWO),
    ("postgresql://me:p%40ss@/way?host=h1%3A5432&host=h2%3A5433", ME | TWO),
    ("postgresql://me:p%40ss@/way?host=h1,h2&port=5432,5433", ME | TWO),
    ("postgresql://h1:5432,h2:5433/way?user=me&password=p%40ss", ME | TWO),
    # one port of several hosts, ports of some hosts
    ("host=h1,h2 port=6432", TWO | {"port": "6432,6432"}),
    ("postgresql://h1,h2:5433/", TWO | {"port": ",5433"}),
    ("postgresql:///?host=h1&host=h2:5433", TWO | {"port": ",5433"}),
    # what is said explicitly stays
    ("postgresql://h1:5432,h2:5433/?target_session_attrs=any&connect_timeout=7",
     TWO | {"target_session_attrs": "any", "connect_timeout": "7"}),
    ("postgresql://h1:5432,h2:5433/?target_session_attrs=read-only&load_balance_hosts=random",
     TWO | {"target_session_attrs": "read-only", "load_balance_hosts": "random"}),
    # unusual passwords: percent-encoded, and as SQLAlchemy has always taken them
    ("postgresql://me:%2F%3F%23%5B%25%3A%40@h/", ONE | {"user": "me", "password": "/?#[%:@", "host": "h"}),
    ("postgresql://me:a/b@h/way", ONE | {"user": "me", "password": "a/b", "host": "h", "dbname": "way"}),
    ("postgresql://me:a?b:c@h/way", ONE | {"user": "me", "password": "a?b:c", "host": "h", "dbname": "way"}),
    ("postgresql://h1:5432,h2:5433/?application_name=a@b", TWO | {"application_name": "a@b"}),
    # sockets
    ("postgresql+psycopg://me@/way?host=%2Fvar%2Ftmp%2Fx", ONE | {"user": "me", "dbname": "way", "host": "/var/tmp/x"}),
    ("postgresql://%2Fvar%2Ftmp%2Fx:5433/way", ONE | {"dbname": "way", "host": "/var/tmp/x", "port": "5433"}),
    ("postgresql:///way?host=/a&host=/b", TWO | {"dbname": "way", "host": "/a,/b", "port": None}),
    ("postgresql:///way", ONE | {"dbname": "way"}),
    # IPv6
    ("postgresql://[2001:db8::1]:5433/way", ONE | {"host": "2001:db8::1", "port": "5433", "dbname": "way"}),
    ("postgresql://[2001:db8::1]:5432,[2001:db8::2]:5433/", TWO | {"host": "2001:db8::1,2001:db8::2"}),
    ("postgresql:///?host=[2001:db8::1]:5432&host=[2001:db8::2]:5433", TWO | {"host": "2001:db8::1,2001:db8::2"}),
    ("host=fe80::1%eth0", ONE | {"host": "fe80::1%eth0"}),
    # addresses of names, and without
    ("host=h1,h2 hostaddr=192.0.2.1,192.0.2.2 port=5432,5433", TWO | {"hostaddr": "192.0.2.1,192.0.2.2"}),
    ("hostaddr=192.0.2.1,192.0.2.2 port=5432,5433",
     TWO | {"host": "192.0.2.1,192.0.2.2", "hostaddr": "192.0.2.1,192.0.2.2"}),
    # a service file may name several hosts
    ("service=way", {"service": "way", "connect_timeout": "3"}),
    ("postgresql:///?service=way", {"service": "way", "connect_timeout": "3"}),
)  # fmt: skip


@pytest.mark.parametrize(("spelling", "expected"), SPELLINGS)
async def test_every_road_connects_with_the_same(spelling: str, expected: dict[str, str | None]) -> None:
    store = Store(make_engine(spelling))
    migrations = dialects.dialect().create_connect_args(sqlalchemy_url(spelling))[1]
    again = sqlalchemy_url(store.engine.url.render_as_string(hide_password=False))
    roads = {
        "pool": conninfo_to_dict(libpq(store.engine.url)),
        "lane": conninfo_to_dict(store.lane._conninfo),
        "sessions": conninfo_to_dict(session_conninfo(store.engine)),
        "migrations": {key: str(value) for key, value in migrations.items() if value != ","},
        "written again": conninfo_to_dict(libpq(again)),
    }
    given = {key: value for key, value in expected.items() if value is not None}
    assert roads == dict.fromkeys(roads, given)
    await store.close()


async def test_hosts_of_the_environment_mean_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGHOST", "h1,h2")
    monkeypatch.setenv("PGPORT", "5432,5433")
    assert conninfo_to_dict(libpq(sqlalchemy_url("postgresql:///way"))) == TWO | {"dbname": "way"}
    monkeypatch.setenv("PGTARGETSESSIONATTRS", "prefer-standby")
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "8")
    given = {"host": "h1,h2", "port": "5432,5433", "dbname": "way", "connect_timeout": "8"}
    assert conninfo_to_dict(libpq(sqlalchemy_url("postgresql:///way"))) == given


@pytest.mark.parametrize(
    "url",
    [
        "mysql://h/way", "postgres", "postgresql://h:port/way", "postgresql://[::1/way", "postgresql://h/?nothing=1",
        "host=a,b port=1,2,3", "host=a,b hostaddr=192.0.2.1", "postgresql:///?host=a:1&host=b:2&port=3",
        "postgresql:///?host=[a", "postgresql://h/%zz", "://", "host='a",
        "postgresql://a%00@h/", "postgresql://a\ud800@h/",
    ],
)  # fmt: skip
def test_what_is_not_understood_is_refused_without_its_text(url: str) -> None:
    with pytest.raises(BadDatabaseUrl, match=r"^DATABASE_SESSION_URL is not understood; postgresql://user:"):
        sqlalchemy_url(url, "DATABASE_SESSION_URL")


@pytest.fixture
def read_only_server(database_url: str) -> Iterator[str]:
    """Yield the socket folder of a server on which the same database can only be read."""
    if SERVER in os.environ:
        pytest.skip("the roles of another server")
    with own_server() as (server, _):
        _make_read_only(server, database_url)
        yield str(sqlalchemy_url(server).query["host"])


def _make_read_only(server: str, database_url: str) -> None:
    with psycopg.connect(libpq(sqlalchemy_url(server)), autocommit=True) as admin:
        name = psycopg.sql.Identifier(str(sqlalchemy_url(database_url).database))
        admin.execute(psycopg.sql.SQL("CREATE DATABASE {}").format(name))
        admin.execute(psycopg.sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))


@pytest.mark.slow
async def test_every_road_leads_to_the_server_that_can_be_written(database_url: str, read_only_server: str) -> None:
    target = sqlalchemy_url(database_url)
    primary, user, name = target.query["host"], target.username, target.database
    for url in (
        f"host={read_only_server},{primary} user={user} dbname={name}",
        f"postgresql+psycopg://{user}@/{name}?host={read_only_server}&host={primary}",
    ):
        store = Store(make_engine(url))
        async with store.engine.connect() as connection:
            assert (await connection.exec_driver_sql(IS_READ_ONLY)).scalar_one() == "off"
        assert await store.lane.rows(IS_READ_ONLY, {}) == [("off",)]
        async with hold_leases(store.engine) as hold:
            assert hold._connection.info.host == primary
        facts = await examine(url, utc_now)
        assert (facts.place, facts.is_read_only, facts.keeps_sessions) == (f"{primary}/{name}", False, True)
        upgrade(url)
        await store.close()
