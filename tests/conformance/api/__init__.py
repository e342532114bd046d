"""The OpenAPI document of the API, as strangers read it."""

import json
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from tests.conformance.check import Check, Site, output_of
from tests.conformance.tools import Tools

VALIDATOR: Final = "openapi-spec-validator==0.9.0"
REDOCLY: Final = {"@redocly/cli": "2.38.0"}
TYPESCRIPT: Final = {"openapi-typescript": "7.13.0", "typescript": "5.9.3"}


def checks() -> Sequence[Check]:
    return (
        Check("api", "OpenAPI 3.1, its schema", VALIDATOR.replace("==", " "), _validated),
        Check("api", "OpenAPI 3.1, recommended rules", "@redocly/cli " + REDOCLY["@redocly/cli"], _linted),
        Check("api", "types of a TypeScript client", "openapi-typescript " + TYPESCRIPT["openapi-typescript"], _typed),
    )


def _validated(site: Site, tools: Tools) -> str:
    document = _document(site)
    output_of([tools.python(VALIDATOR), "-m", "openapi_spec_validator", document])
    return f"{len(json.loads(document.read_text())['paths'])} paths are valid"


def _linted(site: Site, tools: Tools) -> str:
    """Lint with Redocly's recommended rules, but two: the document names no licence URL and no server of its own,
    because every operator has another address."""
    modules = tools.npm(REDOCLY)
    command = [
        tools.node / "node", modules / "@redocly/cli/bin/cli.js", "lint", "--format=summary",
        "--skip-rule=info-license", "--skip-rule=no-empty-servers", "--skip-rule=info-license-strict", _document(site),
    ]  # fmt: skip
    output_of(command, environment={**tools.node_environment, "REDOCLY_TELEMETRY": "off"})
    return "no errors"


def _typed(site: Site, tools: Tools) -> str:
    modules = tools.npm(TYPESCRIPT)
    types = site.folder / "api.d.ts"
    output_of(
        [tools.node / "node", modules / "openapi-typescript/bin/cli.js", _document(site), "-o", types],
        environment=tools.node_environment,
    )
    output_of([tools.node / "node", modules / "typescript/bin/tsc", "--noEmit", "--strict", types])
    return f"{len(types.read_text().splitlines())} lines of types compile"


def _document(site: Site) -> Path:
    path = site.folder / "openapi.json"
    with urllib.request.urlopen(f"{site.url}/openapi.json", timeout=20) as response:
        path.write_bytes(response.read())
    return path
