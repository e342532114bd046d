"""The URL of a call as a template (RFC 6570), and its expansion with example values."""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

_BRACED = re.compile(r"\{([^{}]*)\}")
_COLON = re.compile(r"(?<=/):([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_$][\w.-]*")
FORM: Final = "form"
DEEP: Final = "deepObject"
JOINED: Final = "joined"
_DELIMITERS: Final = {JOINED: ",", "spaceDelimited": " ", "pipeDelimited": "|"}
_QUERY_OPERATORS: Final = "?&"
_LITERAL: Final = "!$&'()*+,;=:@/?#[]-._~%{}"
_DOTTED = re.compile(r"[^.]+(\.[^.]+)*")


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint of a document: `url` with `{name}` for each variable of the path, `query` the names of `{?name}`."""

    url: str
    variables: tuple[str, ...]
    query: tuple[str, ...] = ()


def address_of(endpoint: str) -> Address:
    """Return an endpoint with its variables: `{id}`, `/:id`, `{+path}` and `{id:pattern}` are variables of the path."""
    variables: list[str] = []
    query: list[str] = []

    def written(match: re.Match[str]) -> str:
        text = match[1]
        names = _NAME.findall(text) if text[:1] in _QUERY_OPERATORS else _NAME.findall(text)[:1]
        if text[:1] in _QUERY_OPERATORS and text:
            query.extend(names)
            return ""
        if not names:
            return quote(match[0], safe="")
        variables.extend(names)
        return f"{{{names[0]}}}"

    url = _BRACED.sub(written, _COLON.sub(r"{\1}", endpoint.partition("#")[0]))
    return Address(url, tuple(dict.fromkeys(variables)), tuple(dict.fromkeys(query)))


def varname(name: str) -> str:
    """Return the name of a template's variable: other characters than `A-Za-z0-9._` percent-encoded (section 2.3)."""
    encoded = quote(name, safe="").replace("-", "%2D").replace("~", "%7E")
    return encoded if _DOTTED.fullmatch(encoded) else encoded.replace(".", "%2E")


def template(address: Address, query: Iterable[tuple[str, bool]], renamed: Iterable[tuple[str, str]] = ()) -> str:
    """Return the RFC 6570 template; `query` holds names, and whether a list or an object becomes several pairs;
    `renamed` the names in the query of parameters with another name, and these."""
    url = quote(_BRACED.sub(lambda match: f"{{{varname(match[1])}}}", address.url), safe=_LITERAL)
    for wire, name in renamed:
        url += f"{'&' if '?' in url else '?'}{quote(wire, safe='')}={{{varname(name)}}}"
    names = ",".join(f"{varname(name)}{'*' if exploded else ''}" for name, exploded in query)
    return f"{url}{{{'&' if '?' in url else '?'}{names}}}" if names else url


def expand_url(address: Address, path: Mapping[str, Any], query: Iterable[tuple[str, str]]) -> str:
    """Return the URL with values in the path, and with a query of pairs."""

    def value(match: re.Match[str]) -> str:
        return quote(text_of(path[match[1]]), safe="") if match[1] in path else match[0]

    url = quote(_BRACED.sub(value, address.url), safe=_LITERAL)
    pairs = "&".join(f"{quote(name, safe='')}={quote(text, safe='')}" for name, text in query)
    if not pairs:
        return url
    return url + ("" if url[-1] in "?&" else "&" if "?" in url else "?") + pairs


def query_pairs(name: str, value: Any, style: str = FORM) -> list[tuple[str, str]]:
    """Return the pairs of one parameter: in the style `form`, exploded (RFC 6570 section 3.2.8), or in another one."""
    if value is None:
        return []
    if style in _DELIMITERS and isinstance(value, list):
        return [(name, _DELIMITERS[style].join(text_of(item) for item in value))]
    if style == DEEP and isinstance(value, dict):
        return [(f"{name}[{key}]", text_of(item)) for key, item in value.items()]
    if isinstance(value, list):
        return [(name, text_of(item)) for item in value]
    if isinstance(value, dict):
        return [(key, text_of(item)) for key, item in value.items()]
    return [(name, text_of(value))]


def text_of(value: Any) -> str:
    """Return a value as a text in a URL or a header: lists by comma, objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(not isinstance(item, list | dict) for item in value):
        return ",".join(text_of(item) for item in value)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
