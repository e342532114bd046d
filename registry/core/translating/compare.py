"""Find the parts of a service that a written document does not express, by reading it as a client would.

`original` is the service; `received` is what the format's own reader returns for the written document. Every known
part of the original that is not received unchanged is one Loss. The registry's own facts (provenance, origins,
pointers, claims, off-site calls) are not compared.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support.writing.calls import auth_of_call
from registry.core.format_support.writing.task import MAX_REASONS, CannotWrite, EntrySource, Task, WrittenDocument
from registry.core.formats import FORMAT_BY_SLUG, adp
from registry.core.merging.merge import HeldDocument, merge
from registry.core.model.documents import Outcome, Via
from registry.core.model.findings import Severity
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Protocol, Service
from registry.core.reading.json_pointer import at
from registry.core.reading.reader import MAX_BYTES

MAX_PARAMETER_LOSSES: Final = 100  # of one capability, one by one

NATIVE: Final = "members of its format"
IN_ENVELOPE: Final = "they are members of `input` in the envelope of the Web of Agents (draft-00 section 5.1)"

_SERVICE: Final = (
    "name", "description", "provider/name", "provider/url", "provider/contact", "provider/contacts", "version",
    "base_url", "homepage", "docs_url", "icon_url", "repository", "license", "packages", "native", "languages", "tags",
    "examples", "groups", "pricing/model", "pricing/plans", "pricing/url", "pricing/note", "pricing/payments",
    "policies/training", "policies/inference", "policies/caching", "policies/attribution", "policies/terms_url",
    "policies/privacy_url", "policies/rate_limit", "policies/hints", "identity/dids", "identity/keys",
    "identity/signatures", "relations/dependencies", "relations/errors", "relations/operational", "relations/degraded",
    "relations/status_url",
)  # fmt: skip
_CAPABILITY: Final = (
    "id", "name", "description", "title", "result", "result_note", "side_effects", "confirmation", "idempotent",
    "idempotency_key", "reversible", "sensitivity", "polling_url", "errors", "pricing/model", "pricing/plans",
    "pricing/url", "pricing/note", "pricing/payments", "native", "deprecated", "tags", "examples", "input_modes",
    "output_modes", "docs_url",
)  # fmt: skip
_CALL: Final = (
    "kind", "endpoint", "method", "name", "scopes", "rate_limit", "places", "names", "media_type", "headers",
)  # fmt: skip
_LABELS: Final = {
    "provider/name": "provider's name",
    "provider/url": "provider's URL",
    "provider/contacts": "further contacts",
    "base_url": "base URL",
    "homepage": "home page",
    "docs_url": "documentation URL",
    "icon_url": "icon",
    "license": "licence",
    "native": NATIVE,
    "groups": "groups of capabilities",
    "pricing/model": "pricing model",
    "pricing/url": "pricing URL",
    "pricing/note": "note on pricing",
    "policies/training": "policy on training",
    "policies/inference": "policy on inference",
    "policies/caching": "policy on caching",
    "policies/attribution": "policy on attribution",
    "policies/terms_url": "terms",
    "policies/privacy_url": "privacy policy",
    "identity/dids": "DIDs",
    "relations/dependencies": "order of calls",
    "relations/errors": "recovery from errors",
    "relations/operational": "status",
    "relations/degraded": "degraded capabilities",
    "relations/status_url": "status URL",
    "result_note": "result in words",
    "idempotent": "idempotence",
    "reversible": "reversibility",
    "polling_url": "polling URL",
    "deprecated": "deprecation",
    "call/kind": "protocol",
    "call/name": "operation",
    "call/places": "places of parameters",
    "call/names": "names of parameters in the request",
}
"""What people call a part, where it is not the last word of its path."""

_UNKNOWN: Final[tuple[Any, ...]] = (None, "", (), {}, "unknown")


def compare(task: Task, written: WrittenDocument, received: Service) -> None:
    """Note every difference between the written and the received service; entries are in the order of `sources`."""
    original = task.service
    for path in _SERVICE:
        _compare_part(task, f"/{path}", _label(path), _value_at(original, path), _value_at(received, path))
    calls = (call for capability in received.capabilities for call in capability.invocations)
    of_calls = dict.fromkeys(scheme for call in calls if call.auth is not None for scheme in call.auth.schemes)
    _compare_schemes(task, "/auth/schemes", original.auth.schemes, [*received.auth.schemes, *of_calls])
    required = original.auth.required
    if required is not None and not written.sources:
        _compare_part(task, "/auth/required", "whether credentials are required", required, received.auth.required)
    for number, protocol in enumerate(original.protocols):
        if not any(not _find_missing(protocol, candidate, (None,)) for candidate in received.protocols):
            _note_loss(task, at("/protocols", number), f"protocol {protocol.id}", inexact=False)
    for number, workflow in enumerate(original.relations.workflows):
        if workflow not in received.relations.workflows:
            _note_loss(task, at("/relations/workflows", number), f"workflow {workflow.id}", inexact=False)
    for source, entry in zip(written.sources, received.capabilities, strict=True):
        _compare_capability(task, source, entry, received)


def same_auth(original: Auth, received: Auth) -> bool:
    """Return whether kinds of credentials, and whether they are required, are received unchanged. An original that does
    not state whether credentials are required loses nothing."""
    kinds, received_kinds = ({scheme.type for scheme in auth.schemes} - {"none"} for auth in (original, received))
    if original.required is False:
        return received.required is False or not received_kinds
    if kinds != received_kinds:
        return not kinds and original.required is None
    return original.required is None or original.required == received.required


def _compare_capability(task: Task, source: EntrySource, received: Capability, service: Service) -> None:
    pointer, original = f"/capabilities/{source.capability}", task.service.capabilities[source.capability]
    for path in _CAPABILITY:
        _compare_part(task, f"{pointer}/{path}", _label(path), _value_at(original, path), _value_at(received, path))
    if source.enveloped:
        task.note_loss(f"{pointer}/params", "parameters one by one", IN_ENVELOPE)
    else:
        _compare_params(task, f"{pointer}/params", original.params, received.params)
    reason = f"{task.title} describes one way to call a capability"
    for number, invocation in enumerate(original.invocations):
        if number != source.invocation:
            task.note_loss(f"{pointer}/invocations/{number}", f"another call ({invocation.kind})", reason)
    if original.invocations:
        call = received.invocations[0] if received.invocations else Invocation("pointer")
        place = f"{pointer}/invocations/{source.invocation}"
        _compare_call(task, place, original.invocations[source.invocation], call, service)


def _compare_call(task: Task, pointer: str, original: Invocation, received: Invocation, service: Service) -> None:
    for name in _CALL:
        label = _label(f"call/{name}")
        _compare_part(task, f"{pointer}/{name}", label, getattr(original, name), getattr(received, name))
    original_auth, received_auth = auth_of_call(task.service, original), auth_of_call(service, received)
    if not same_auth(original_auth, received_auth):
        _note_loss(task, f"{pointer}/auth", "authentication of this call", inexact=bool(received_auth.schemes))
    elif original.auth is not None:
        _compare_schemes(task, f"{pointer}/auth/schemes", original.auth.schemes, received_auth.schemes)


def _compare_params(
    task: Task, pointer: str, original: Mapping[str, Any] | None, received: Mapping[str, Any] | None
) -> None:
    if not original or original == received:
        return
    original_properties, received_properties = _properties(original), _properties(received)
    losses_before = len(task.losses)
    other_rules: dict[tuple[str, bool], list[str]] = {}
    for name, rules in original_properties.items():
        property_pointer = at(f"{pointer}/properties", name)
        if name not in received_properties:
            _note_loss(task, property_pointer, f"parameter {name}", inexact=False)
            continue
        if "type" in rules and rules["type"] != received_properties[name].get("type"):
            _note_loss(task, f"{property_pointer}/type", f"type of {name}", inexact="type" in received_properties[name])
        for key in rules:
            if key != "type" and rules[key] != received_properties[name].get(key):
                other_rules.setdefault((str(key), key in received_properties[name]), []).append(name)
    excess = len(task.losses) - losses_before - MAX_PARAMETER_LOSSES
    if excess > 0:
        reason = task.losses[-1].why
        del task.losses[losses_before + MAX_PARAMETER_LOSSES :]
        task.note_loss(pointer, f"{excess} more parameters or types", reason)
    original_required, received_required = _required(original) & original_properties.keys(), _required(received)
    if changed := sorted((original_required ^ received_required) & received_properties.keys()):
        _note_loss(task, f"{pointer}/required", f"whether {_first_names(changed)} is required", inexact=True)
    for (key, inexact), names in other_rules.items():
        _note_loss(task, pointer, f"{key} of {_first_names(names)}", inexact=inexact)
    compared = {"type", "properties", "required", *(received or {})}
    other_keywords = [str(key) for key in original if key not in compared]
    if other_keywords or (not original_properties and received is None):
        label = f"rules for all parameters: {_first_names(other_keywords or ['type'])}"
        _note_loss(task, pointer, label, inexact=False)


@cache  # the paths are constants, and a label is needed for each part of each call
def _label(path: str) -> str:
    return _LABELS.get(path) or path.rpartition("/")[2].replace("_", " ")


def _compare_part(task: Task, pointer: str, label: str, original: Any, received: Any) -> None:
    if label == NATIVE:  # each member of a format; the marks of a translation are such members as well
        for slug, members in original.items():
            for key, value in members.items():
                others = received.get(slug, {})
                if others.get(key) != value:
                    _note_loss(task, at(pointer, slug, key), NATIVE, inexact=key in others)
        return
    if any(original is unknown or (type(original) is type(unknown) and original == unknown) for unknown in _UNKNOWN):
        return
    if original != received:
        _note_loss(task, pointer, label, inexact=received not in _UNKNOWN)


def _note_loss(task: Task, pointer: str, label: str, *, inexact: bool) -> None:
    reason = f"{task.title} cannot express it exactly" if inexact else f"{task.title} has no place for it"
    task.note_loss(pointer, label, task.reasons.get(pointer, reason))


def _compare_schemes(task: Task, pointer: str, original: Iterable[AuthScheme], received: Sequence[AuthScheme]) -> None:
    """Note one loss for each scheme that is received incompletely, naming the missing members."""
    for number, scheme in enumerate(original):
        if scheme.type == "none":
            continue
        candidates = (candidate for candidate in received if candidate.type == scheme.type)
        missing = (_find_missing(scheme, candidate, (None, ())) for candidate in candidates)
        names = min(missing, key=len, default=["kind"])
        if names:
            label = f"{scheme.type}: {', '.join(names)}"
            _note_loss(task, at(pointer, number), label, inexact="kind" not in names)


def _find_missing(original: AuthScheme | Protocol, received: Any, unknown: tuple[Any, ...]) -> list[str]:
    """Return the members that `received` does not have, except those with an `unknown` value."""
    names = [field.name for field in fields(original)]
    return [name for name in names if getattr(original, name) not in (*unknown, getattr(received, name))]


def _value_at(owner: Service | Capability, path: str) -> Any:
    value: Any = owner
    for name in path.split("/"):
        value = None if value is None else getattr(value, name)
    return value


def _properties(schema: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    properties = (schema or {}).get("properties")
    if not isinstance(properties, Mapping):
        return {}
    return {name: rules if isinstance(rules, Mapping) else {} for name, rules in properties.items()}


def _required(schema: Mapping[str, Any] | None) -> set[str]:
    names = (schema or {}).get("required")
    return {name for name in names if isinstance(name, str)} if isinstance(names, list | tuple) else set()


def _first_names(names: list[str]) -> str:
    """Return the first names, and how many more there are."""
    shown = ", ".join(name[:60] for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def read_back(task: Task, target: str, document: dict[str, Any], written: WrittenDocument) -> Service:
    """Return the service as a client of the format `target` reads it from the document. Raise CannotWrite if the
    validator of this registry finds an error in it."""
    form = FORMAT_BY_SLUG[target]
    raw = json.dumps(document, ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode()
    if len(raw) > MAX_BYTES:
        raise CannotWrite(f"the document would be larger than readers take ({len(raw):,} of {MAX_BYTES:,} bytes)")
    assessment = assess_body(raw, f"https://{task.host}{form.paths[0]}", form.media_types[0], expected=target)
    if assessment.outcome is not Outcome.FOUND or assessment.format != target:
        found = assessment.reason or assessment.format or assessment.outcome
        raise CannotWrite(f"the document would not be recognised ({found})")
    errors = [finding for finding in assessment.findings if finding.rule.severity is Severity.ERROR][:MAX_REASONS]
    service = assessment.service
    if errors or service is None:
        raise CannotWrite(
            *(f"the document would not be valid at {one.pointer or '/'}: {one.rule.says}" for one in errors)
        )
    if written.details:
        service = _with_details(service, written, task.host)
    if len(service.capabilities) != len(written.sources):
        raise CannotWrite(f"{task.title} would not be read back as it was written")
    return service


def _with_details(manifest: Service, written: WrittenDocument, host: str) -> Service:
    """Return the service of an ADP manifest merged with the details that its capabilities link to. The merge works as
    in a visit. Details are read as if the host served them, because they describe the host."""
    url = f"https://{host}{adp.FORMAT.paths[0]}"
    assessment = Assessment(Outcome.FOUND, "", adp.FORMAT.slug, adp.VERSION, (), manifest)
    documents = [HeldDocument(url, url, assessment, b"manifest", _EPOCH)]
    for entry, detail in written.details.items():
        via = Via(url, f"/capabilities/{entry}/detail_url", "detail_url", adp.DETAIL)
        detail_url = f"{url}/{entry}"
        detail_assessment = assess_body(json.dumps(detail).encode(), detail_url, "application/json", via=via)
        documents.append(HeldDocument(detail_url, detail_url, detail_assessment, str(entry).encode(), _EPOCH, via))
    merged = merge(host, documents).service
    if merged is None:
        raise CannotWrite("the manifest would not make its host a service")
    return replace(merged, base_url=manifest.base_url)
