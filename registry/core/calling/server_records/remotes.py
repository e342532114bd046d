"""Remotes of a server: its addresses, their variables, and what clients send along."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from registry.core.calling.server_records.validation import MAX_TEXT, VARIABLE, is_usable_url, is_valid_part
from registry.core.format_support.public_addresses import is_public, public_json
from registry.core.model.services import AuthScheme, Input, Protocol, Service
from registry.core.reading.plain_text import line, plain

FULL_CHARS: Final = 2_000
TRANSPORTS: Final[Mapping[str, str]] = {
    "streamable-http": "streamable-http", "streamable_http": "streamable-http", "streamablehttp": "streamable-http",
    "streamable": "streamable-http", "http": "streamable-http", "https": "streamable-http", "sse": "sse",
    "http+sse": "sse",
}  # fmt: skip
VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_COLON_VARIABLE: Final = re.compile(r"(?<=/):([A-Za-z_]\w*)")
_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_AUTHORITY: Final = re.compile(r"https://([^/?#]*)")


def remote_of(host: str, service: Service, protocol: Protocol, adjusted: dict[str, None]) -> dict[str, Any] | str:
    """Return a remote, or the reason why there is none."""
    url = protocol.endpoint or ""
    if not url.startswith("https://"):
        return "transport" if url.startswith(("wss:", "ws:")) else "address"
    stated = (protocol.transport or "").lower()
    is_sse = url.partition("?")[0].rstrip("/").endswith("/sse")
    kind = TRANSPORTS.get(stated) if stated else "sse" if is_sse else "streamable-http"
    if kind is None:
        return "transport"
    if stated != kind:
        adjusted["transport"] = None
    url = _COLON_VARIABLE.sub(r"{\1}", url)
    names = dict.fromkeys(VARIABLE.findall(url))
    if not is_usable_url(url) or not is_public(url, f"https://{host}/"):
        return "address"
    variables = _variables(host, service, url, names)
    if any(not VARIABLE_NAME.fullmatch(name) for name in names):
        return "variable"
    undeclared = [name for name in names if name not in variables]
    if any(f"{{{name}}}" in _authority(url) for name in undeclared):
        return "variable"
    if undeclared:  # the URL itself says that the caller fills them in
        adjusted["variables_declared"] = None
        variables |= {name: {"isRequired": True} for name in undeclared}
    remote: dict[str, Any] = {"type": kind, "url": url}
    if headers := list(_headers(service, protocol)):
        remote["headers"] = headers
    if variables:
        remote["variables"] = variables
    public = public_json(remote, f"https://{host}/")
    return public if is_valid_part("remote", public) else "address"


def _authority(url: str) -> str:
    match = _AUTHORITY.match(url)
    return match[1] if match else ""


def _variables(host: str, service: Service, url: str, names: Mapping[str, None]) -> dict[str, dict[str, Any]]:
    """Return the variables of a URL as the documents describe them; secret ones are known from what callers need."""
    found: dict[str, dict[str, Any]] = {}
    for members in service.native.values():
        described = members.get("variables")
        for name, value in described.items() if isinstance(described, dict) else ():
            if name in names and name not in found:
                found[name] = _variable(host, url, name, value if isinstance(value, dict) else {})
    pairs = [pair.partition("=") for pair in url.partition("?")[2].split("&")]
    for scheme in service.auth.schemes:
        wanted = [scheme.name] if scheme.location == "path" else []
        if scheme.location == "query":
            wanted = [name for key, _, value in pairs if key == scheme.name for name in VARIABLE.findall(value)]
        for name in wanted:
            if name in names and name is not None and name not in found:
                found[name] = _described_by(scheme.note) | {"isRequired": True, "isSecret": True}
    return found


def _variable(host: str, url: str, name: str, described: Mapping[str, Any]) -> dict[str, Any]:
    """Return a variable in the API's form. In the host, values that would lead to private networks are left out."""

    def may_stand(text: str) -> bool:
        filled = url.replace(f"{{{name}}}", text)
        is_in_host = f"{{{name}}}" in _authority(url)
        # guard: mcp-host-variable
        return not is_in_host or (is_usable_url(filled) and is_public(filled, f"https://{host}/"))

    variable: dict[str, Any] = {}
    for key in ("description", "value", "default", "placeholder"):
        text = described.get(key)
        if isinstance(text, str) and text and (key == "description" or may_stand(text)):
            variable[key] = plain(text, FULL_CHARS)
    for key in ("isRequired", "isSecret"):
        if isinstance(described.get(key), bool):
            variable[key] = described[key]
    choices = described.get("choices")
    texts = [text for text in choices if isinstance(text, str)] if isinstance(choices, list) else []
    if texts and all(map(may_stand, texts)):
        variable["choices"] = texts
    if described.get("format") in ("string", "number", "boolean", "filepath"):
        variable["format"] = described["format"]
    return variable


def _headers(service: Service, protocol: Protocol) -> Iterator[dict[str, Any]]:
    """Yield the headers that clients send: those of the remote, then the credential of the service.

    Of OAuth nothing is said: clients learn that from the server's own metadata.
    """
    known: set[str] = set()
    for item in protocol.headers:
        if _HEADER_NAME.fullmatch(item.name) and item.name.lower() not in known:
            known.add(item.name.lower())
            yield {"name": item.name, **input_of(item)}
    schemes = [scheme for scheme in service.auth.schemes if scheme.type in ("api_key", "bearer", "http_basic")]
    needed = {index for combination in service.auth.combinations for index in combination}
    for index, scheme in enumerate(service.auth.schemes):
        name = scheme.name or ("Authorization" if scheme.type in ("bearer", "http_basic") else None)
        if scheme not in schemes or scheme.location not in (None, "header") or name is None:
            continue
        if not _HEADER_NAME.fullmatch(name) or name.lower() in known:
            continue
        known.add(name.lower())
        is_required = bool(service.auth.required) and (len(service.auth.schemes) == 1 or index in needed)
        prefix = scheme.prefix or {"bearer": "Bearer", "http_basic": "Basic"}.get(scheme.type)
        yield _credential(name, scheme, prefix, is_required)


def _credential(name: str, scheme: AuthScheme, prefix: str | None, is_required: bool) -> dict[str, Any]:
    header: dict[str, Any] = {"name": name, **_described_by(scheme.note), "isRequired": is_required}
    if prefix is None or "{" in prefix or "}" in prefix:
        return {**header, "isSecret": True}
    token = {"isRequired": True, "isSecret": True}
    return {**header, "value": f"{line(prefix, MAX_TEXT)} {{token}}", "variables": {"token": token}}


def _described_by(note: str | None) -> dict[str, Any]:
    return {"description": plain(note, FULL_CHARS)} if note else {}


def input_of(item: Input) -> dict[str, Any]:
    values = {
        "description": plain(item.description, FULL_CHARS) if item.description else None,
        "isRequired": item.required, "isSecret": item.secret, "value": item.value, "default": item.default,
        "choices": list(item.choices) or None,
    }  # fmt: skip
    return {key: value for key, value in values.items() if value is not None}
