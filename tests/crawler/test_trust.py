"""SSL_CERT_FILE and SSL_CERT_DIR replace the platform's trust store, as they do for OpenSSL."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import trustme

from crawler.visit import Visitor
from registry.core.model.documents import Outcome
from tests.crawler.support import fetch, probe, settings
from tests.support.sites import Reply, Sites

HOST = "site.example"


@pytest.fixture
async def sites() -> AsyncIterator[Sites]:
    async with Sites({HOST: Reply(b"{}")}) as served:
        yield served


@pytest.fixture
def unrelated_authority(tmp_path: Path) -> Path:
    """The certificate file of an authority that has signed nothing here."""
    path = tmp_path / "unrelated.pem"
    trustme.CA().cert_pem.write_to_path(str(path))
    return path


def joined(first: Path, second: Path) -> Path:
    bundle = first.with_name("both.pem")
    bundle.write_bytes(b"# two of them\n" + first.read_bytes() + b"\n" + second.read_bytes())
    return bundle


async def reached(sites: Sites) -> bool:
    async with Visitor(settings(*sites.connect_to())) as visitor:
        [fetched] = await fetch(visitor, probe(f"https://{HOST}/x"))
    assert fetched.status == 200 or (fetched.failure, fetched.reason) == (Outcome.TLS_ERROR, "certificate_untrusted")
    return fetched.status == 200


async def test_the_certificate_file_replaces_the_default(
    sites: Sites, unrelated_authority: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(unrelated_authority))
    assert not await reached(sites)
    monkeypatch.setenv("SSL_CERT_FILE", str(sites.write_authority(tmp_path)))
    assert await reached(sites)  # read when a client is built, not when the program starts


async def test_a_certificate_file_may_hold_several_authorities(
    sites: Sites, unrelated_authority: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    bundle = joined(unrelated_authority, sites.write_authority(tmp_path))
    monkeypatch.delenv("SSL_CERT_DIR", raising=False)
    monkeypatch.setenv("SSL_CERT_FILE", str(bundle))
    assert await reached(sites)


async def test_a_folder_of_hashed_names_is_used_alone_and_with_a_file(
    sites: Sites, unrelated_authority: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "authorities"
    folder.mkdir()
    (folder / "0a1b2c3d.0").write_bytes(sites.write_authority(tmp_path).read_bytes())
    monkeypatch.setenv("SSL_CERT_DIR", str(folder))
    monkeypatch.setenv("SSL_CERT_FILE", str(unrelated_authority))
    assert await reached(sites)
    monkeypatch.delenv("SSL_CERT_FILE")
    assert await reached(sites)
