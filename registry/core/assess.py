"""recognise -> validate -> normalise: one fetched answer, as one pure function."""

from dataclasses import dataclass

from registry.core.documents import Outcome
from registry.core.findings import Finding
from registry.core.services import Pointer, Service


@dataclass(frozen=True, slots=True)
class Assessment:
    """What the core thinks of one answer.

    `reason` refines the outcome ("html", "foreign:ahp", "control_equal", "depth" ...). `format` and `dialect` are set
    for FOUND, and `format` for NEGATIVE where the file says which protocol is absent. `service` is None unless FOUND.
    """

    outcome: Outcome
    reason: str = ""
    format: str | None = None
    dialect: str | None = None
    findings: tuple[Finding, ...] = ()
    service: Service | None = None
    pointers: tuple[Pointer, ...] = ()
