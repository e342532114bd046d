"""What readers of the feed get of a stored event: known members only, always with a state, texts of sites marked."""

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from registry.core.access.claims import OwnershipState
from registry.core.changes.kinds import Kind
from registry.core.changes.states import State

_OF_SERVICE: Final = (
    "state", "name", "score", "trust_level", "formats", "injection_flags", "cause", "fingerprint", "changed",
    "capabilities", "difference", "truncated", "redacted",
)  # fmt: skip
_MEMBERS: Final[Mapping[Kind, tuple[str, ...]]] = MappingProxyType(
    {
        "service.listed": _OF_SERVICE,
        "service.changed": _OF_SERVICE,
        "service.delisted": ("state", "reason", "outcome"),
        "service.hidden": ("state",),
        "host.opted_out": ("state", "how"),
        "host.blocked": ("state", "how"),
        "host.forgotten": ("state", "reason", "stays_out"),
        "host.readmitted": ("state", "how"),
        "ownership.proven": ("state", "method", "scope"),
        "ownership.changed": ("state", "changed"),
        "ownership.ended": ("state", "scope", "reason"),
    }
)
# For events of earlier versions, which have none.
_STATES: Final[Mapping[Kind, State | OwnershipState]] = MappingProxyType(
    {
        "service.listed": "fresh",
        "service.changed": "fresh",
        "service.delisted": "gone",
        "service.hidden": "opted_out",
        "host.opted_out": "opted_out",
        "host.blocked": "blocked",
        "host.forgotten": "gone",
        "host.readmitted": "never_validated",
        "ownership.proven": "proven",
        "ownership.changed": "proven",
        "ownership.ended": "ended",
    }
)
# guard: untrusted-feed
_UNTRUSTED: Final = ("name", "capabilities", "difference")
"""Where a payload has texts of sites."""

_CODE: Final = re.compile(r"[a-z0-9][a-z0-9_.:-]{0,63}")


def payload_of(kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the payload of an event. `data` as stored: what an operator noted there is not for readers."""
    members = next((members for known, members in _MEMBERS.items() if known == kind), ("state",))
    payload = {name: data[name] for name in members if name in data}
    if "reason" in payload and not _CODE.fullmatch(str(payload["reason"])):
        del payload["reason"]  # earlier versions stored a sentence of the operator here
    payload.setdefault("state", next((state for known, state in _STATES.items() if known == kind), "never_validated"))
    if untrusted := [name for name in _UNTRUSTED if name in payload]:
        payload["untrusted_text"] = untrusted
    return payload
