"""A client that reads nothing but the text of MCP's results, as a model would (docs/interfaces/mcp.md has its form)."""

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, urlencode, urlsplit, urlunsplit

from benchmarks.mcp.task_judge import Sent

SECRET: Final = "s3cret"
"""What the client has as its credential."""
_ROW: Final = re.compile(r'\d+\. (\S+) "[^"]*": (confident|nearest|not confident),')
_CALL: Final = re.compile(
    r'([a-z0-9_]+)(?:(?:, a page for people: open)? +(?:[A-Z]+ )?"([^"]*)"| over standard input)'  # not "none (reason)"
)
_PARAMETER: Final = re.compile(r" \((.*?), (required|optional)(?:, in (\w+)|, is the body)?(?:, sent as )?")
_PLACEHOLDER: Final = re.compile(r"YOUR_[A-Z0-9_]+")
_JSON: Final = json.JSONDecoder()
_WITHOUT_BODY: Final = ("GET", "HEAD", "DELETE")


class Unfit(Exception):
    """The text does not suffice for a request; the message says why."""


@dataclass(frozen=True, slots=True)
class Parameter:
    type: str = ""
    is_required: bool = True
    place: str = ""


@dataclass(slots=True)
class Told:
    """What a text says about one capability. `row_confident`: of its row; `confident`: of the row and itself.
    `request`: as the text has it; `template`: its address."""

    host: str
    row_confident: bool = True
    confident: bool = True
    name: str | None = None
    kind: str = ""
    template: str = ""
    request: dict[str, Any] | None = None
    start: Any = None
    made_up: list[str] = field(default_factory=list)
    takes: set[str] = field(default_factory=set)
    parameters: dict[str, Parameter] = field(default_factory=dict)
    credentials: set[str] = field(default_factory=set)

    @property
    def has_call(self) -> bool:
        return self.kind != ""

    def read(self, said: str) -> None:
        """Take in one line."""
        beginning, _, rest = said.strip().partition(": ")
        if beginning == "capability" and rest.startswith('"'):
            self.name, end = _JSON.raw_decode(rest)
            self.confident = self.row_confident and not rest.startswith(", not confident", end)
        elif beginning == "call" and (match := _CALL.match(rest)):
            self.kind, self.template = match[1], match[2] or ""
        elif beginning == "request":
            self.request = json.loads(rest)
        elif beginning == "start":
            self.start = json.loads(rest)
        elif beginning == "made up":
            self.made_up = [name for name, _ in _names(rest)]
        elif beginning == "takes":
            self.takes = {name for name, _ in _names(rest.replace(" (required)", ""))}
        elif beginning == "credentials":
            self.credentials |= set(_PLACEHOLDER.findall(rest))
        elif beginning == "parameter":
            name, end = next(_names(rest))
            if match := _PARAMETER.match(rest, end):
                sent_as = next(_names(rest[match.end() :]), (name, 0))[0]
                self.parameters[sent_as] = Parameter(match[1], match[2] == "required", match[3] or "")


def rows_of(text: str) -> list[Told]:
    """Return the rows of discover_services."""
    rows: list[Told] = []
    for said in text.splitlines():
        if match := _ROW.match(said):
            rows.append(Told(match[1], match[2] == "confident"))
        elif rows and said.startswith("   "):
            rows[-1].read(said)
    return rows


def capability_of(text: str, host: str) -> Told:
    """Return what get_capability says."""
    told = Told(host)
    for said in text.splitlines():
        told.read(said)
    return told


def suffices(told: Told, values: Mapping[str, str]) -> bool:
    """Return whether a row has a request in which all that the caller knows has its place."""
    if told.kind in ("navigation", "a2a_skill", "mcp_server"):
        return told.kind == "navigation" or told.request is not None
    if told.request is None:
        return False
    shown = {*told.made_up, *_variables(told.template), *_members(told.request.get("body"))}
    return set(told.made_up) <= set(values) and {name for name in values if name in (told.takes or values)} <= shown


def _variables(template: str) -> set[str]:
    """Return the names of the variables of a URL template (RFC 6570)."""
    return {name for part in re.findall(r"\{[?&+]?([^{}]*)\}", template) for name in part.split(",")}


def _members(value: Any) -> Iterator[str]:
    """Yield the names of the members of a value, at any depth."""
    if isinstance(value, dict):
        yield from value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _members(part)


