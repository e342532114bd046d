"""Write an ADP 1.0 manifest. Its capabilities link to the host's own details or to details that this registry serves.

Kinds of authentication are reduced to ADP's three (manifest_view.py). A capability whose authentication is unknown is
left out: ADP cannot express that, and `none` would be a false statement.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final

from registry.core.format_support.manifest import NAME_CHARS
from registry.core.format_support.writing import task as writing
from registry.core.format_support.writing.calls import (
    NOT_PLAIN_HTTP,
    agent_and_operation,
    auth_of_call,
    callable_address,
)
from registry.core.formats import adp
from registry.core.formats.adp.detail_view import adp_detail
from registry.core.formats.adp.manifest_view import ADP_VERSION, adp_auth, adp_auth_type, adp_base_url, adp_pricing
from registry.core.formats.adp.read import SLUG
from registry.core.model.services import Auth, Capability, Invocation, Service

SHORT: Final = 20  # section 7 requires 10 characters, the reference validator 20
LONG: Final = 200


@dataclass(frozen=True, slots=True)
class _Entry:
    """A capability that can be written, and the URL of its detail. `detail` is what this registry would serve."""

    source: writing.EntrySource
    capability: Capability
    detail: dict[str, Any] | None
    url: str

    @property
    def call(self) -> Invocation:
        return self.capability.invocations[self.source.invocation]


def write(task: writing.Task) -> writing.WrittenDocument:
    entries = [entry for _, _, entry in task.entries(partial(_write_entry, task))]
    # from the calls that the details describe
    described = tuple(replace(entry.capability, invocations=(entry.call,)) for entry in entries)
    auth = adp_auth(replace(task.service, capabilities=described))
    capabilities: list[dict[str, Any]] = []
    sources: list[writing.EntrySource] = []
    details: dict[int, dict[str, Any]] = {}
    used_names: set[str] = set()
    for entry in entries:
        index, call_auth = entry.source.capability, auth_of_call(task.service, entry.call)
        schemes = () if call_auth.required is False else call_auth.schemes
        kinds = {adp_auth_type(Service(auth=Auth((scheme,)))) for scheme in schemes}
        if kinds - {"none"} not in (set(), {auth["type"]}):
            task.leave_out(index, "needs other credentials than the manifest's: ADP declares one kind for all")
            continue
        if entry.detail is not None:
            details[len(sources)] = entry.detail
        name = writing.unique(writing.snake_case(entry.capability.name), used_names, "_")
        description = writing.capability_description(task, index, entry.capability, name)
        members = {"name": name, "description": description, "detail_url": entry.url}
        capabilities.append(writing.with_native(SLUG, entry.capability, members))
        sources.append(entry.source)
    if not capabilities:
        raise task.nothing_written("an ADP capability needs a detail with its HTTP call")
    document = {
        "spec_version": ADP_VERSION,
        "name": writing.service_name(task),
        "description": _write_description(task),
        "base_url": _write_base_url(task),
        "auth": auth,
    }
    if task.service.pricing.model != "unknown":
        document["pricing"] = adp_pricing(task.service)
    document = writing.with_native(SLUG, task.service, {**document, "capabilities": capabilities})
    return writing.WrittenDocument(document, sources, details)


def _write_entry(task: writing.Task, index: int, capability: Capability) -> _Entry | str:
    """Return the entry with the host's own detail, else with this registry's, or the reason why it is left out."""
    detail = adp_detail(task.host, task.service, capability)
    source = _write_source(task, index, capability, detail)
    if source is None:
        return "no document describes how to call it"
    call = capability.invocations[source.invocation]
    if capability.detail_url and callable_address(capability.detail_url, task.host):
        url = capability.detail_url
    elif detail is None:
        return "no document of the host names its HTTP call in full"
    elif call.kind not in ("http", "mcp_tool") and agent_and_operation(capability, call) is None:
        return NOT_PLAIN_HTTP[call.kind]  # a detail cannot express the request that the protocol needs
    elif task.detail_url is None:
        return "the host has no detail for it, and a file cannot serve one"
    else:
        url = task.detail_url(capability.name)
    auth = auth_of_call(task.service, call)
    if not auth.schemes and auth.required is None:
        return "no document states how callers authenticate, and ADP requires that"
    return _Entry(source, capability, detail, url)


def _write_source(
    task: writing.Task, index: int, capability: Capability, detail: dict[str, Any] | None
) -> writing.EntrySource | None:
    """Return the source that the detail describes; the first invocation where the detail has not been read yet."""
    if detail is not None:
        url = adp.endpoint(adp_base_url(task.host, task.service), detail["endpoint"])
        for invocation_index, call in enumerate(capability.invocations):
            if call.endpoint in (url, detail["endpoint"]) and call.kind != "pointer":
                return writing.EntrySource(index, invocation_index)
    return writing.EntrySource(index, 0) if capability.invocations else None


def _write_description(task: writing.Task) -> str:
    """Return 10 to 200 characters (section 7): the description, cut at a word or extended with names."""
    service, host = task.service, task.host
    text = writing.clean_text(service.description)
    if text is None:
        reason = "ADP requires one and no usable one is known: a list of names is used"
        task.substitute("/description", "description", reason, has_value=bool(service.description))
        return writing.cut(f"Capabilities of {writing.names_of(service, host)}", LONG)
    if len(text) >= SHORT:
        return writing.cut(text, LONG)
    text = f"{writing.clean_text(service.name, NAME_CHARS) or host}: {text}"
    return writing.cut(text if len(text) >= SHORT else f"{text} ({writing.names_of(service, host)})", LONG)


def _write_base_url(task: writing.Task) -> str:
    base_url = adp_base_url(task.host, task.service)
    is_usable = "{" not in base_url and (callable_address(base_url, task.host) or "").startswith("https:")
    return base_url if is_usable else f"https://{task.host}"


WRITER: Final = writing.Writer("ADP", write)
