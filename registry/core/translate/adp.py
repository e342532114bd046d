"""ADP 1.0: a manifest whose capabilities lead to details, of the host itself or served by this registry.

Kinds of authentication collapse as everywhere in ADP's words (views.py); but where nobody says how callers
authenticate, ADP has no word for that, and `none` would send them away with a false promise.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Final

from registry.core.assess import Assessment, assess_body
from registry.core.details import adp_detail
from registry.core.documents import Outcome, Via
from registry.core.formats import adp
from registry.core.manifest import NAME_CHARS
from registry.core.merge import Held, merge
from registry.core.services import Auth, Capability, Invocation, Service
from registry.core.translate.calls import OTHERWISE, address, woa_ids
from registry.core.translate.compare import access
from registry.core.translate.said import (
    capability_description,
    cut,
    names_of,
    said,
    service_name,
    snake_case,
    unique,
)
from registry.core.translate.task import Built, CannotSay, Place, Task
from registry.core.views import ADP_VERSION, adp_auth, adp_auth_type, adp_base_url, adp_pricing

SHORT: Final = 20  # section 7 says 10, the reference validator 20
LONG: Final = 200

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class _Entry:
    """A capability that can be told, and where its detail is; `detail` as this registry would serve it."""

    place: Place
    capability: Capability
    detail: dict[str, Any] | None
    url: str

    @property
    def call(self) -> Invocation:
        return self.capability.invocations[self.place.invocation]


def build(task: Task) -> Built:
    chosen = list(_chosen(task))
    auth = _auth(task.service, chosen)
    capabilities: list[dict[str, Any]] = []
    places: list[Place] = []
    details: dict[int, dict[str, Any]] = {}
    taken: set[str] = set()
    for one in chosen:
        if _types(access(task.service, one.call)) - {"none"} not in (set(), {auth["type"]}):
            task.drop(one.place.capability, "called with other credentials than the rest: ADP tells one kind for all")
            continue
        if one.detail is not None:
            details[len(places)] = one.detail
        name = unique(snake_case(one.capability.name), taken, "_")
        description = capability_description(task, one.place.capability, one.capability, name)
        capabilities.append({"name": name, "description": description, "detail_url": one.url})
        places.append(one.place)
    if not capabilities:
        raise task.nothing_left("an ADP capability leads to a detail with its HTTP call")
    document = {
        "spec_version": ADP_VERSION,
        "name": service_name(task),
        "description": _description(task),
        "base_url": _base_url(task),
        "auth": auth,
    }
    if task.service.pricing.model != "unknown":
        document["pricing"] = adp_pricing(task.service)
    return Built({**document, "capabilities": capabilities}, places, details)


def with_details(manifest: Service, built: Built, host: str) -> Service:
    """The manifest's service joined with the details that its capabilities lead to, as the merge of a visit does.

    Details are read as if the host served them: they speak of it, and are judged by what it may name.
    """
    url = f"https://{host}{adp.FORMAT.paths[0]}"
    judged = Assessment(Outcome.FOUND, "", adp.FORMAT.slug, adp.VERSION, (), manifest)
    held = [Held(url, url, judged, b"manifest", _EPOCH)]
    for entry, detail in built.details.items():
        via = Via(url, f"/capabilities/{entry}/detail_url", "detail_url", adp.DETAIL)
        at = f"{url}/{entry}"
        found = assess_body(json.dumps(detail).encode(), at, "application/json", via=via)
        held.append(Held(at, at, found, str(entry).encode(), _EPOCH, via))
    merged = merge(host, held).service
    if merged is None:
        raise CannotSay("the manifest would not make its host a service")
    return replace(merged, base_url=manifest.base_url)


def _chosen(task: Task) -> Iterator[_Entry]:
    """The capabilities that have a detail, and of which it is known what a caller has to bring."""
    for index, capability in task.capabilities():
        entry = _entry(task, index, capability)
        if isinstance(entry, str):
            task.drop(index, entry)
            continue
        auth = access(task.service, entry.call)
        if auth.schemes or auth.required is not None:
            yield entry
        else:
            task.drop(index, "nobody says how callers authenticate, and ADP must say it")


def _entry(task: Task, index: int, capability: Capability) -> _Entry | str:
    """The host's own detail where it has one, else the one served here; or why there is none."""
    detail = adp_detail(task.host, task.service, capability)
    place = _place(task, index, capability, detail)
    if place is None:
        return "named without saying how it is called"
    call = capability.invocations[place.invocation]
    if capability.detail_url and address(capability.detail_url, task.host):
        return _Entry(place, capability, detail, capability.detail_url)
    if detail is None:
        return "no document of the host names its HTTP call in full"
    if call.kind not in ("http", "mcp_tool") and woa_ids(capability, call) is None:
        return OTHERWISE[call.kind]  # a detail cannot tell the request that the protocol wants
    if task.detail_url is None:
        return "it has no detail of its own, and no registry serves one for a file"
    return _Entry(place, capability, detail, task.detail_url(capability.name))


def _auth(service: Service, chosen: list[_Entry]) -> dict[str, Any]:
    """As views.py collapses it, from the calls that the details describe."""
    described = tuple(replace(one.capability, invocations=(one.call,)) for one in chosen)
    return adp_auth(replace(service, capabilities=described))


def _types(auth: Auth) -> set[str]:
    """ADP's words for the schemes that a call may take; nothing to bring where none is required."""
    if auth.required is False:
        return set()
    return {adp_auth_type(Service(auth=Auth((one,)))) for one in auth.schemes}


def _place(task: Task, index: int, capability: Capability, detail: dict[str, Any] | None) -> Place | None:
    """The invocation that the detail describes; the pointer to it where it is not read yet."""
    if detail is not None:
        url = adp.endpoint(adp_base_url(task.host, task.service), detail["endpoint"])
        for number, call in enumerate(capability.invocations):
            if call.endpoint in (url, detail["endpoint"]) and call.kind != "pointer":
                return Place(index, number)
    return Place(index, 0) if capability.invocations else None


def _description(task: Task) -> str:
    """10 to 200 characters (section 7), from what is there: cut at a word, or with names in front and behind."""
    service, host = task.service, task.host
    text = said(service.description)
    if text is None:
        why = "ADP demands one and none that can be shown is known: a list of names stands in"
        task.stand_in("/description", "description", why, known=bool(service.description))
        return cut(f"Capabilities of {names_of(service, host)}", LONG)
    if len(text) >= SHORT:
        return cut(text, LONG)
    named = f"{said(service.name, NAME_CHARS) or host}: {text}"
    return cut(named if len(named) >= SHORT else f"{named} ({names_of(service, host)})", LONG)


def _base_url(task: Task) -> str:
    base = adp_base_url(task.host, task.service)
    usable = "{" not in base and (address(base, task.host) or "").startswith("https:")
    return base if usable else f"https://{task.host}"
