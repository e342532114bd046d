"""Whether and where a capability can be called: the facts for which a row of search results has room.

Made when a service is recorded, from the call itself, so that rows, filters and the capability's record agree.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple, TypeVar

from registry.core.calling.call import calls_made
from registry.core.formats.adp.detail_view import NoDetail, why_no_detail
from registry.core.merging.details import RELATION, detail_reference
from registry.core.model.documents import Outcome, Via
from registry.core.model.listing import Callability, Listing
from registry.core.model.services import Capability, Service

ADDRESS_CHARS: Final = 2_000
"""Longer addresses are only in the capability's record."""

WHY_NOT_CALLABLE: Final[Mapping[NoDetail, str]] = {
    "detail_not_fetched": "The site's document for this capability has not been read yet; a later visit requests it.",
    "detail_missing_at_site": "The site has no document for this capability at the address that its manifest names.",
    "detail_not_readable": "The site's document for this capability could not be read at the last visit.",
    "detail_elsewhere": "The document for this capability is on another site, which is not visited for it; "
    "`detail_url` names it.",
    "no_endpoint": "No document of the site names an endpoint for this capability.",
    "not_http": "This capability is not called over HTTPS.",
    "no_method": "No document of the site names the HTTP method of this capability.",
    "unknown_request": "The site names an address for this capability, but no document says what to send there.",
}

HOW_TO_MAKE_CALLABLE: Final[Mapping[NoDetail, str]] = {
    "detail_not_fetched": "Nothing has to be done. To have the document read now, ask for a visit.",
    "detail_missing_at_site": "Serve the document at that address, or correct the address in the manifest.",
    "detail_not_readable": "Answer that address with status 200 and a valid document, and let robots.txt allow it.",
    "detail_elsewhere": "Serve the document on the site of the manifest.",
    "no_endpoint": "Name the address and the HTTP method of the capability, or link an OpenAPI document that does.",
    "not_http": "Offer the capability at an https address.",
    "no_method": "Name the HTTP method beside the address.",
    "unknown_request": "Describe the request, for example in an OpenAPI document or as a tool of an MCP server.",
}
"""Reason -> what the operator of the site can do about it."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reach:
    """How a capability is called: `kind`, `method` and `address` of its call, as far as the call has them. `reason`:
    why there is no call; None if there is one."""

    kind: str | None = None
    method: str | None = None
    address: str | None = None
    reason: NoDetail | None = None

    @property
    def callability(self) -> Callability:
        """Return `unknown` only where a later visit may still bring the call."""
        if self.reason is None:
            return "true"
        return "unknown" if self.reason == "detail_not_fetched" else "false"

    def to_json(self) -> dict[str, Any]:
        """Return the members that have a value; `callable` has the value of the filter."""
        members = {"kind": self.kind, "method": self.method, "address": self.address, "reason": self.reason}
        return {"callable": self.callability} | {name: value for name, value in members.items() if value is not None}


def reach_of(
    host: str, capability: Capability, call: Mapping[str, Any] | None, answered: Outcome | None = None
) -> Reach:
    """Return the reach of a capability of this host. `call`: what `call_of` returned. `answered`: how the last request
    for its detail ended, None without one."""
    if call is None:
        return Reach(reason=why_no_detail(host, capability, answered))
    request = call.get("request", {})
    address = request.get("url", call.get("open"))
    short = address if address is None or len(address) <= ADDRESS_CHARS else None
    return Reach(call["kind"], request.get("method"), short)


class RecordedCall(NamedTuple):
    """What is stored of a capability's call, JSON-ready: the arguments of its example, None without one; its reach."""

    example: dict[str, Any] | None
    reach: dict[str, Any]


def recorded_calls(
    host: str, service: Service, answered: Callable[[Capability], Outcome | None]
) -> Iterator[RecordedCall]:
    """Yield the call of each capability, made within the budget of the service. `answered`: see `detail_answers`."""
    for capability, (example, call) in zip(service.capabilities, calls_made(service), strict=True):
        shown = None if example is None else example.to_json()
        yield RecordedCall(shown, reach_of(host, capability, call, answered(capability)).to_json())


def with_reach(listing: Listing, reach: Mapping[str, Mapping[str, Any]]) -> Listing:
    """Return the listing with what search knows of the reach of its capabilities. `reach`: by name, as JSON."""
    capabilities = tuple(
        replace(one, callability=reach[one.name]["callable"]) if one.name in reach else one
        for one in listing.capabilities
    )
    return replace(listing, capabilities=capabilities)


def detail_answers(asked: Iterable[tuple[Via | None, str, T]]) -> Callable[[Capability], T | None]:
    """Return a function that returns the answer to the request for a capability's detail; None if the detail was not
    requested or was joined. `asked`: place that names the document, URL and answer of the host's documents. Mirrors do
    not know the place. Where two capabilities name one URL, only the place of one is kept."""
    by_place: dict[Via, T] = {}
    by_url: dict[str, T] = {}
    for via, url, answer in asked:
        by_url.setdefault(url, answer)
        if via is not None and via.rel == RELATION:
            by_place.setdefault(via, answer)

    def answer_of(capability: Capability) -> T | None:
        if capability.detail_url is None or capability.detail is not None:
            return None
        place = detail_reference(capability)
        by_reference = None if place is None else by_place.get(place)
        return by_url.get(capability.detail_url) if by_reference is None else by_reference

    return answer_of
