"""The servers, in a separate process: `python -m tests.crawler.torture.servers KIND NUMBER FOLDER`.

KIND "scenarios": one host for each scenario; "floods": NUMBER hosts that respond to everything with what costs most
memory; "hostile": NUMBER hosts with all scenarios in turn; "honest": NUMBER quiet ones. Print their addresses as one
line of JSON and serve until standard input ends.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.crawler.torture.scenarios import JSON, PATH, SCENARIOS, Raw
from tests.support.shared import ROOT
from tests.support.sites import LOOPBACK, Behaviour, Exchange, Reply, Site, Sites, moved, raw_port

FLOODS: Final = (
    "endless headers", "one endless header", "endless 103", "endless body", "endless chunks", "endless small chunks",
    "gzip bomb", "gzip bomb in gzip", "deflate bomb", "brotli bomb", "zstd bomb", "300 KB in one header", "2 MB",
    "100,000 levels", "body by drips", "a header now and then", "endless trailers", "endless chunk extension",
)  # fmt: skip


@dataclass(frozen=True)
class Served:
    """`hosts` maps a host to the name of its scenario ("" for honest ones)."""

    hosts: Mapping[str, str]
    connect_to: tuple[str, ...]
    authority: str


@contextmanager
def serving(kind: str, number: int, folder: Path, *, nice: int = 0) -> Iterator[Served]:
    """Run the servers while the block lasts."""
    process = subprocess.Popen(
        ["nice", "-n", str(nice), sys.executable, "-m", __name__, kind, str(number), str(folder)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None and process.stdout is not None
    try:
        announced = json.loads(process.stdout.readline())
        yield Served(announced["hosts"], tuple(announced["connect_to"]), announced["authority"])
    finally:
        process.stdin.close()
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def scenario_hosts(kind: str, number: int) -> dict[str, str]:
    """Return host -> scenario."""
    if kind == "honest":
        return {f"honest{n}.example": "" for n in range(number)}
    names: Sequence[str] = FLOODS if kind == "floods" else tuple(SCENARIOS)
    number = len(names) if kind == "scenarios" else number
    return {f"{kind}{n}.example": names[n % len(names)] for n in range(number)}


async def _serve(kind: str, number: int, folder: Path) -> None:
    hosts = scenario_hosts(kind, number)
    sites = {host: site_of(name, everywhere=kind == "floods") for host, name in hosts.items() if not _raw(name)}
    certificates = {host: SCENARIOS[name].certificate for host, name in hosts.items() if name}
    async with AsyncExitStack() as stack:
        own_certificates = {host: kind for host, kind in certificates.items() if kind}
        served = await stack.enter_async_context(Sites(sites, own_certificates))
        table = list(served.connect_to())
        for host, name in hosts.items():
            if serve := _raw(name):
                port = await stack.enter_async_context(raw_port(serve))
                table.append(f"{host}:443:{LOOPBACK}:{port}")
        authority = served.write_authority(folder)
        authority = authority.rename(folder / f"{kind}.pem")
        sys.stdout.write(json.dumps({"hosts": hosts, "connect_to": table, "authority": str(authority)}) + "\n")
        sys.stdout.flush()
        await asyncio.to_thread(sys.stdin.read)


def _raw(name: str) -> Raw | None:
    return SCENARIOS[name].raw if name else None


def site_of(name: str, *, everywhere: bool = False) -> Site:
    """Return the site of a scenario, or an honest one for an empty name. `everywhere`: its answer is for all paths."""
    if not name:
        return {PATH: Reply(b"nothing here", 404)}
    answer = SCENARIOS[name].answer or Reply(JSON)
    if everywhere:
        return answer
    extra: dict[str, Reply] = {"/ring-a": moved("/ring-b"), "/ring-b": moved("/ring-a")} if "ring" in name else {}
    if name == "redirects for ever" and not isinstance(answer, Reply):
        return _only_below(PATH, answer)
    return {PATH: answer, "/": Reply("<title>Cranes</title>", type="text/html"), **extra}


def _only_below(path: str, answer: Behaviour) -> Site:
    async def choose(exchange: Exchange) -> None:
        if exchange.path.startswith(path) and "." not in exchange.path[len(path) :]:
            await answer(exchange)
        else:
            await exchange.send(Reply(b"nothing here", 404, "text/plain").encode())

    return choose


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3])))
