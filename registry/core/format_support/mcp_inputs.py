"""Read the values that a caller supplies to reach or start an MCP server: headers, variables, environment variables.

Sources: server card v1 (SEP-2127) and server.json, `Input` and `KeyValueInput`; the maps `headers` and `env` in the
configuration files of clients.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from registry.core.format_support.manifest import (
    MAX_TEXTS,
    NAME_CHARS,
    Object,
    first_text,
    flag_of,
    list_of,
    map_of,
    short_text_of,
    text_of,
    texts_of,
)
from registry.core.model.documents import Json
from registry.core.model.services import AuthScheme, Input
from registry.core.reading.plain_text import line

_CREDENTIAL: Final = re.compile(
    r"authorization|cookie|(?:^|[_-])(?:api[_-]?)?(?:key|token|secret|password|passwd|pwd|credentials?)(?:$|[_-])|apikey",
    re.IGNORECASE,
)
_BEARER: Final = re.compile(r"\bbearer\b", re.IGNORECASE)
_SCHEME: Final = re.compile(r"(Bearer|Basic|Token|ApiKey)\s+\S", re.IGNORECASE)
_OPEN_VALUE: Final = re.compile(r"[<{$]|^\s*$|\b(?:YOUR|your)\b|^(?:xxx|\.\.\.)|(?:_|-)here$", re.IGNORECASE)
"""A value that the caller is meant to replace: `<key>`, `${KEY}`, `YOUR_KEY`."""


@dataclass(frozen=True, slots=True)
class InputCredential:
    """A secret that a server wants, and whether it does so in any case."""

    scheme: AuthScheme
    required: bool | None


def flag(holder: Json, *keys: str) -> bool | None:
    """Return the boolean at the first of `keys` that has one, for members with several spellings."""
    return next((value for key in keys if (value := flag_of(holder, key)) is not None), None)


def input_of(item: Object, name: str) -> Input:
    """Return one `Input` by its name. The snake_case spellings are from May 2025."""
    return Input(
        name,
        text_of(item, "description"),
        flag(item, "isRequired", "is_required", "required"),
        flag(item, "isSecret", "is_secret", "secret"),
        first_text(item, "value", chars=2_000),
        first_text(item, "default", chars=2_000),
        texts_of(item, "choices") or texts_of(item, "enum"),
    )


def inputs_of(value: Json) -> tuple[Input, ...]:
    """Return the inputs of a list of `{name, ...}`, or of a map from names to values or descriptions.

    Values of a map are fixed, except placeholders and values named like a credential, which are never repeated.
    """
    found: list[Input] = []
    if isinstance(value, list):
        for item in value[:MAX_TEXTS]:
            if isinstance(item, dict) and (name := short_text_of(item, "name")):
                found.append(input_of(item, name))
            elif isinstance(item, str) and (name := line(item, NAME_CHARS)):
                found.append(Input(name))
    elif isinstance(value, dict):
        for key, item in list(value.items())[:MAX_TEXTS]:
            if not (name := line(key, NAME_CHARS)):
                continue
            if isinstance(item, dict):
                found.append(_without_credential(input_of(item, name)))
            elif isinstance(item, str):
                found.append(_without_credential(Input(name, value=line(item, 2_000) or None)))
            else:
                found.append(Input(name))
    return tuple(dict.fromkeys(found))


def _without_credential(item: Input) -> Input:
    """Return an input of a map without its value if that may be a leftover secret or a placeholder."""
    if item.value is None:
        return item
    if scheme := _SCHEME.match(item.value):
        return replace(item, value=f"{scheme[1]} {{token}}")
    if _OPEN_VALUE.search(item.value):
        return replace(item, value=None, description=item.description or item.value)
    return replace(item, value=None) if _CREDENTIAL.search(item.name) else item


def headers_of(value: Json) -> tuple[tuple[Input, ...], list[InputCredential]]:
    """Return the public headers of a remote, and the headers that carry a secret."""
    plain: list[Input] = []
    secret: list[InputCredential] = []
    is_map = isinstance(value, dict)  # else of a schema in which `isRequired` is false unless stated
    objects = {short_text_of(item, "name"): item for item in value} if isinstance(value, list) else {}
    for item in inputs_of(value):
        variables = map_of(objects.get(item.name, {}), "variables")
        is_secret = item.secret or any(flag(variable, "isSecret", "is_secret") for variable in variables.values())
        if is_secret or (is_map and _CREDENTIAL.search(item.name)):
            required = item.required if is_map else item.required is True
            secret.append(InputCredential(_header_scheme(item, variables), required))
        else:
            plain.append(item)
    return tuple(plain), secret


def _header_scheme(item: Input, variables: Mapping[str, Json]) -> AuthScheme:
    notes = dict.fromkeys(
        text for text in (item.description, *(text_of(variable, "description") for variable in variables.values()))
        if text
    )  # fmt: skip
    note, value = " ".join(notes) or None, item.value or ""
    words = f"{value} {item.description or ''}"
    if item.name.lower() == "authorization" and _BEARER.search(words):
        return AuthScheme("bearer", "header", item.name, "Bearer", note=note)
    prefix = value.partition("{")[0].strip() if "{" in value else None
    return AuthScheme("api_key", "header", item.name, prefix or None, note=note)


def variables_of(url: str, variables: Object) -> tuple[tuple[Input, ...], list[InputCredential]]:
    """Return the public variables of a templated URL, and the secret ones.

    A secret stands in the path, or in the query under the name of its parameter.
    """
    plain: list[Input] = []
    secret: list[InputCredential] = []
    path, _, query = url.partition("?")
    for key, item in list(variables.items())[:MAX_TEXTS]:
        known = input_of(item if isinstance(item, dict) else {}, line(key, NAME_CHARS))
        place = f"{{{key}}}"
        if not known.secret:
            plain.append(known)
        elif place in query:
            pairs = (pair.partition("=") for pair in query.split("&"))
            name = next((name for name, _, value in pairs if place in value), key)
            secret.append(
                InputCredential(AuthScheme("api_key", "query", name, note=known.description), known.required is True)
            )
        elif place in path:
            scheme = AuthScheme("api_key", "path", known.name, note=known.description)
            secret.append(InputCredential(scheme, known.required is True))
    return tuple(plain), secret


def texts_in(holder: Json, key: str) -> tuple[str, ...]:
    """Return the texts of a list as arguments of a command: repetitions count, numbers are written out."""
    items = list_of(holder, key)[:MAX_TEXTS]
    texts = (str(item) if isinstance(item, int | float) and not isinstance(item, bool) else item for item in items)
    return tuple(line(text, 2_000) for text in texts if isinstance(text, str) and text.strip())
