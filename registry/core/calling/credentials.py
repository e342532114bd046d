"""The credentials of a call: completed by the service's own descriptions of its schemes, and placed in the request.

A credential is shown as a placeholder in capitals, `YOUR_API_KEY`, which needs no quoting in URLs, headers and shells.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final

from registry.core.format_support.oauth import issuers_of
from registry.core.model.services import Auth, AuthScheme, AuthType, Input, Invocation, Service
from registry.core.reading.plain_text import line

MAX_ALTERNATIVES: Final = 10
NOTE_CHARS: Final = 500

_TOKEN: Final = "YOUR_ACCESS_TOKEN"  # noqa: S105 - a placeholder
_AUTHORIZATION: Final[Mapping[AuthType, tuple[str, str]]] = {
    "bearer": ("Bearer", _TOKEN),
    "oauth2": ("Bearer", _TOKEN),  # RFC 6750 section 2.1
    "openid": ("Bearer", _TOKEN),
    "http_basic": ("Basic", "YOUR_BASE64_OF_USER_AND_PASSWORD"),  # RFC 7617: base64 of user:password
}
_HTTP_SCHEMES: Final[Mapping[str, AuthType]] = {"bearer": "bearer", "basic": "http_basic"}
_SCHEME_WORD: Final = re.compile(r"\A(bearer|basic)(?=\s|\Z)", re.IGNORECASE)
_PLACES: Final = ("header", "query", "cookie", "path", "body")
_UNPLACED: Final[Mapping[AuthType, str]] = {
    "payment": "paid for by the protocol after the answer 402, not by a fixed credential",
    "did": "a signature made for each request",
    "mtls": "a client certificate of the connection",
}
_KEY_NAME = re.compile(
    r"(?:x[-_])?(?:(?:api|access|auth|secret)[-_]?(?:key|token)|app[-_]?id|key|token)", re.IGNORECASE
)
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,200}")


@dataclass(frozen=True, slots=True)
class Credential:
    """A credential in a request. `place` None: it is not carried as a value, or no document says where; see `note`.
    `issuers`: the hosts that issue it, so that a token of one site is not taken for a credential of another."""

    type: AuthType
    place: str | None = None
    name: str | None = None
    prefix: str | None = None
    placeholder: str | None = None
    note: str | None = None
    issuers: tuple[str, ...] = ()

    @property
    def is_outside(self) -> bool:
        """Return whether it is sent apart: payments after the answer, certificates with the connection."""
        return self.type in ("payment", "mtls")

    @property
    def value(self) -> str:
        """The text that the request carries, with the placeholder."""
        return " ".join(part for part in (self.prefix, self.placeholder) if part)

    def to_json(self) -> dict[str, Any]:
        members: dict[str, Any] = {"type": self.type, "in": self.place, "name": self.name, "prefix": self.prefix}
        members |= {"placeholder": self.placeholder, "value": self.value or None, "note": self.note}
        members["issuers"] = list(self.issuers) or None
        return {key: value for key, value in members.items() if value is not None}


@dataclass(frozen=True, slots=True)
class Credentials:
    """Any one of `alternatives` suffices; all credentials of it are needed. `required` None: not stated."""

    required: bool | None
    alternatives: tuple[tuple[Credential, ...], ...]

    @property
    def chosen(self) -> tuple[Credential, ...]:
        """Return the credentials of the example: the first alternative with known places; empty if none is required."""
        if self.required is False:
            return ()
        sendable = (one for one in self.alternatives if all(credential.place for credential in one))
        return next(sendable, self.alternatives[0] if self.alternatives else ())

    def to_json(self) -> dict[str, Any]:
        alternatives = [[credential.to_json() for credential in one] for one in self.alternatives]
        return {"required": self.required, "alternatives": alternatives}


def credentials_of(service: Service, call: Invocation) -> Credentials:
    """Return the credentials of a call: its own, else the service's."""
    auth = complete_auth(call.auth if call.auth is not None else service.auth, service.auth)
    schemes = auth.schemes
    sets = [tuple(schemes[index] for index in indexes if 0 <= index < len(schemes)) for indexes in auth.combinations]
    alternatives = [one for one in sets if one] or [(scheme,) for scheme in schemes]
    # guard: credential-issuers
    credentials = tuple(
        tuple(
            replace(_make_credential(scheme), issuers=issuers_of((scheme,), service.pointers))
            for scheme in one
            if scheme.type != "none"
        )
        for one in alternatives
    )
    kept = tuple(one for one in credentials if one)[:MAX_ALTERNATIVES]
    required = False if schemes and all(scheme.type == "none" for scheme in schemes) else auth.required
    return Credentials(required, kept)


