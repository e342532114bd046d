"""The MCP server, as the official conformance tool, the Inspector and three official clients see it."""

import json
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tests.conformance.check import Check, Failed, Site, output_of
from tests.conformance.tools import Tools
from tests.support.shared import ROOT

CONFORMANCE: Final = {"@modelcontextprotocol/conformance": "0.2.0-alpha.12"}
INSPECTOR: Final = {"@modelcontextprotocol/inspector": "2.12.0"}
TYPESCRIPT: Final = {"@modelcontextprotocol/client": "2.3.1"}
GO: Final = "github.com/modelcontextprotocol/go-sdk 1.8.0"
PYTHON: Final = "mcp 2.3.0"

MODERN, LEGACY = "2026-07-28", "2025-11-25"
HERE: Final = Path(__file__).parent

SCENARIOS: Final[Mapping[str, Sequence[str]]] = {
    MODERN: (
        "server-stateless", "tools-list", "resources-list", "prompts-list", "sep-2164-resource-not-found",
        "dns-rebinding-protection", "caching", "http-header-validation", "server-sse-multiple-streams",
        "input-required-result-unsupported-methods",
    ),
    LEGACY: (
        "server-initialize", "ping", "tools-list", "resources-list", "prompts-list", "dns-rebinding-protection",
    ),
}  # fmt: skip
"""Those that need no fixture tool of the "everything" server. Without sessions and streams the rest has no object."""

DECLARED: Final = frozenset({
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2164-data-uri",
})  # fmt: skip
"""Checks that expected-failures.yml explains; any other one that does not pass is a fault."""

_LINE: Final = re.compile(r"\[(?P<check>[\w.-]+)\s*\] (?P<state>FAILURE|WARNING|SUCCESS)")
_COLOUR: Final = re.compile(r"\x1b\[\d*m")


def checks() -> Sequence[Check]:
    tool = _named(CONFORMANCE)
    inspector, typescript = _named(INSPECTOR), _named(TYPESCRIPT)
    return (
        *(Check("mcp", f"scenarios of {version}", tool, _scenarios(version)) for version in SCENARIOS),
        *(
            Check("mcp", f"tools, {where}, {era} era, strict", inspector, _inspected(where, era))
            for where in ("HTTP", "stdio") for era in ("modern", "legacy")
        ),
        *(
            Check("mcp", f"client for TypeScript, {era}", typescript, _typescript(era, version))
            for era, version in (("auto", MODERN), ("legacy", LEGACY))
        ),
        Check("mcp", "client for Go", GO, _go),
        *(
            Check("mcp", f"client for Python, {mode}", PYTHON, _python(mode, version))
            for mode, version in (("auto", MODERN), ("legacy", LEGACY))
        ),
    )  # fmt: skip


def _named(package: Mapping[str, str]) -> str:
    ((name, version),) = package.items()
    return f"{name} {version}"


def _scenarios(version: str) -> Callable[[Site, Tools], str]:
    def run(site: Site, tools: Tools) -> str:
        program = tools.npm(CONFORMANCE) / "@modelcontextprotocol/conformance/dist/index.js"
        passed = 0
        for scenario in SCENARIOS[version]:
            said = output_of(
                [
                    tools.node / "node", program, "server", "--url", f"{site.url}/mcp", "--scenario", scenario,
                    "--spec-version", version, "--expected-failures", HERE / "expected-failures.yml",
                ],
                environment=tools.node_environment,
            )  # fmt: skip
            states = {found["check"]: found["state"] for found in _LINE.finditer(_COLOUR.sub("", said))}
            failed = {check for check, state in states.items() if state != "SUCCESS"}
            if not states or failed - DECLARED:
                raise Failed(f"{scenario}: {sorted(failed)}\n{said[-4_000:]}")
            passed += sum(state == "SUCCESS" for state in states.values())
        return f"{len(SCENARIOS[version])} scenarios, {passed} checks passed"

    return run


def _inspected(where: str, era: str) -> Callable[[Site, Tools], str]:
    def run(site: Site, tools: Tools) -> str:
        inspector = tools.npm(INSPECTOR) / ".bin/mcp-inspector"
        stdio = [sys.executable, "-m", "registry.cli", "mcp", "--url", site.url]
        target = [f"{site.url}/mcp", "--transport", "http"] if where == "HTTP" else stdio
        options = ["--protocol-era", era, "--method"]

        def ask(*arguments: str) -> Any:
            environment = {**site.environment, **tools.node_environment}
            command = [inspector, "--cli", *target, *options, *arguments]
            return _last_json(output_of(command, environment=environment, folder=ROOT))

        tools_found = ask("tools/list", "--strict")["tools"]
        found = ask("tools/call", "--tool-name", "discover_services", "--tool-arg", "q=send an email")
        ask("prompts/list")
        ask("resources/read", "--uri", "waypost://registry")
        return f"{len(tools_found)} tools; first answer {found['structuredContent']['services'][0]['domain']}"

    return run


def _last_json(said: str) -> Any:
    """Return the JSON that the Inspector printed; notes may stand before and after it."""
    content, _ = json.JSONDecoder().raw_decode(said[said.index("{") :])
    return content.get("result", content)


def _typescript(era: str, version: str) -> Callable[[Site, Tools], str]:
    def run(site: Site, tools: Tools) -> str:
        program = tools.npm(TYPESCRIPT).parent / "client.mjs"
        program.write_text((HERE / "typescript" / "client.mjs").read_text())
        said = output_of(
            [tools.node / "node", program, f"{site.url}/mcp", era], environment=tools.node_environment
        )  # fmt: skip
        return _as_expected(said, version)

    return run


def _go(site: Site, tools: Tools) -> str:
    return _as_expected(output_of([tools.go_build(HERE / "go"), f"{site.url}/mcp"]), None)


def _python(mode: str, version: str) -> Callable[[Site, Tools], str]:
    def run(site: Site, tools: Tools) -> str:
        python = tools.python(PYTHON.replace(" ", "=="))
        return _as_expected(output_of([python, HERE / "client.py", f"{site.url}/mcp", mode]), version)

    return run


def _as_expected(said: str, version: str | None) -> str:
    """Return a sentence about what a client printed. Raise Failed when it found something else than is there."""
    found = json.loads(said.strip().splitlines()[-1])
    if version not in (None, found["version"]):
        raise Failed(f"negotiated {found['version']}, not {version}")
    if found["tools"] != 7 or not found["error"] or not found["first"] or found["resource"] != found["first"]:
        raise Failed(said)
    return f"{found['version']}: {found['tools']} tools, first answer {found['first']}"
