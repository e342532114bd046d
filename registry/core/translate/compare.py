"""What a document does not say of its service: found by reading it as any client of its format would.

`said` is the service, `heard` what the format's own reader makes of the written document. Every part that the service
tells and the reader does not hear the same way is one Loss; what the service leaves open is nothing to lose. Marks of
the registry itself (provenance, origins, pointers, claims, which calls are off site) are not part of what is told.
"""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final

from registry.core.manifest import at
from registry.core.services import Auth, AuthScheme, Capability, Invocation, Service
from registry.core.translate.task import Built, Place, Task, at_capability

MAX_PARAMETER_LOSSES: Final = 100  # of one capability, one by one

_SERVICE: Final = (
    ("name", "name"),
    ("description", "description"),
    ("provider/name", "provider's name"),
    ("provider/url", "provider's URL"),
    ("provider/contact", "contact"),
    ("version", "version"),
    ("base_url", "base URL"),
    ("homepage", "home page"),
    ("docs_url", "documentation URL"),
    ("icon_url", "icon"),
    ("languages", "languages"),
    ("tags", "tags"),
    ("examples", "examples"),
    ("groups", "groups of capabilities"),
    ("pricing/model", "pricing model"),
    ("pricing/plans", "plans"),
    ("pricing/url", "pricing URL"),
    ("pricing/note", "note on pricing"),
    ("policies/training", "policy on training"),
    ("policies/inference", "policy on inference"),
    ("policies/caching", "policy on caching"),
    ("policies/attribution", "policy on attribution"),
    ("policies/terms_url", "terms"),
    ("policies/privacy_url", "privacy policy"),
    ("policies/rate_limit", "rate limit"),
    ("policies/hints", "hints"),
    ("identity/dids", "DIDs"),
    ("identity/keys", "keys"),
    ("identity/signatures", "signatures"),
    ("relations/dependencies", "order of calls"),
    ("relations/errors", "recovery from errors"),
    ("relations/operational", "status"),
    ("relations/degraded", "degraded capabilities"),
    ("relations/status_url", "status URL"),
)
_CAPABILITY: Final = (
    ("id", "id"),
    ("name", "name"),
    ("description", "description"),
    ("result", "result"),
    ("side_effects", "side effects"),
    ("confirmation", "confirmation"),
    ("idempotent", "idempotence"),
    ("deprecated", "deprecation"),
    ("tags", "tags"),
    ("examples", "examples"),
    ("input_modes", "input modes"),
    ("output_modes", "output modes"),
    ("docs_url", "documentation URL"),
)
_CALL: Final = (
    ("kind", "protocol"),
    ("endpoint", "endpoint"),
    ("method", "method"),
    ("name", "operation"),
    ("scopes", "scopes"),
    ("rate_limit", "rate limit"),
)
_NOTHING: Final[tuple[Any, ...]] = (None, "", (), {}, "unknown")


def compare(task: Task, built: Built, heard: Service) -> None:
    """Notes every difference between the service and what was heard; the entries are in the order of `places`."""
    said = task.service
    for path, what in _SERVICE:
        _part(task, f"/{path}", what, _value(said, path), _value(heard, path))
    _schemes(task, "/auth/schemes", said.auth.schemes, _all_schemes(heard))
    if said.auth.required is not None and not built.places:
        _part(task, "/auth/required", "whether credentials are required", said.auth.required, heard.auth.required)
    for number, protocol in enumerate(said.protocols):
        if not any(_tells(one, protocol) for one in heard.protocols):
            _note(task, at("/protocols", number), f"protocol {protocol.id}", known=False)
    for number, workflow in enumerate(said.relations.workflows):
        if workflow not in heard.relations.workflows:
            _note(task, at("/relations/workflows", number), f"workflow {workflow.id}", known=False)
    for place, entry in zip(built.places, heard.capabilities, strict=True):
        _capability(task, place, entry, heard)


def access(service: Service, call: Invocation | None) -> Auth:
    """What a caller has to bring for one call: what the call says, if anything, else what the service says."""
    return call.auth if call is not None and call.auth not in (None, Auth()) else service.auth


def same_access(said: Auth, heard: Auth) -> bool:
    """Whether the kinds of credentials, and whether they are needed, are heard as said; unsaid need is nothing."""
    kinds = {one.type for one in said.schemes} - {"none"}
    if said.required is False:
        return heard.required is False or not {one.type for one in heard.schemes} - {"none"}
    if kinds != {one.type for one in heard.schemes} - {"none"}:
        return not kinds and said.required is None
    return said.required is None or said.required == heard.required


def _capability(task: Task, place: Place, heard: Capability, service: Service) -> None:
    pointer, said = at_capability(place.capability), task.service.capabilities[place.capability]
    for name, what in _CAPABILITY:
        _part(task, f"{pointer}/{name}", what, getattr(said, name), getattr(heard, name))
    if place.enveloped:
        why = "they are members of `input` in the envelope of the Web of Agents (draft-00 section 5.1)"
        task.lose(f"{pointer}/params", "parameters one by one", why)
    else:
        _params(task, f"{pointer}/params", said.params, heard.params)
    for number, other in enumerate(said.invocations):
        if number != place.invocation:
            what = f"another call ({other.kind})"
            task.lose(f"{pointer}/invocations/{number}", what, f"{task.title} tells one way to call a capability")
    if said.invocations:
        call = heard.invocations[0] if heard.invocations else Invocation("pointer")
        _call(task, f"{pointer}/invocations/{place.invocation}", said.invocations[place.invocation], call, service)


