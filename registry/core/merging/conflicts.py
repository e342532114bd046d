"""Contradictions between the documents of one host: precedence decides, and a finding informs the operator.

Every finding names the documents, by their paths, and what each states.
"""

from collections.abc import Iterable, Iterator

from registry.core.format_support.format import Role
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging import rules
from registry.core.merging.fields import Parts, is_host_name
from registry.core.merging.held import finding, path_of, same_name
from registry.core.model.findings import Finding
from registry.core.model.services import Auth, Origin

_VALUE_CHARS = 60


def conflicts(parts: Parts) -> Iterator[Finding]:
    """Yield a finding per contradiction. `parts` are in order of precedence: the first document named counts."""
    names = [
        (origin, service.name.strip())
        for origin, service in parts
        if service.name and _is_service_name(origin, service.name)
    ]
    if len({same_name(name) for _, name in names}) > 1:
        yield finding(rules.CONFLICT_NAME, "/name", _evidence(names))
    auths = [(origin, service.auth) for origin, service in parts]
    if {_requires_auth(auth) for _, auth in auths} >= {True, False}:
        auth_texts = ((origin, _auth_text(auth)) for origin, auth in auths if auth != Auth())
        yield finding(rules.CONFLICT_AUTH, "/auth", _evidence(auth_texts))
    pricing_models = [
        (origin, service.pricing.model) for origin, service in parts if service.pricing.model != "unknown"
    ]
    if len({model for _, model in pricing_models}) > 1:
        yield finding(rules.CONFLICT_PRICING, "/pricing", _evidence(pricing_models))


def _evidence(stated_values: Iterable[tuple[Origin, str]]) -> str:
    """Name one document for each distinct value."""
    distinct: dict[str, tuple[Origin, str]] = {}
    for origin, value in stated_values:
        distinct.setdefault(same_name(value), (origin, value))
    return " | ".join(f"{path_of(origin.document)}: {value[:_VALUE_CHARS]}" for origin, value in distinct.values())


def _is_service_name(origin: Origin, name: str) -> bool:
    """True unless the name is only the host's, or the title of a text."""
    form = FORMAT_BY_SLUG.get(origin.format)
    return not is_host_name(origin, name) and form is not None and form.role is not Role.TEXT


def _requires_auth(auth: Auth) -> bool | None:
    """True when a caller has to authenticate, as listed schemes imply; None if the document does not state it."""
    if auth.required is not None or not auth.schemes:
        return auth.required
    return any(scheme.type != "none" for scheme in auth.schemes)


def _auth_text(auth: Auth) -> str:
    schemes = ",".join(dict.fromkeys(scheme.type for scheme in auth.schemes)) or "-"
    return schemes + {None: "", True: " required", False: " not required"}[auth.required]
