"""Read OpenAPI's security schemes and requirements, which other formats copied, into the common model.

Sources: OpenAPI 3.1 sections 4.8.27 to 4.8.30, Swagger 2.0, A2A SecurityScheme (0.2 to 1.0), and the looser
`authentication` members of early A2A cards and MCP documents.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import link, page
from registry.core.format_support.manifest import NAME_CHARS, Object, first_text, flag_of, map_of, short_text_of
from registry.core.format_support.vocabulary import auth_type
from registry.core.model.documents import Json
from registry.core.model.services import Auth, AuthScheme, AuthType
from registry.core.reading.plain_text import line

MAX_SCHEMES: Final = 50
MAX_ALTERNATIVES: Final = 10

NOTHING_NEEDED: Final = Auth((AuthScheme("none"),), False)

_WRAPPED: Final = {  # A2A 1.0: the member's name is the kind (a protobuf oneof)
    "apiKeySecurityScheme": "apiKey",
    "httpAuthSecurityScheme": "http",
    "oauth2SecurityScheme": "oauth2",
    "openIdConnectSecurityScheme": "openIdConnect",
    "mtlsSecurityScheme": "mutualTLS",
}
_OAUTH_URLS: Final = (
    ("authorizationUrl", "authorization_url", "authorizationEndpoint", "authorization_endpoint"),
    ("tokenUrl", "token_url", "tokenEndpoint", "token_endpoint"),
)
_SETUP_URLS: Final = (
    "registration", "registration_url", "registrationUrl", "setup_url", "setupUrl", "obtainAt", "signupUrl",
    "signup_url", "obtain_url", "keys_url",
)  # fmt: skip
_NOTES: Final = ("description", "credentials", "note", "instructions", "details")
_HEADER = re.compile(r"([A-Za-z0-9-]{1,100})\s*:\s*(?:([A-Za-z][A-Za-z0-9-]*)\s+)?\S.*")
_PREFIXES: Final = ("prefix", "header_prefix", "headerPrefix")
_HEADER_NAMES: Final = ("header", "headerName", "header_name", "apiKeyHeader", "api_key_header")
_QUERY_NAMES: Final = ("query_param", "queryParam", "query", "param", "parameter")
_SCHEME_LISTS: Final = ("schemes", "methods", "types", "supported")
_KIND_KEYS: Final = ("scheme", "kind", "method", "name", "id")
_IN_WORDS: Final = (
    (
        re.compile(r"\b(?:no|not|without|none)\b.{0,40}\b(?:auth\w*|keys?|log-?in|required|needed)\b", re.IGNORECASE),
        "none",
    ),
    (re.compile(r"\bx402\b|\bpayment\b", re.IGNORECASE), "payment"),
    (re.compile(r"\boauth", re.IGNORECASE), "oauth2"),
    (re.compile(r"\bbearer\b", re.IGNORECASE), "bearer"),
    (re.compile(r"\bapi[ _-]?keys?\b", re.IGNORECASE), "apiKey"),
)
"""Sentences in place of a scheme's name; the first match counts."""
_HTTP: Final[dict[AuthType, str]] = {"bearer": "bearer", "http_basic": "basic"}
_SCOPE_CHARS: Final = 100


def schemes_of(definitions: Json, base: str) -> dict[str, AuthScheme]:
    """Return the first MAX_SCHEMES of `securitySchemes` or `securityDefinitions` by name. Some publishers write a list
    of schemes instead of a map; these are named by their id, else by their place in it. Relative URLs are resolved
    against `base`."""
    if isinstance(definitions, list):
        definitions = {
            short_text_of(item, "id") or str(index): item for index, item in enumerate(definitions[:MAX_SCHEMES])
        }
    if not isinstance(definitions, dict):
        return {}
    entries = list(definitions.items())[:MAX_SCHEMES]
    return {name: scheme_of(item, base) for name, item in entries if isinstance(item, dict)}


def scheme_of(item: Object, base: str) -> AuthScheme:
    """Return one scheme of any of these formats; its type is "custom" where the kind is unknown."""
    wrapper = next((key for key in _WRAPPED if isinstance(item.get(key), dict)), None)
    if wrapper is not None:
        item = {**map_of(item, wrapper), "type": _WRAPPED[wrapper]}
    kind = auth_type(short_text_of(item, "type")) or "custom"
    note = first_text(item, *_NOTES)
    if short_text_of(item, "type") == "http":
        return _read_http(short_text_of(item, "scheme"), note)
    if kind in _HTTP:
        return replace(_read_http(_HTTP[kind], note), setup_url=_read_setup_url(item, base))
    if kind == "api_key":
        query = first_text(item, *_QUERY_NAMES, chars=NAME_CHARS)
        header, prefix = _read_header(first_text(item, *_HEADER_NAMES, chars=NAME_CHARS))
        place = first_text(item, "in", "location", chars=NAME_CHARS) or ("query" if query and not header else "header")
        name = short_text_of(item, "name") or header or query
        prefix = first_text(item, *_PREFIXES, chars=NAME_CHARS) or prefix
        return AuthScheme("api_key", place, name, prefix, setup_url=_read_setup_url(item, base), note=note)
    if kind == "oauth2":
        return _read_oauth2(item, base, note)
    if kind == "openid":
        return AuthScheme("openid", setup_url=link(item.get("openIdConnectUrl"), base), note=note)
    name = first_text(item, *_HEADER_NAMES, chars=NAME_CHARS)
    return AuthScheme(kind, "header" if name else None, name, setup_url=_read_setup_url(item, base), note=note)


