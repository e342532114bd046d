"""Read a written document as a client of its format does, so that its losses are those that a client sees."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support.writing.task import MAX_REASONS, CannotWrite, Task, Written
from registry.core.formats import FORMAT_BY_SLUG, adp
from registry.core.merging.merge import Held, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Severity
from registry.core.model.services import Service
from registry.core.reading.reader import MAX_BYTES

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_back(task: Task, target: str, document: dict[str, Any], written: Written) -> Service:
    """Return the service as a client of the format `target` reads it from the document.

    Raise CannotWrite if the validator of this registry finds an error in it.
    """
    form = FORMAT_BY_SLUG[target]
    raw = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(raw) > MAX_BYTES:
        raise CannotWrite(f"the document would be larger than readers take ({len(raw):,} of {MAX_BYTES:,} bytes)")
    assessment = assess_body(raw, f"https://{task.host}{form.paths[0]}", form.media_types[0], expected=target)
    errors = _errors(assessment, target)
    if errors or assessment.service is None:
        raise CannotWrite(*errors)
    service = assessment.service
    if written.details:
        service = _with_details(service, written, task.host)
    if len(service.capabilities) != len(written.sources):
        raise CannotWrite(f"{task.title} would not be read back as it was written")
    return service


def _errors(assessment: Assessment, target: str) -> list[str]:
    if assessment.outcome is not Outcome.FOUND or assessment.format != target:
        return [
            f"the document would not be recognised ({assessment.reason or assessment.format or assessment.outcome})"
        ]
    errors = [finding for finding in assessment.findings if finding.rule.severity is Severity.ERROR]
    return [f"the document would not be valid at {finding.pointer or '/'}: {finding.rule.says}" for finding in errors][
        :MAX_REASONS
    ]


def _with_details(manifest: Service, written: Written, host: str) -> Service:
    """Return the service of an ADP manifest merged with the details that its capabilities link to.

    The merge is that of a visit. Details are read as if the host served them, because they describe the host.
    """
    url = f"https://{host}{adp.FORMAT.paths[0]}"
    assessment = Assessment(Outcome.FOUND, "", adp.FORMAT.slug, adp.VERSION, (), manifest)
    documents = [Held(url, url, assessment, b"manifest", _EPOCH)]
    for entry, detail in written.details.items():
        via = Via(url, f"/capabilities/{entry}/detail_url", "detail_url", adp.DETAIL)
        detail_url = f"{url}/{entry}"
        detail_assessment = assess_body(json.dumps(detail).encode(), detail_url, "application/json", via=via)
        documents.append(Held(detail_url, detail_url, detail_assessment, str(entry).encode(), _EPOCH, via))
    merged = merge(host, documents).service
    if merged is None:
        raise CannotWrite("the manifest would not make its host a service")
    return replace(merged, base_url=manifest.base_url)
