"""The MCP registry's API: the official server as judge of our records and as a mirror of them; schemathesis."""

import json
import re
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from registry.core.assessing.assess import assess_body
from registry.core.calling.server_records.record import server_records
from registry.core.names.domains import host_of
from tests.conformance.check import Check, Failed, Site, Skipped, output_of
from tests.conformance.mcp_registry.official import VERSION, official
from tests.conformance.tools import Tools
from tests.support.shared import ROOT

SCHEMATHESIS: Final = "schemathesis==4.32.5"
OFFICIAL: Final = f"github.com/modelcontextprotocol/registry {VERSION}"

Server = dict[str, Any]


def checks() -> Sequence[Check]:
    return (
        Check("mcp-registry", "every record passes the official validator", OFFICIAL, _validated),
        Check("mcp-registry", "the official server, seeded from here, holds the same servers", OFFICIAL, _seeded),
        Check("mcp-registry", "its description, with generated requests", SCHEMATHESIS.replace("==", " "), _generated),
    )


def _validated(site: Site, tools: Tools) -> str:
    servers = [*_servers(site), *fixture_records()]
    with official(tools, site.folder / "validator") as url:
        verdicts = [(server["name"], _posted(f"{url}/v0.1/validate", server)) for server in servers]
    refused = {name: verdict for name, verdict in verdicts if verdict.get("valid") is not True}
    if refused:
        raise Failed(json.dumps(refused, indent=1))
    return f"{len(servers)} records are valid, those of all fixtures included"


def _seeded(site: Site, tools: Tools) -> str:
    """Compare all members: the official server stores what it is given."""
    servers = _servers(site)
    with official(tools, site.folder / "mirror", seed_from=f"{site.url}/v0/servers") as url:
        theirs = [row["server"] for row in _pages(f"{url}/v0.1/servers?limit=100")]
    if theirs != servers:
        missing = [server["name"] for server in servers if server not in theirs]
        raise Failed(f"{len(servers)} servers here, {len(theirs)} there; missing or other there: {missing}")
    return f"{len(theirs)} servers, equal in every member and in their order"


def _generated(site: Site, tools: Tools) -> str:
    program = tools.python(SCHEMATHESIS).with_name("schemathesis")
    printed = output_of(
        [
            program, "run", f"{site.url}/v0.1/openapi.yaml", "--url", site.url, "--max-examples", "40",
            "--workers", "2", "--seed", "14", "--no-color", "--suppress-health-check", "all",
            # Whether a cursor or name exists is not in the description, and empty values count as none.
            "--exclude-checks", "positive_data_acceptance,negative_data_rejection",
        ],
        seconds=500,
        folder=site.folder,
    )  # fmt: skip
    counts = re.search("[0-9]+ generated, .*", printed)
    return f"cases: {counts[0].strip()}" if counts else "no failures"


def fixture_records() -> Iterator[Server]:
    """Yield the records of every fixture of a document, as if its host served nothing else."""
    for path in sorted((ROOT / "tests" / "formats").glob("*/*/expected.json")):
        body = next((other for other in path.parent.glob("body*")), None)
        response = json.loads((path.parent / "response.json").read_text())
        url = response["url"]
        if body is None:
            continue
        assessment = assess_body(body.read_bytes(), url, response.get("headers", {}).get("content-type"), {})
        if assessment.service is None:
            continue
        host = host_of(url) or ""
        for record in server_records(host, assessment.service).records:
            yield {**record.server, "version": record.version or "2026.11.24"}


def _servers(site: Site) -> list[Server]:
    servers = [row["server"] for row in _pages(f"{site.url}/v0.1/servers?limit=2")]
    if not servers:
        raise Skipped("this registry lists no MCP server")
    return servers


def _pages(url: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        with urllib.request.urlopen(f"{url}&cursor={cursor}" if cursor else url, timeout=20) as response:
            page = json.load(response)
        rows += page["servers"]
        if not (cursor := page["metadata"].get("nextCursor", "")):
            return rows


def _posted(url: str, value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON that the server answers, also of a refusal."""
    request = urllib.request.Request(url, json.dumps(value).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            answer: dict[str, Any] = json.load(response)
    except urllib.error.HTTPError as error:
        answer = json.load(error)
    return answer