def required_auth(requirements: Json, auth_schemes: Mapping[str, AuthScheme]) -> Auth | None:
    """Read `security` or `securityRequirements`: alternatives, each a map from scheme names to scopes. Return None for
    anything but a list: nothing is declared. An empty list, or an empty alternative among others, means that
    credentials are optional (OpenAPI 3.1 section 4.8.30)."""
    if not isinstance(requirements, list):
        return None
    used: dict[str, AuthScheme] = {}
    sets: list[list[str]] = []
    optional = not requirements
    for alternative in requirements[:MAX_ALTERNATIVES]:
        scopes_by_scheme = map_of(alternative, "schemes")  # A2A 1.0 writes `{schemes: {name: {list: [...]}}}`
        if isinstance(alternative, dict) and "schemes" not in alternative:
            scopes_by_scheme = alternative
        optional = optional or not scopes_by_scheme
        together = [name for name in list(scopes_by_scheme)[:MAX_ALTERNATIVES] if name in auth_schemes]
        for name in together:
            used.setdefault(name, _with_scopes(auth_schemes[name], scopes_by_scheme[name]))
        sets += [together] if together else []
    if not used and optional:
        return NOTHING_NEEDED
    if all(len(together) == 1 for together in sets):
        return Auth(tuple(used.values()), not optional)
    names = list(used)  # sets of schemes that are needed at once, as indexes
    combinations = dict.fromkeys(tuple(names.index(name) for name in together) for together in sets)
    return Auth(tuple(used.values()), not optional, tuple(combinations))


def operation_auth(part: Object, auth_schemes: Mapping[str, AuthScheme]) -> Auth | None:
    """Return what one operation or skill demands, without notes and URLs of the schemes and with few scopes. The
    schemes of the service hold the full data; thousands of operations that name a scheme would each repeat it."""
    auth = required_auth(part.get("securityRequirements", part.get("security")), auth_schemes)
    if auth is None:
        return None
    brief = (replace(one, note=None, setup_url=None, authorization_url=None, token_url=None) for one in auth.schemes)
    return replace(auth, schemes=tuple(replace(one, scopes=one.scopes[:MAX_ALTERNATIVES]) for one in brief))


def loose_auth(authentication: Json, base: str) -> Auth:
    """Read a loose `authentication` member: a word, sentence, list, or `{required, type, schemes, in, name, ...}`.
    `schemes` may also be a map from names to schemes. Members beside a single scheme that is only a word belong to
    it."""
    if isinstance(authentication, str):
        authentication = {"type": authentication}
    if isinstance(authentication, list):
        authentication = {"schemes": authentication}
    if not isinstance(authentication, dict):
        return Auth()
    shared: Object = {key: value for key, value in authentication.items() if key not in _SCHEME_LISTS}
    items: list[Json] = []
    for key in _SCHEME_LISTS:
        held = map_of(authentication, key)  # in a map, a name may stand for the missing type
        for name, item in held.items():
            told: Object = item if isinstance(item, dict) else {"description": item} if isinstance(item, str) else {}
            items += [{"type": name, **told}] if isinstance(item, dict | str) or item is True else []
        items += manifest.list_of(authentication, key)
    items = items[:MAX_SCHEMES]
    if len(items) == 1 and isinstance(items[0], str):
        items = [{**shared, "type": items[0]}]
    elif isinstance(authentication.get("type"), str):
        items.append(authentication)
    schemes = dict.fromkeys(scheme for item in items if (scheme := _loose_scheme(item, base)) is not None)
    schemes = schemes or dict.fromkeys(_told_schemes(authentication, base))
    only_none = bool(schemes) and all(scheme.type == "none" for scheme in schemes)
    required = flag_of(authentication, "required")
    return Auth(tuple(schemes), False if only_none else required)


def own_auth(part: Object, base: str) -> Auth | None:
    """Return what the `authentication` or `auth` of a part demands; None where it says nothing."""
    auth = loose_auth(part.get("authentication", part.get("auth")), base)
    return auth if auth != Auth() else None


