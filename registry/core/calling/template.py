"""The URL of a call as a template (RFC 6570), and its expansion with example values."""

import json
import re
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

_BRACED = re.compile(r"\{([^{}]*)\}")
_COLON = re.compile(r"(?<=/):([A-Za-z_]\w*)")
_NAME = re.compile(r"[A-Za-z_$][\w.-]*")
FORM: Final = "form"
DEEP: Final = "deepObject"
_SIMPLE: Final = "simple"
_CONTENT: Final = "content"
_QUERYSTRING: Final = "querystring"
_JOINED: Final = "joined"
_DELIMITERS: Final = {FORM: ",", "spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
_OF_COLLECTION: Final = {"ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited"}  # OpenAPI 2.0
_BY_PLACE: Final = {
    "path": (_SIMPLE, "label", "matrix"), "header": (_SIMPLE,), "cookie": (FORM,),
    "query": (FORM, "spaceDelimited", "pipeDelimited", DEEP, _QUERYSTRING),
    "body": (FORM, "spaceDelimited", "pipeDelimited", DEEP),
}  # fmt: skip
"""The styles of each place, the usual one first (OpenAPI 3.1 section 4.8.12.2)."""
_OPERATORS: Final = {"label": ".", "matrix": ";"}
_IN_PATH: Final = "!$&'()*+,;=:@/"
_QUERY_OPERATORS: Final = "?&"
_LITERAL: Final = "!$&'()*+,;=:@/?#[]-._~%{}"
_DOTTED = re.compile(r"[^.]+(\.[^.]+)*")


@dataclass(frozen=True, slots=True)
class Address:
    """An endpoint of a document: `url` with `{name}` for each variable of the path, `query` the names of `{?name}`."""

    url: str
    variables: tuple[str, ...]
    query: tuple[str, ...] = ()


def address_of(endpoint: str, known: Container[str] = ()) -> Address:
    """Return an endpoint with its variables: `{id}`, `/:id`, `{+path}` and `{id:pattern}` are variables of the path.
    One of the `known` names is taken as it is written."""
    variables: list[str] = []
    query: list[str] = []

    def written(match: re.Match[str]) -> str:
        text = match[1]
        if text in known:
            variables.append(text)
            return match[0]
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


@dataclass(frozen=True, slots=True)
class Style:
    """How a request writes a list or an object (OpenAPI 3.1 section 4.8.12). `exploded`: each of its items by itself.
    `is_reserved`: slashes and other reserved characters of a path stay as they are."""

    name: str
    exploded: bool
    is_reserved: bool = False

    @property
    def shown(self) -> str | None:
        """The name of the style in answers; None where the URL template says all."""
        if self.name == FORM:
            return None if self.exploded else _JOINED
        return None if self.name == _SIMPLE else self.name

    @property
    def is_variable(self) -> bool:
        """Return whether a variable of RFC 6570 can write the value."""
        return self.name in (FORM, _SIMPLE, *_OPERATORS)


def style_of(said: object, place: str) -> Style:
    """Return the style that a document states by the members of `said`, else the usual one of the place."""
    rules = said if isinstance(said, Mapping) else {}
    usual, *others = _BY_PLACE.get(place, (FORM,))
    if "content" in rules or "json" in str(rules.get("contentType")):
        return Style(_CONTENT, False)
    collection = str(rules.get("collectionFormat"))
    name = str(rules.get("style"))
    name = name if name in others else (_OF_COLLECTION.get(collection, usual) if usual == FORM else usual)
    stated = rules.get("explode")
    exploded = stated if isinstance(stated, bool) else name in (FORM, _QUERYSTRING) and collection != "csv"
    if exploded and name in _DELIMITERS:
        name = FORM
    return Style(name, exploded, rules.get("allowReserved") is True)


def varname(name: str) -> str:
    """Return the name of a template's variable: other characters than `A-Za-z0-9._` percent-encoded (section 2.3)."""
    encoded = quote(name, safe="").replace("-", "%2D").replace("~", "%7E")
    return encoded if _DOTTED.fullmatch(encoded) else encoded.replace(".", "%2E")


def template(
    address: Address,
    query: Iterable[tuple[str, bool]],
    renamed: Iterable[tuple[str, str]] = (),
    styles: Mapping[str, Style] | None = None,
) -> str:
    """Return the RFC 6570 template; `query` holds names, and whether a list or an object becomes several pairs;
    `renamed` the names in the query of parameters with another name, and these; `styles` those of the path."""

    def variable(match: re.Match[str]) -> str:
        style = (styles or {}).get(match[1], Style(_SIMPLE, False))
        operator = "+" if style.is_reserved else _OPERATORS.get(style.name, "")
        return f"{{{operator}{varname(match[1])}{'*' if style.exploded else ''}}}"

    url = quote(_BRACED.sub(variable, address.url), safe=_LITERAL)
    for wire, name in renamed:
        url += f"{'&' if '?' in url else '?'}{quote(wire, safe='')}={{{varname(name)}}}"
    names = ",".join(f"{varname(name)}{'*' if exploded else ''}" for name, exploded in query)
    return f"{url}{{{'&' if '?' in url else '?'}{names}}}" if names else url


def expand_url(
    address: Address,
    path: Mapping[str, Any],
    query: Iterable[tuple[str, str]],
    styles: Mapping[str, Style] | None = None,
) -> str:
    """Return the URL with values in the path, in their `styles`, and with a query of pairs."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in path:
            return match[0]
        held, style = path[match[1]], (styles or {}).get(match[1], Style(_SIMPLE, False))
        if style.is_reserved and isinstance(held, str) and match.string[: match.start()].endswith("/"):
            held = held.removeprefix("/")
        return _path_text(match[1], held, style)

    url = quote(_BRACED.sub(value, address.url), safe=_LITERAL)
    pairs = "&".join(f"{quote(name, safe='')}={quote(text, safe='')}" if name else text for name, text in query)
    if not pairs:
        return url
    return url + ("" if url[-1] in "?&" else "&" if "?" in url else "?") + pairs


def _path_text(name: str, value: Any, style: Style) -> str:
    """Return a value as the path has it, encoded (RFC 6570 sections 3.2.2, 3.2.3, 3.2.5, 3.2.7)."""
    safe = _IN_PATH if style.is_reserved else ""
    operator = _OPERATORS.get(style.name, "")
    if style.name == _CONTENT:
        parts = [json_of(value)]
    elif isinstance(value, dict):
        parts = [part for item in value.items() for part in _pair(item, style.exploded, safe)]
    else:
        parts = [quote(text_of(item), safe=safe) for item in (value if isinstance(value, list) else [value])]
    if style.name == _CONTENT:
        parts = [quote(part, safe=safe) for part in parts]
    if operator == ";" and not (style.exploded and isinstance(value, dict)):
        named = [f"{quote(name, safe='')}={part}" for part in (parts if style.exploded else [",".join(parts)])]
        return "".join(f";{part}" for part in named)
    separator = operator if operator and style.exploded else ","
    return operator + separator.join(parts)


def _pair(item: tuple[str, Any], exploded: bool, safe: str) -> list[str]:
    key, text = quote(str(item[0]), safe=safe), quote(text_of(item[1]), safe=safe)
    return [f"{key}={text}"] if exploded else [key, text]


def query_pairs(name: str, value: Any, style: Style = Style(FORM, True)) -> list[tuple[str, str]]:
    """Return the pairs of one parameter in its style. A pair without a name is the encoded query itself."""
    if value is None:
        return []
    if style.name == _CONTENT:
        return [(name, json_of(value))]
    if style.name == _QUERYSTRING and not isinstance(value, dict):
        return [("", quote(text_of(value), safe=""))]
    if style.name == DEEP:
        return _deep_pairs(name, value)
    if not style.exploded and isinstance(value, dict | list):
        items = [part for item in value.items() for part in item] if isinstance(value, dict) else value
        return [(name, _DELIMITERS.get(style.name, ",").join(text_of(item) for item in items))]
    if isinstance(value, list):
        return [(name, text_of(item)) for item in value]
    if isinstance(value, dict):
        return [(key, text_of(item)) for key, item in value.items()]
    return [(name, text_of(value))]


def form_pairs(name: str, value: Any, style: Style | None) -> list[tuple[str, str]]:
    """Return the pairs of one member of a form. Without a style an object is JSON (OpenAPI 3.1 section 4.8.15)."""
    if style is not None:
        return query_pairs(name, value, style)
    return [(name, text_of(item)) for item in (value if isinstance(value, list) else [value]) if item is not None]


def header_text(value: Any, style: Style) -> str:
    """Return a value as the text of a header."""
    if style.name == _CONTENT:
        return json_of(value)
    if isinstance(value, dict):
        pairs = ((key, text_of(item)) for key, item in value.items())
        return ",".join(f"{key}={text}" if style.exploded else f"{key},{text}" for key, text in pairs)
    return text_of(value)


def _deep_pairs(name: str, value: Any) -> list[tuple[str, str]]:
    """Return the pairs of an object, `name[member]`, and of what it contains (OpenAPI 3.1 has no rule for that)."""
    pairs: list[tuple[str, str]] = []
    waiting = [(name, value)]
    while waiting:
        key, held = waiting.pop(0)
        if isinstance(held, dict | list):
            items = held.items() if isinstance(held, dict) else enumerate(held)
            waiting = [*((f"{key}[{inner}]", item) for inner, item in items), *waiting]
        elif held is not None:
            pairs.append((key, text_of(held)))
    return pairs


def text_of(value: Any) -> str:
    """Return a value as a text in a URL or a header: lists by comma, objects as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(not isinstance(item, list | dict) for item in value):
        return ",".join(text_of(item) for item in value)
    return json_of(value)


def json_of(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
