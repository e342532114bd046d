"""What the documents of one host contradict each other in: precedence has decided, the operator should know.

Every finding names the documents, by their paths, and what each says.
"""

from collections.abc import Iterable, Iterator

from registry.core.findings import Finding, Reason
from registry.core.format import Role
from registry.core.merging.fields import Parts, is_host_name
from registry.core.merging.held import finding, path_of, same_name
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.services import Auth, Origin

_VALUE_CHARS = 60


def conflicts(parts: Parts) -> Iterator[Finding]:
    """`parts` in order of precedence: the first document named is the one that counts."""
    names = [(o, s.name.strip()) for o, s in parts if s.name and _names_it(o, s.name)]
    if len({same_name(name) for _, name in names}) > 1:
        yield finding(Reason.CONFLICT_NAME, "/name", _told(names))
    auths = [(origin, service.auth) for origin, service in parts]
    if {_is_asked(auth) for _, auth in auths} >= {True, False}:
        said = ((origin, _words(auth)) for origin, auth in auths if auth != Auth())
        yield finding(Reason.CONFLICT_AUTH, "/auth", _told(said))
    prices = [(o, s.pricing.model) for o, s in parts if s.pricing.model != "unknown"]
    if len({model for _, model in prices}) > 1:
        yield finding(Reason.CONFLICT_PRICING, "/pricing", _told(prices))


def _told(said: Iterable[tuple[Origin, str]]) -> str:
    """One document for each thing said."""
    first: dict[str, tuple[Origin, str]] = {}
    for origin, value in said:
        first.setdefault(same_name(value), (origin, value))
    return " | ".join(f"{path_of(o.document)}: {value[:_VALUE_CHARS]}" for o, value in first.values())


def _names_it(origin: Origin, name: str) -> bool:
    """A host's name is no name, and the title of a text is that of a page."""
    form = FORMAT_BY_SLUG.get(origin.format)
    return not is_host_name(origin, name) and form is not None and form.role is not Role.TEXT


def _is_asked(auth: Auth) -> bool | None:
    """Whether a caller has to authenticate, as far as the document says anything: a scheme that is merely listed
    is asked for."""
    if auth.required is not None or not auth.schemes:
        return auth.required
    return any(scheme.type != "none" for scheme in auth.schemes)


def _words(auth: Auth) -> str:
    schemes = ",".join(dict.fromkeys(scheme.type for scheme in auth.schemes)) or "-"
    return schemes + {None: "", True: " required", False: " not required"}[auth.required]
