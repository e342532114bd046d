"""Write checks as one SARIF log, as `registry.core.scoring.sarif` makes it, with the places of files and documents."""

import os
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from urllib.parse import quote

from registry.cli.check_result import CheckResult, Unread, encodable
from registry.cli.clean import json_text
from registry.core.scoring import sarif
from registry.core.scoring.report import ReportedFinding


def sarif_log(checked: Sequence[CheckResult | Unread], *, public_url: str | None = None) -> str:
    """Return one log with one run for all targets, as ASCII JSON. `public_url`: an API that serves the rubric."""
    results = [
        sarif.SarifResult(
            finding,
            _artifact(result, finding),
            result.without_placeholder(finding.finding.evidence),
            is_file=result.is_file,
        )
        for result in checked
        if isinstance(result, CheckResult)
        for finding in result.report.everything
    ]
    unread = [f"{encodable(target.target)}: {target.message}" for target in checked if isinstance(target, Unread)]
    return json_text(sarif.sarif_log(results, version("waypost"), unread=unread, public_url=public_url))


def _artifact(checked: CheckResult, reported: ReportedFinding) -> dict[str, str]:
    """Return the location: a file's path relative to the current folder, or absolute outside it; a document's URL."""
    if not checked.is_file:
        return {"uri": reported.document or checked.documents[0].url}
    if checked.target == "-":
        return {"uri": "stdin", "uriBaseId": sarif.BASE}
    path = Path(os.path.normpath(Path.cwd() / checked.target))
    if path.is_relative_to(Path.cwd()):
        return {"uri": quote(os.fsencode(path.relative_to(Path.cwd()))), "uriBaseId": sarif.BASE}
    return {"uri": "file://" + quote(os.fsencode(path))}
