"""No character of a site that controls a terminal reaches one: every command, through pipes and on a terminal."""

import asyncio
import json
import re
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from registry.cli import app
from registry.core.formats import FORMATS
from tests.support import forked
from tests.support.builders import adp_detail, adp_manifest, awp_manifest
from tests.support.running import DataFolder, new_data_folder
from tests.support.shared import ROOT
from tests.support.sites import Exchange, Reply, Site, Sites
from tests.support.terminal import run_on_terminal

MARK = "\x1b[35;101m"
"""A colour that no command uses: its bytes in an output come from a site."""

STEERING = (
    f"{MARK}evil\x1b]0;title\x07\x9b31m\x9d0;t\x9c \u202egnp.exe \u2066x\u2069 \u200bz \u2028l\u2029p "
    "\x85n \x7f\x08\r \x0bv\x0cf\x1cs\x1dg\x1er [red]m[/]"
)

STYLES = re.compile(rb"\x1b\[(?:\d+(?:;\d+)*m|\?25[lh]|\d*[AGK]|2K)|\r")
"""What Rich writes to a terminal itself: styles, and movements of a progress line."""


def assert_harmless(output: bytes) -> None:
    text = output.decode()
    assert {f"U+{ord(char):04X}" for char in text if char != "\n" and not char.isprintable()} == set(), text


def spoiled(value: Any) -> Any:
    """Return a JSON value with STEERING after every text, and in a member of every object."""
    if isinstance(value, str):
        return value + STEERING
    if isinstance(value, list):
        return [*map(spoiled, value), spoiled("item")]
    if isinstance(value, dict):
        return {key: spoiled(item) for key, item in value.items()} | {f"x{STEERING}": STEERING}
    return value


def mixed(value: Any, keep: frozenset[str]) -> Any:
    """Return an object whose texts are spoiled, except the members that make it recognisable."""
    return {key: item if key in keep else spoiled(item) for key, item in value.items()}


# --- files of all formats -------------------------------------------------------------------------------------------


def bodies() -> dict[str, Path]:
    """Return one fixture for each format, by the name of its folder."""
    folders = {path.parent.parent.name: path for path in sorted((ROOT / "tests" / "formats").glob("*/*/body"))}
    assert len(folders) > 30
    return folders


@pytest.mark.slow
@pytest.mark.parametrize("option", [(), ("--json",), ("--sarif",)], ids=str)
def test_bodies_of_all_formats_are_checked_harmlessly(tmp_path: Path, option: tuple[str, ...]) -> None:
    paths = {form.slug: form.paths[0] if form.paths else "/x" for form in FORMATS}
    files = []
    for name, fixture in bodies().items():
        raw = fixture.read_bytes()
        try:
            value = json.loads(raw)
            variants = [spoiled(value)]
            if isinstance(value, dict):
                variants += [mixed(value, frozenset({key})) for key in value] + [value | {f"x{STEERING}": STEERING}]
            texts = [json.dumps(variant, ensure_ascii=number % 2 == 0) for number, variant in enumerate(variants)]
        except ValueError:
            text = raw.decode("utf-8", "replace")
            texts = [text.replace("\n", f"{STEERING}\n"), text + STEERING]
        for number, text in enumerate(texts):
            file = tmp_path / name / str(number) / paths.get(name, "/x").removeprefix("/")
            file.parent.mkdir(parents=True)
            file.write_bytes(text.encode("utf-8", "surrogatepass"))
            files.append(str(file))
    steered = tmp_path / f"{MARK}\u202e\x9b.json"
    steered.write_text(json.dumps(awp_manifest("bikes.example")))
    result = CliRunner().invoke(app, ["check", *option, *files, str(steered)], catch_exceptions=False)
    assert_harmless(result.stdout_bytes)
    assert_harmless(result.stderr_bytes)
    assert "evil" in result.stdout


# --- a host, through every command ----------------------------------------------------------------------------------

HOST, OTHER = "evil.example", "mixed.example"


def hostile_sites() -> dict[str, Site]:
    adp = adp_manifest(HOST, "create_parcel")
    adp |= {"name": f"Parcels {STEERING}", "description": f"Sends parcels. {STEERING}", "docs_url": STEERING}
    adp["capabilities"][0] |= {"name": f"send parcel {STEERING}", "description": STEERING}
    awp = awp_manifest(HOST)
    awp["actions"].append({"id": STEERING, STEERING: STEERING})
    awp["intent"] += STEERING
    words = "llms.txt openapi x402 auth.md pricing.md mcp a2a agents.json ai-plugin did acp"
    page = f"<html><head><title>{STEERING}</title></head><body>{words} {STEERING}</body></html>"
    evil: dict[str, Any] = {
        "/": Reply(page, type=f"text/html; x={MARK}"),
        "/robots.txt": Reply(f"User-agent: *\nAllow: /\nSitemap: https://{HOST}/{STEERING}\n", type="text/plain"),
        "/.well-known/agent": Reply(json.dumps(adp)),
        "/agent.json": Reply(json.dumps(awp, ensure_ascii=False)),
        "/caps/create_parcel": Reply(json.dumps(spoiled(adp_detail("create_parcel")))),
        "/sitemap.xml": Reply(_sitemap(), type="application/xml"),
        "/servers": Reply(json.dumps(_mcp_list())),
    }
    rare = {
        path: Reply(json.dumps(spoiled({"name": "x", "version": "1", "url": "https://x.example"}), ensure_ascii=False),
                    type=f"application/json; {MARK}\x9b", headers=(("ETag", f'"{MARK}\x9b"'),))
        for form in FORMATS
        for path in form.paths
    }  # fmt: skip
    return {HOST: rare | evil, OTHER: rare, "status.example": _strange_status}


