"""Which invocation of a capability a format of plain HTTP calls can be written from, and why there is none.

Nothing is guessed: a call needs the address and the method that a document of the host names. The one addition is the
envelope of the Web of Agents, whose draft fixes the request (draft-00 section 5.1): its members are parameters.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.endpoints import callable_url
from registry.core.manifest import TEXT_CHARS, unrendered_url
from registry.core.plain_text import line
from registry.core.services import Capability, Invocation, InvocationKind
from registry.core.translate.task import Place

WOA: Final = "woa"

OTHERWISE: Final[Mapping[InvocationKind, str]] = {
    "mcp_tool": "called through MCP, not by plain HTTP",
    "a2a_skill": "called through A2A, not by plain HTTP",
    "rpc": "called through a protocol of its own, not by plain HTTP",
    "instructions": "instructions to read, nothing to call",
    "navigation": "a page or a number for people",
    "pointer": "its call stands in a document that has not been read",
}


@dataclass(frozen=True, slots=True)
class HttpCall:
    """`params`: JSON Schema of what is sent, None where nobody says."""

    place: Place
    call: Invocation
    url: str
    method: str
    params: Mapping[str, Any] | None


def address(url: str | None, host: str) -> str | None:
    """The https or wss URL as every reader will read it, None for what none of them would call."""
    if url is None or "#" in url or unrendered_url(url):
        return None
    found = callable_url(url, url, f"https://{host}/")
    again = callable_url(found.url, found.url, f"https://{host}/") if found else None
    return found.url if found and again == found else None


def http_call(
    index: int, capability: Capability, host: str, methods: Collection[str], *, pages: bool = False
) -> HttpCall | str:
    """The call to describe: plain HTTP before an envelope, the host's own site before another; or why there is none.

    `pages`: a page to open counts as a GET (for formats that describe pages too).
    """
    found = [
        one
        for number, call in enumerate(capability.invocations)
        if (one := _described(Place(index, number), capability, call, host, pages)) and one.method in methods
    ]
    if found:
        return min(found, key=lambda one: (one.call.kind != "http", one.call.off_site))
    return _why_none(capability, host, methods)


def woa_ids(capability: Capability, call: Invocation) -> tuple[str, str | None] | None:
    """Agent and operation of a call by the REST transport of the Web of Agents; None for any other call."""
    if call.kind != "rpc" or call.origin is None or call.origin.format != WOA or call.method != "POST":
        return None
    agent, dot, operation = capability.id.partition(".")
    return agent, operation if dot else None


def _described(place: Place, capability: Capability, call: Invocation, host: str, pages: bool) -> HttpCall | None:
    url = address(call.endpoint, host)
    if url is None or not url.startswith("https:"):
        return None
    if call.kind == "http" and call.method:
        return HttpCall(place, call, url, call.method, capability.params)
    if pages and call.kind == "navigation":
        return HttpCall(place, call, url, "GET", capability.params)
    ids = woa_ids(capability, call)
    if ids is None:
        return None
    inside = Place(place.capability, place.invocation, enveloped=True)
    return HttpCall(inside, call, url, "POST", _envelope(*ids, capability.params))


def _envelope(agent: str, operation: str | None, params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Web of Agents draft-00 section 5.1."""
    members: dict[str, Any] = {"agent": {"type": "string", "enum": [agent]}}
    if operation is not None:
        members["operation"] = {"type": "string", "enum": [operation]}
    members["input"] = {"type": "object", "description": _members(params)}
    return {"type": "object", "properties": members, "required": list(members)}


def _members(params: Mapping[str, Any] | None) -> str:
    """The members of `input` in words: these formats describe parameters one level deep."""
    properties = (params or {}).get("properties")
    if not isinstance(properties, Mapping) or not properties:
        return "The input of the agent."
    required = (params or {}).get("required")
    needed = required if isinstance(required, list | tuple) else ()
    told = []
    for name, rules in properties.items():
        kind = rules.get("type") if isinstance(rules, Mapping) else None
        marks = [kind] if isinstance(kind, str) else []
        marks += ["required"] if name in needed else []
        told.append(f"{name} ({', '.join(marks)})" if marks else str(name))
    return line(f"The input of the agent, with {', '.join(told)}.", TEXT_CHARS)


def _why_none(capability: Capability, host: str, methods: Collection[str]) -> str:
    calls = [call for call in capability.invocations if call.kind == "http"]
    if not calls:
        kinds = [call.kind for call in capability.invocations]
        return OTHERWISE[kinds[0]] if kinds else "named without saying how it is called"
    addressed = [call for call in calls if call.endpoint]
    if not addressed:
        return "no endpoint is known"
    usable = [call for call in addressed if (address(call.endpoint, host) or "").startswith("https:")]
    if not usable:
        return "no endpoint of it is public https"
    if any(call.method for call in usable):
        return f"called by another method than {', '.join(sorted(methods))}"
    return "no method is known"