def fill(told: Told, values: Mapping[str, str], sentence: str) -> Sent:
    """Return the request with what the caller knows, by name. Raise Unfit. `sentence`: what an agent is asked without
    a value `text`."""
    if told.kind == "navigation":
        return Sent("GET", told.template)
    if told.request is None:
        raise Unfit("no request in the text")
    request = deepcopy(told.request)
    body: Any = request.get("body")
    if told.kind == "a2a_skill":
        for part in _parts(body):
            part["text"] = values.get("text", sentence)
    else:
        for name in told.made_up:
            if name not in values and told.parameters.get(name, Parameter()).is_required:
                raise Unfit(f"no value for {name}")
        named = {*told.parameters, *told.takes}
        known = {name: value for name, value in values.items() if name in named or not named}
        if told.kind == "mcp_tool":
            _fill_members(body["params"]["arguments"], told, known)
        elif told.kind == "woa_operation":
            _fill_members(body["input"], told, known)
        elif told.kind == "http":
            _fill_http(request, told, known)
    placeholders = {f"YOUR_{name.upper()}": value for name, value in values.items()}
    placeholders |= dict.fromkeys(told.credentials, SECRET) | {"YOUR_CLIENT": "tasks"}
    request, start = _replaced(request, placeholders), _replaced(told.start, dict.fromkeys(told.credentials, SECRET))
    fields = (request.get("method", ""), request.get("url", ""), request.get("headers", {}))
    return Sent(*fields, request.get("body"), start)


def _names(text: str) -> Iterator[tuple[str, int]]:
    """Yield the JSON strings of a list that begins a text, each with its end."""
    end = 0
    while text.startswith('"', end):
        name, end = _JSON.raw_decode(text, end)
        yield name, end
        end += 2 if text.startswith(", ", end) else 0


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the parts of a message that have a text."""
    if isinstance(value, dict):
        if isinstance(value.get("text"), str):
            yield value
        value = list(value.values())
    for part in value if isinstance(value, list) else ():
        yield from _parts(part)


def _replaced(value: Any, placeholders: Mapping[str, str]) -> Any:
    """Return a JSON value with its placeholders replaced; unknown ones stay, and the judge finds them."""
    return json.loads(
        _PLACEHOLDER.sub(
            lambda match: json.dumps(placeholders.get(match[0], match[0]))[1:-1],
            json.dumps(value),
        )
    )


def _fill_members(members: dict[str, Any], told: Told, values: Mapping[str, str]) -> None:
    for name, value in values.items():
        place, key = _member_of(members, name)
        place[key] = _typed(value, told.parameters.get(name, Parameter()).type, place.get(key))
    for name in told.made_up:
        if name not in values:
            members.pop(name, None)


def _member_of(members: dict[str, Any], name: str) -> tuple[dict[str, Any], str]:
    """Return the object and the key in it for a name, which may be a path (`a.b`, `a[b]`) where the request has one."""
    first, *others = (part for part in re.split(r"[\[\].]+", name) if part)
    if name in members or not others or not isinstance(members.get(first), dict):
        return members, name
    return _member_of(members[first], ".".join(others))


def _fill_http(request: dict[str, Any], told: Told, values: Mapping[str, str]) -> None:
    url = urlsplit(request["url"])
    query, path, of_body = dict(parse_qsl(url.query, keep_blank_values=True)), url.path, dict[str, str]()
    for name, value in values.items():
        place = told.parameters.get(name, Parameter()).place
        if not place and (request["method"] in _WITHOUT_BODY or name in _variables(told.template)):
            place = "path" if re.search(rf"\{{\+?{re.escape(name)}\}}", told.template) else "query"
        if place == "path":
            path = _in_path(told.template, path, name, value)
        elif place == "query":
            query[name] = value
        elif place == "header":
            request["headers"][name] = value
        else:
            of_body[name] = value
    for name in told.made_up:
        if name not in values:
            query.pop(name, None)
    request["url"] = urlunsplit(url._replace(path=path, query=urlencode(query)))
    if of_body or isinstance(request.get("body"), dict):
        request.setdefault("body", {})
        _fill_members(request["body"], told, of_body)
        request["headers"].setdefault("Content-Type", "application/json")


def _in_path(template: str, path: str, name: str, value: str) -> str:
    """Return the path with the segment of a variable replaced, found by the template's segments."""
    wanted, got = urlsplit(re.sub(r"\{[?&][^{}]*\}", "", template)).path.split("/"), path.split("/")
    for index, segment in enumerate(wanted[: len(got)]):
        if segment in (f"{{{name}}}", f"{{+{name}}}"):
            got[index] = quote(value, safe="")
    return "/".join(got)


def _typed(value: str, kind: str, shown: Any) -> Any:
    """Return a value in the type that the text names, else in that of the value in the example."""
    if kind.startswith("list") or (not kind and isinstance(shown, list)):
        return json.loads(value) if value.startswith("[") else [value]
    if kind.startswith("string") or (not kind and isinstance(shown, str)):
        return value
    with contextlib.suppress(ValueError):
        return json.loads(value)
    return value
