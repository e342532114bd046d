"""What the documents of one host contradict each other in: precedence has decided, the operator should know.

Every finding names the documents, by their paths, and what each says.
"""

from collections.abc import Iterable, Iterator

from registry.core.findings import Finding, Reason
from registry.core.merging.fields import Parts, is_host_name
from registry.core.merging.held import finding, path_of
from registry.core.services import Auth, Origin

_VALUE_CHARS = 60


def conflicts(parts: Parts) -> Iterator[Finding]:
    """`parts` in order of precedence: the first document named is the one that counts."""
    names = [(o, s.name.strip()) for o, s in parts if s.name and not is_host_name(o, s.name)]
    if len({name.casefold() for _, name in names}) > 1:
        yield finding(Reason.CONFLICT_NAME, "/name", _told(names))
    auths = [(origin, service.auth) for origin, service in parts]
    open_and_closed = {auth.required for _, auth in auths} >= {True, False}
    if open_and_closed or len({_gated(auth) for _, auth in auths} - {None}) > 1:
        said = ((origin, _words(auth)) for origin, auth in auths if auth != Auth())
        yield finding(Reason.CONFLICT_AUTH, "/auth", _told(said))
    prices = [(o, s.pricing.model) for o, s in parts if s.pricing.model != "unknown"]
    if len({model for _, model in prices}) > 1:
        yield finding(Reason.CONFLICT_PRICING, "/pricing", _told(prices))


def _told(said: Iterable[tuple[Origin, str]]) -> str:
    """One document for each thing said."""
    first: dict[str, tuple[Origin, str]] = {}
    for origin, value in said:
        first.setdefault(value.casefold(), (origin, value))
    return " | ".join(f"{path_of(o.document)}: {value[:_VALUE_CHARS]}" for o, value in first.values())


def _gated(auth: Auth) -> bool | None:
    return any(scheme.type != "none" for scheme in auth.schemes) if auth.schemes else None


def _words(auth: Auth) -> str:
    schemes = ",".join(dict.fromkeys(scheme.type for scheme in auth.schemes)) or "-"
    return schemes + {None: "", True: " required", False: " not required"}[auth.required]