async def _strange_status(exchange: Exchange) -> None:
    head = f"HTTP/1.1 500 {MARK}\r\nContent-Type: {MARK}\x9b\r\nLocation: https://{MARK}/\x9b\r\nContent-Length: 4\r\n"
    await exchange.send(f"{head}Content-Encoding: {MARK}\r\n\r\n".encode("latin-1") + b"\x1b[2J")


def _sitemap() -> str:
    entries = "".join(
        f"<url><loc>https://{name}/</loc></url>" for name in ("a.com", "b\u202e.com", "c\x85.com", "d .com")
    )
    return f'<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{entries}</urlset>'


def _mcp_list() -> dict[str, Any]:
    remote = {"type": "sse", "url": f"https://{STEERING}/"}
    return {"servers": [{"server": {"name": STEERING, "websiteUrl": STEERING, "remotes": [remote]}}]}


@asynccontextmanager
async def registry(folder: Path) -> AsyncIterator[DataFolder]:
    async with Sites(hostile_sites()) as web:
        with new_data_folder(folder / "data", web, web.write_authority(folder)) as data_folder:
            yield data_folder


COMMANDS: tuple[tuple[str, ...], ...] = (
    ("crawl", HOST, OTHER, "status.example"),
    ("crawl", "--json", HOST, f"wrong{STEERING[1:]}"),
    ("crawl", "--from", "list.txt"),
    ("crawl", "--from", "list.txt", "--json"),
    ("search", "send a parcel"),
    ("search", "send a parcel", "--json"),
    ("inspect", HOST),
    ("inspect", OTHER),
    ("inspect", "status.example", "--json"),
    ("inspect", f"nobody{STEERING[1:]}"),
    ("check", HOST, OTHER, "status.example", f"https://{HOST}/agent.json", f"https://{HOST}/x402{STEERING[1:]}"),
    ("check", "--json", HOST, OTHER, "status.example"),
    ("check", "--sarif", HOST, OTHER),
    ("translate", HOST, "--to", "awp"),
    ("translate", HOST, "--to", "awas"),
    ("translate", HOST, "--to", "atp", "--json"),
    ("submit", HOST, f"x{STEERING[1:]}.example"),
    ("submit", "--json", f"x{STEERING[1:]}"),
    ("seed", "file", "list.txt"),
    ("seed", "file", "list.txt", "--json"),
    ("seed", "csv", "table.csv"),
    ("seed", "sitemap", f"https://{HOST}/sitemap.xml"),
    ("seed", "mcp-registry", "--file", "servers.json"),
    ("seed", "links"),
    ("optout", HOST),
    ("rescore",),
    ("reindex",),
    ("verify-index",),
    ("schedule", "--once", "rescore", "reindex"),
    ("schedule", "--list"),
    ("forget", "--yes", HOST, "--reason", STEERING),
    ("forget", "--yes", f"x{STEERING[1:]}"),
)
"""Every command that prints something of a site, a list or a name."""

ON_TERMINAL: tuple[tuple[str, ...], ...] = (
    ("crawl", HOST, OTHER, "status.example"),
    ("search", "send a parcel"),
    ("inspect", HOST),
    ("check", HOST, OTHER),
)
"""The commands that print most on a terminal."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("columns", "commands"),
    [(None, COMMANDS), (160, ON_TERMINAL), pytest.param(160, COMMANDS, marks=pytest.mark.long)],
    ids=["pipe", "terminal", "terminal, all"],
)
async def test_no_command_prints_what_a_site_steers(
    tmp_path: Path, columns: int | None, commands: Sequence[tuple[str, ...]]
) -> None:
    """Through pipes every byte is checked; on a terminal all but the styles that commands write themselves."""
    (tmp_path / "list.txt").write_text(f"{HOST}\n{STEERING}\nhttps://{STEERING}/\nb\u202e.example\n")
    (tmp_path / "table.csv").write_text(f"domain,{STEERING}\n{STEERING},1\nb\u202e.example,2\n")
    (tmp_path / "servers.json").write_text(json.dumps(_mcp_list()))
    async with registry(tmp_path) as data_folder, data_folder.opened():  # which keeps the database running
        environment = data_folder.environment | {"PYTHONUTF8": "1", "COLUMNS": "80"}
        for arguments in commands:
            if columns is not None and {"--json", "--sarif"} & set(arguments):
                continue  # the same bytes as through a pipe
            names = [str(tmp_path / name) if (tmp_path / name).is_file() else name for name in arguments]
            code, outputs = await asyncio.to_thread(_run, names, environment, columns)
            for output in outputs:
                assert MARK.encode() not in output, (arguments, output)
                assert_harmless(output)
                assert b"Traceback" not in output, (arguments, output.decode())
            assert code in (0, 1, 2), (arguments, outputs)


def _run(arguments: list[str], environment: dict[str, str], columns: int | None) -> tuple[int, tuple[bytes, ...]]:
    if columns is None:
        completed = forked.waypost(arguments, environment)
        return completed.returncode, (completed.stdout, completed.stderr)
    command = [sys.executable, "-m", "registry.cli", *arguments]
    code, output = run_on_terminal(command, environment, columns=columns)
    assert MARK.encode() not in output, (arguments, output)
    return code, (STYLES.sub(b"", output),)