def _loose_scheme(item: Json, base: str) -> AuthScheme | None:
    if isinstance(item, str):
        item = {"type": item}
    if not isinstance(item, dict):
        return None
    item = _with_type(item)
    scheme, words = scheme_of(item, base), short_text_of(item, "type")
    if scheme.type != "custom" or words is None or words == "http":
        return scheme
    kind = next((kind for pattern, kind in _IN_WORDS if pattern.search(words)), None)
    named = scheme if kind is None else scheme_of({**item, "type": kind}, base)
    return named if named.note else replace(named, note=words)


def _with_type(item: Object) -> Object:
    """Return a scheme whose kind stands in another member than `type`; a place and a name alone are an API key."""
    if "type" in item:
        return item
    for key in _KIND_KEYS:
        word = short_text_of(item, key)
        if word is not None and auth_type(word) != "custom":
            return {"type": word, **{name: value for name, value in item.items() if name != key}}
    name = short_text_of(item, "name")
    is_placed = name is not None and ("in" in item or "location" in item) and name.lower() != "authorization"
    return {"type": "apiKey" if is_placed else item.get("scheme"), **item}


def _told_schemes(authentication: Object, base: str) -> Iterator[AuthScheme]:
    """Yield the schemes of an object without a word at `type`: several types, members named after kinds, a header or
    parameter that holds a key, or else what its texts mention, `{"read": "no key needed", "write": "API key"}`."""
    items: list[Json] = [item for item in manifest.list_of(authentication, "type") if isinstance(item, str)]
    for name, held in authentication.items():
        if auth_type(name) not in (None, "custom") and (held is True or isinstance(held, dict)):
            items.append({"type": name, **({} if held is True else held)})
    if not items and first_text(authentication, *_HEADER_NAMES, *_QUERY_NAMES):
        items.append({**authentication, "type": "apiKey"})
    texts = (value for value in authentication.values() if isinstance(value, str) and len(value) <= NAME_CHARS)
    items = items or [
        text for text in texts if any(kind.search(text) for kind, _ in _IN_WORDS) and ":/" not in text[:8]
    ]
    for item in items[:MAX_SCHEMES]:
        if (scheme := _loose_scheme(item, base)) is not None:
            yield scheme


def _read_header(text: str | None) -> tuple[str | None, str | None]:
    """Return the name and the prefix in `X-Key`, `X-Key: <key>` or `Authorization: Token <key>`."""
    match = _HEADER.fullmatch(text or "")
    return (match[1], match[2]) if match is not None else (text, None)


def _read_http(scheme: str | None, note: str | None) -> AuthScheme:
    """Return the scheme for an HTTP authentication scheme's name, which is case-insensitive (RFC 9110 section 11)."""
    name = (scheme or "").lower()
    if name == "bearer":
        return AuthScheme("bearer", "header", "Authorization", "Bearer", note=note)
    if name == "basic":
        return AuthScheme("http_basic", "header", "Authorization", "Basic", note=note)
    return AuthScheme("custom", "header", "Authorization", scheme, note=note)


def _read_oauth2(item: Object, base: str, note: str | None) -> AuthScheme:
    """Return the scheme with the first URLs found and the scopes of all flows. Swagger 2.0 has no `flows`."""
    flows = [flow for flow in map_of(item, "flows").values() if isinstance(flow, dict)] or [item]
    urls = {
        keys[0]: next((url for flow in flows for key in keys if (url := link(flow.get(key), base))), None)
        for keys in _OAUTH_URLS
    }
    named = [scope for flow in flows for scope in (*map_of(flow, "scopes"), *manifest.list_of(flow, "scopes"))]
    scopes = dict.fromkeys(line(scope, _SCOPE_CHARS) for scope in named if isinstance(scope, str))
    return AuthScheme(
        "oauth2",
        authorization_url=urls["authorizationUrl"],
        token_url=urls["tokenUrl"],
        scopes=tuple(scopes)[:MAX_SCHEMES],
        setup_url=link(item.get("oauth2MetadataUrl"), base) or _read_setup_url(item, base),
        note=note,
    )


def _read_setup_url(item: Object, base: str) -> str | None:
    urls = (page(item.get(key), base) for key in _SETUP_URLS)
    return next((url for url in urls if url), None)


def _with_scopes(scheme: AuthScheme, scopes: Json) -> AuthScheme:
    required_scopes = manifest.texts_of({"list": scopes} if isinstance(scopes, list) else scopes, "list", _SCOPE_CHARS)
    has_scopes = scheme.type in ("oauth2", "openid") and required_scopes
    return replace(scheme, scopes=required_scopes) if has_scopes else scheme
