"""Security schemes and requirements as OpenAPI writes them, which other formats copied, in the common model.

OpenAPI 3.1 sections 4.8.27 to 4.8.30, Swagger 2.0, A2A SecurityScheme (0.2 to 1.0), and the looser `authentication`
members of early A2A cards and MCP documents.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from registry.core.documents import Json
from registry.core.endpoints import link
from registry.core.manifest import Object, flag_of, list_of, map_of, text_of, texts_of, word_of
from registry.core.plain_text import line
from registry.core.services import Auth, AuthScheme, AuthType
from registry.core.vocabulary import auth_type

MAX_SCHEMES: Final = 50
MAX_ALTERNATIVES: Final = 10

NOTHING_NEEDED: Final = Auth((AuthScheme("none"),), False)

_WRAPPED: Final = {  # A2A 1.0: the kind is the member's name (a protobuf oneof)
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}
_HTTP: Final[dict[AuthType, str]] = {"bearer": "bearer", "http_basic": "basic"}
_SCOPE_CHARS: Final = 100


def schemes_of(definitions: Json, base: str) -> dict[str, AuthScheme]:
    """`securitySchemes` or `securityDefinitions` by name, the first MAX_SCHEMES; `base` resolves relative URLs."""
    if not isinstance(definitions, dict):
        return {}
    named = list(definitions.items())[:MAX_SCHEMES]
    return {name: scheme_of(item, base) for name, item in named if isinstance(item, dict)}


def scheme_of(item: Object, base: str) -> AuthScheme:
    """One scheme of either spelling; "custom" where the kind is unknown."""
    item = _unwrapped(item)
    kind = auth_type(word_of(item, "type")) or "custom"
    note = text_of(item, "description")
    if word_of(item, "type") == "http":
        return _http(word_of(item, "scheme"), note)
    if kind in _HTTP:
        return replace(_http(_HTTP[kind], note), setup_url=_setup(item, base))
    if kind == "api_key":
        location = word_of(item, "in") or word_of(item, "location") or "header"
        return AuthScheme("api_key", location, word_of(item, "name"), setup_url=_setup(item, base), note=note)
    if kind == "oauth2":
        return _oauth2(item, base, note)
    if kind == "openid":
        return AuthScheme("openid", setup_url=link(item.get("openIdConnectUrl"), base), note=note)
    return AuthScheme(kind, setup_url=_setup(item, base), note=note)


def demanded(requirements: Json, known: Mapping[str, AuthScheme]) -> Auth | None:
    """`security` or `securityRequirements`: alternatives, each a map from scheme names to scopes.

    None when it is no list (nothing is said). An empty list, or an empty alternative among others, means that a
    caller may come without credentials (OpenAPI 3.1 section 4.8.30).
    """
    if not isinstance(requirements, list):
        return None
    used: dict[str, AuthScheme] = {}
    optional = not requirements
    for alternative in requirements[:MAX_ALTERNATIVES]:
        named = _alternative(alternative)
        optional = optional or not named
        for name, scopes in list(named.items())[:MAX_ALTERNATIVES]:
            if name in known:
                used.setdefault(name, _with_scopes(known[name], scopes))
    if not used and optional:
        return NOTHING_NEEDED
    return Auth(tuple(used.values()), not optional)


def demanded_by(part: Object, known: Mapping[str, AuthScheme]) -> Auth | None:
    """What one operation or skill demands: schemes by kind and place only.

    The service's own schemes hold the rest: thousands of parts may name the same scheme, and each would repeat it.
    """
    said = demanded(part.get("securityRequirements", part.get("security")), known)
    if said is None:
        return None
    brief = (replace(one, note=None, setup_url=None, authorization_url=None, token_url=None) for one in said.schemes)
    return replace(said, schemes=tuple(replace(one, scopes=one.scopes[:MAX_ALTERNATIVES]) for one in brief))


def declared(authentication: Json, base: str) -> Auth:
    """A loose `authentication` member: a word, or `{required, type, schemes[], in, name, ...}`."""
    if isinstance(authentication, str):
        authentication = {"type": authentication}
    if not isinstance(authentication, dict):
        return Auth()
    items: list[Json] = [*list_of(authentication, "schemes")[:MAX_SCHEMES]]
    if isinstance(authentication.get("type"), str):
        items.append(authentication)
    found = dict.fromkeys(scheme for item in items if (scheme := _loose(item, base)) is not None)
    only_none = bool(found) and all(scheme.type == "none" for scheme in found)
    required = flag_of(authentication, "required")
    return Auth(tuple(found), False if only_none else required)


def _loose(item: Json, base: str) -> AuthScheme | None:
    if isinstance(item, str):
        scheme = scheme_of({"type": item}, base)
        return replace(scheme, note=line(item, _SCOPE_CHARS)) if scheme.type == "custom" else scheme
    return scheme_of(item, base) if isinstance(item, dict) else None


def _unwrapped(item: Object) -> Object:
    for key, kind in _WRAPPED.items():
        inner = item.get(key)
        if isinstance(inner, dict):
            return {**inner, "type": kind}
    return item


def _http(scheme: str | None, note: str | None) -> AuthScheme:
    """RFC 9110 section 11: schemes are compared without regard to case."""
    name = (scheme or "").lower()
    if name == "bearer":
        return AuthScheme("bearer", "header", "Authorization", "Bearer", note=note)
    if name == "basic":
        return AuthScheme("http_basic", "header", "Authorization", "Basic", note=note)
    return AuthScheme("custom", "header", "Authorization", scheme, note=note)


def _oauth2(item: Object, base: str, note: str | None) -> AuthScheme:
    """The first flow with URLs speaks for the scheme; scopes of all flows are united. Swagger 2.0 has no `flows`."""
    flows = [flow for flow in map_of(item, "flows").values() if isinstance(flow, dict)] or [item]
    urls = {
        key: next((url for flow in flows if (url := link(flow.get(key), base))), None)
        for key in ("authorizationUrl", "tokenUrl")
    }
    scopes = dict.fromkeys(line(scope, _SCOPE_CHARS) for flow in flows for scope in map_of(flow, "scopes"))
    return AuthScheme(
        "oauth2",
        authorization_url=urls["authorizationUrl"],
        token_url=urls["tokenUrl"],
        scopes=tuple(scopes)[:MAX_SCHEMES],
        setup_url=link(item.get("oauth2MetadataUrl"), base) or _setup(item, base),
        note=note,
    )


def _setup(item: Object, base: str) -> str | None:
    found = (link(item.get(key), base) for key in ("registration", "setup_url", "obtainAt", "signupUrl"))
    return next((url for url in found if url), None)


def _alternative(item: Json) -> Object:
    """A2A 1.0 wraps the map: `{schemes: {name: {list: [...]}}}`."""
    inner = map_of(item, "schemes")
    return inner or (item if isinstance(item, dict) and "schemes" not in item else {})


def _with_scopes(scheme: AuthScheme, scopes: Json) -> AuthScheme:
    asked = texts_of({"list": scopes} if isinstance(scopes, list) else scopes, "list", _SCOPE_CHARS)
    if scheme.type not in ("oauth2", "openid") or not asked:
        return scheme
    return replace(scheme, scopes=asked)