def _call(task: Task, pointer: str, said: Invocation, heard: Invocation, service: Service) -> None:
    for name, what in _CALL:
        _part(task, f"{pointer}/{name}", what, getattr(said, name), getattr(heard, name))
    wanted, found = access(task.service, said), access(service, heard)
    if not same_access(wanted, found):
        _note(task, f"{pointer}/auth", "authentication of this call", known=bool(found.schemes))
    elif said.auth is not None:
        _schemes(task, f"{pointer}/auth/schemes", said.auth.schemes, found.schemes)


def _params(task: Task, pointer: str, said: Mapping[str, Any] | None, heard: Mapping[str, Any] | None) -> None:
    if not said or said == heard:
        return
    wanted, found = _properties(said), _properties(heard)
    noted = len(task.losses)
    dull: dict[tuple[str, bool], list[str]] = {}
    for name, rules in wanted.items():
        place = at(f"{pointer}/properties", name)
        if name not in found:
            _note(task, place, f"parameter {name}", known=False)
            continue
        if "type" in rules and rules["type"] != found[name].get("type"):
            _note(task, f"{place}/type", f"type of {name}", known="type" in found[name])
        for key in rules:
            if key != "type" and rules[key] != found[name].get(key):
                dull.setdefault((str(key), key in found[name]), []).append(name)
    _bound(task, pointer, noted)
    needed, asked = _required(said) & wanted.keys(), _required(heard)
    if changed := sorted((needed ^ asked) & found.keys()):
        _note(task, f"{pointer}/required", f"whether {_some(changed)} is required", known=True)
    for (key, known), names in dull.items():
        _note(task, pointer, f"{key} of {_some(names)}", known=known)
    beyond = [str(key) for key in said if key not in ("type", "properties", "required") and key not in (heard or {})]
    if beyond or (not wanted and heard is None):
        _note(task, pointer, f"rules for all parameters: {_some(beyond or ['type'])}", known=False)


def _bound(task: Task, pointer: str, start: int) -> None:
    """A schema of thousands of odd parameters is one loss behind the first MAX_PARAMETER_LOSSES."""
    more = len(task.losses) - start - MAX_PARAMETER_LOSSES
    if more > 0:
        why = task.losses[-1].why
        del task.losses[start + MAX_PARAMETER_LOSSES :]
        task.lose(pointer, f"{more} more parameters or types", why)


def _part(task: Task, pointer: str, what: str, said: Any, heard: Any) -> None:
    if any(said is nothing or (type(said) is type(nothing) and said == nothing) for nothing in _NOTHING):
        return
    if said != heard:
        _note(task, pointer, what, known=heard not in _NOTHING)


def _note(task: Task, pointer: str, what: str, *, known: bool) -> None:
    ours = f"{task.title} cannot say it exactly" if known else f"{task.title} has no place for it"
    task.lose(pointer, what, task.because.get(pointer, ours))


def _schemes(task: Task, pointer: str, said: Iterable[AuthScheme], heard: Iterable[AuthScheme]) -> None:
    """One loss for each scheme of which anything is missing, naming what."""
    known = list(heard)
    for number, scheme in enumerate(said):
        if scheme.type == "none":
            continue
        missing = min((_missing(scheme, one) for one in known if one.type == scheme.type), key=len, default=["kind"])
        if missing:
            what = f"{scheme.type}: {', '.join(missing)}"
            _note(task, at(pointer, number), what, known="kind" not in missing)


def _missing(said: AuthScheme, heard: AuthScheme) -> list[str]:
    names = (one.name for one in fields(AuthScheme))
    return [name for name in names if getattr(said, name) not in (None, (), getattr(heard, name))]


def _all_schemes(service: Service) -> list[AuthScheme]:
    calls = (call for one in service.capabilities for call in one.invocations if call.auth is not None)
    return [*service.auth.schemes, *dict.fromkeys(one for call in calls for one in (call.auth or Auth()).schemes)]


def _tells(heard: Any, said: Any) -> bool:
    return all(getattr(said, one.name) in (None, getattr(heard, one.name)) for one in fields(said))


def _value(service: Service, path: str) -> Any:
    value: Any = service
    for name in path.split("/"):
        value = None if value is None else getattr(value, name)
    return value


def _properties(schema: Mapping[str, Any] | None) -> dict[str, Mapping[str, Any]]:
    found = (schema or {}).get("properties")
    if not isinstance(found, Mapping):
        return {}
    return {name: rules if isinstance(rules, Mapping) else {} for name, rules in found.items()}


def _required(schema: Mapping[str, Any] | None) -> set[str]:
    found = (schema or {}).get("required")
    return {one for one in found if isinstance(one, str)} if isinstance(found, list | tuple) else set()


def _some(names: list[str]) -> str:
    """A few of many names."""
    few = ", ".join(name[:60] for name in names[:5])
    return few if len(names) <= 5 else f"{few} and {len(names) - 5} more"
