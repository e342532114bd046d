"""Checking a site for an opt-out, over real TLS: what counts, what does not, and how many requests it takes."""

from pathlib import Path

import pytest

from crawler.guards import AddressGuard, Unresolved
from crawler.opt_out import read_proof
from registry.actions.maintenance.opt_out import Proof
from tests.crawler.support import visiting
from tests.support.sites import Reply, Site, moved

pytestmark = pytest.mark.slow

HOST = "shop.example"
FILE = "/.well-known/waypost-optout.txt"
ROBOTS = {"/robots.txt": Reply("User-agent: *\nDisallow: /\n", type="text/plain")}


class Names(AddressGuard):
    """A name server with TXT records, or one that fails."""

    records: tuple[bytes, ...] | None = ()

    async def txt_records(self, name: str) -> tuple[bytes, ...]:
        assert name == f"_waypost.{HOST}"
        if self.records is None:
            raise Unresolved("dns_timeout")
        return self.records


async def proof_of(
    monkeypatch: pytest.MonkeyPatch, folder: Path, site: Site, records: tuple[bytes, ...] | None = ()
) -> tuple[Proof, list[str]]:
    async with visiting(monkeypatch, folder, {HOST: site}) as (served, visitor):
        visitor.guard = Names(visitor.guard.connect_to, None)
        visitor.guard.records = records
        return await read_proof(visitor, HOST), served.paths(HOST)


@pytest.mark.parametrize(
    ("site", "records", "said", "unanswered"),
    [
        ({}, (), [], 0),
        ({FILE: Reply("opt-out\n", type="text/plain")}, (), ["file"], 0),
        ({FILE: Reply("\ufeffOpt-Out. We mean it.", type="text/plain")}, (), ["file"], 0),
        (ROBOTS | {FILE: Reply("opt-out", type="text/plain")}, (), ["file"], 0),
        ({FILE: Reply("opt-out", 404)}, (), [], 0),
        ({FILE: Reply("<!doctype html><p>opt-out", type="text/html")}, (), [], 0),
        ({FILE: moved("https://elsewhere.example/")}, (), [], 1),
        ({FILE: Reply("oops", 500)}, (), [], 1),
        ({}, (b"v=spf1 -all", b"opt-out"), ["dns"], 0),
        ({}, (b"we do not opt-out",), [], 0),
        ({}, None, [], 1),
        ({"/robots.txt": Reply("User-agent: WaypostBot\nDisallow: /\n", type="text/plain")}, (), ["robots"], 0),
        (Reply("oops", 503), (), [], 2),
    ],
)
async def test_the_proof_of_an_opt_out_is_read_from_file_dns_or_robots_txt(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    site: Site,
    records: tuple[bytes, ...] | None,
    said: list[str],
    unanswered: int,
) -> None:
    proof, paths = await proof_of(monkeypatch, tmp_path, site, records)
    assert [declaration.how for declaration in proof.declarations] == said
    assert len(proof.unanswered) == unanswered
    assert paths == ["/robots.txt", FILE]