def with_parameters(credentials: Credentials, places: Iterable[tuple[str, str]]) -> Credentials:
    """Return the credentials; an API key without a known place gets the place of the parameter named like a key,
    because some formats declare it so. `places` are names and places of the parameters."""
    keys = [(name, place) for name, place in places if place in _PLACES and _KEY_NAME.fullmatch(name)]
    if len(keys) != 1:
        return credentials
    name, place = keys[0]

    key = Credential("api_key", place, name, None, placeholder(name))
    alternatives = tuple(
        tuple(key if credential.type == "api_key" and credential.place is None else credential for credential in one)
        for one in credentials.alternatives
    )
    return replace(credentials, alternatives=alternatives)


def complete_auth(auth: Auth, known: Auth) -> Auth:
    """Return `auth` with the addresses, notes and scopes that only the same scheme of `known` states. Schemes are the
    same where type, place and name are. Readers keep the schemes of operations short, because thousands of operations
    may name one scheme."""
    by_identity = {(scheme.type, scheme.location, scheme.name): scheme for scheme in reversed(known.schemes)}
    schemes = []
    for scheme in auth.schemes:
        same = by_identity.get((scheme.type, scheme.location, scheme.name), scheme)
        unstated = (field.name for field in fields(AuthScheme) if getattr(scheme, field.name) in (None, ()))
        schemes.append(replace(scheme, **{name: getattr(same, name) for name in unstated}))
    return replace(auth, schemes=tuple(schemes))


def placeholder(name: str | None) -> str:
    """Return the placeholder of a named value: `X-Acme-Key` is YOUR_ACME_KEY; without a name YOUR_API_KEY."""
    words = re.sub(r"[^A-Z0-9]+", "_", (name or "").upper().removeprefix("X-")).strip("_")[:60]
    return f"YOUR_{words}" if words and words != "AUTHORIZATION" else "YOUR_API_KEY"


def input_value(item: Input) -> str:
    """Return the example of a caller's value: the fixed value, the default, or a placeholder."""
    if item.value:  # maybe fixed except for variables, such as "Bearer {token}"
        value = re.sub(r"\{([^{}]*)\}", lambda match: placeholder(match[1]), item.value)
        return _with_cased_scheme(item.name, value)
    return item.default or (item.choices[0] if item.choices else placeholder(item.name))


def is_header_name(name: str | None) -> bool:
    """Return whether a text is the name of a header field (RFC 9110 section 5.1)."""
    return name is not None and _HEADER_NAME.fullmatch(name) is not None


def _with_cased_scheme(header: str | None, value: str) -> str:
    """Return the value of a header with the scheme in the spelling of RFC 6750 and RFC 7617. Its case means nothing
    (RFC 9110 section 11.1), and yet there are servers that read `Bearer` only."""
    if (header or "").lower() != "authorization":
        return value
    return _SCHEME_WORD.sub(lambda match: match[1].capitalize(), value)


def _with_known_type(scheme: AuthScheme) -> AuthScheme:
    """Return a scheme of another kind as the HTTP scheme that its document names for the field Authorization."""
    named = _HTTP_SCHEMES.get((scheme.prefix or scheme.note or "").strip().lower())
    if scheme.type != "custom" or named is None or (scheme.name or "").lower() != "authorization":
        return scheme
    return replace(scheme, type=named, prefix=None)


def _make_credential(scheme: AuthScheme) -> Credential:
    scheme = _with_known_type(scheme)
    note = line(scheme.note, NOTE_CHARS) if scheme.note else None
    if scheme.type in _UNPLACED:
        return Credential(scheme.type, note=_UNPLACED[scheme.type])
    if scheme.type in _AUTHORIZATION and scheme.location in (None, "header"):
        prefix, token = _AUTHORIZATION[scheme.type]
        name = scheme.name if is_header_name(scheme.name) else "Authorization"
        prefix = prefix if scheme.prefix is None else _with_cased_scheme(name, scheme.prefix.strip())
        return Credential(scheme.type, "header", name, prefix, token, note)
    place = scheme.location if scheme.location in _PLACES else None
    if place is None or scheme.name is None or (place == "header" and not is_header_name(scheme.name)):
        return Credential(scheme.type, note=note or "no document says where the request carries it")
    token = _AUTHORIZATION[scheme.type][1] if scheme.type in _AUTHORIZATION else placeholder(scheme.name)
    prefix = _with_cased_scheme(scheme.name, (scheme.prefix or "").strip())
    return Credential(scheme.type, place, scheme.name, prefix or None, token, note)
