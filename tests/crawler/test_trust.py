"""SSL_CERT_FILE and SSL_CERT_DIR take the place of the platform's trust store, as they do for OpenSSL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from crawler.visit import Visitor
from registry.core.documents import Outcome
from tests.crawler.support import fetch, probe, settings
from tests.support.sites import Reply, Sites

HOST = "site.example"


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites({HOST: Reply(b"{}")}) as served:
        yield served


@pytest.fixture
def stranger(tmp_path: Path) -> Path:
    """The file of an authority that has signed nothing here."""
    path = tmp_path / "stranger.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path


def joined(one: Path, other: Path) -> Path:
    both = one.with_name("both.pem")
    both.write_bytes(b"# two of them\n" + one.read_bytes() + b"\n" + other.read_bytes())
    return both


async def reached(sites: Sites) -> bool:
    async with Visitor(settings(*sites.connect_to())) as visitor:
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert fetched.status == 200 or (fetched.failure, fetched.reason) == (Outcome.TLS_ERROR, "certificate_untrusted")
    return fetched.status == 200


async def test_file_takes_the_place_of_the_default(
    sites: Sites, stranger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(stranger))
    assert not await reached(sites)
    monkeypatch.setenv("SSL_CERT_FILE", str(sites.write_authority(tmp_path)))
    assert await reached(sites)  # read when a client is built, not when the program starts


async def test_file_with_several_authorities(
    sites: Sites, stranger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    both = joined(stranger, sites.write_authority(tmp_path))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(both))
    assert await reached(sites)


async def test_folder_of_hashed_names_counts_alone_and_beside_a_file(
    sites: Sites, stranger: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "0a1b2c3d.0").write_bytes(sites.write_authority(tmp_path).read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    monkeypatch.setenv("SSL_CERT_FILE", str(stranger))
    assert await reached(sites)
    monkeypatch.delenv("SSL_CERT_FILE")
    assert await reached(sites)
