"""A web of documents of all formats with a marker in each text, and which texts of an answer its marks cover."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Final

from registry.core.assessing.assess import Assessment, assess_body
from registry.core.format_support.format import Role
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.model.documents import Outcome
from tests.support.builders import Page, Site
from tests.support.shared import ROOT

MARKER: Final = re.compile(r"qz\d{5}qz")
WORD: Final = "flibbertigibbet"
MISSPELT: Final = "flibbertigibet"
"""A word that only a document has, and a query that is corrected to it."""

_FURTHER: Final = ("a2a/registry-extras", "api-catalog/groups")  # with members that no valid case has
_CASES: Final = sorted(
    path
    for pattern in ("*/valid*", *_FURTHER)
    for path in (ROOT / "tests" / "formats").glob(f"{pattern}/response.json")
)
_DETAIL, _TOOLS, _ADP = "adp-detail", "mcp-tools-list", "adp"


@dataclass
class Web:
    """`pages` by host; `bodies` are all planted documents; `planted`: marker -> format of its document."""

    pages: dict[str, dict[str, Page]] = field(default_factory=dict)
    bodies: list[bytes] = field(default_factory=list)
    planted: dict[str, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=count)

    @property
    def sites(self) -> Mapping[str, Site]:
        return self.pages


@dataclass(frozen=True)
class _Case:
    url: str
    media_type: str
    text: str
    slug: str

    @property
    def path(self) -> str:
        return "/" + self.url.split("/", 3)[3]

    def judged(self, text: str) -> Assessment:
        return assess_body(text.encode(), self.url, self.media_type, expected=self.slug)


def planted_web() -> Web:
    """Return one host for each valid fixture that describes a service; the first ADP host serves all others too."""
    web = Web()
    cases = [_case(number, path) for number, path in enumerate(_CASES)]
    adp = next(case for case in cases if case.slug == _ADP)
    main_host = adp.url.split("/")[2]
    main: dict[str, Page] = {}
    detail = next(case for case in cases if case.slug == _DETAIL)
    for case in cases:
        if case.slug in (_DETAIL, _TOOLS):
            continue
        on_main = case is not adp and FORMAT_BY_SLUG[case.slug].role is not Role.SERVICE
        if on_main:
            case = _on_host(case, main_host)
        page = _planted(web, case, keep=frozenset({"detail_url"}) if case is adp else frozenset())
        (main if on_main or case is adp else web.pages.setdefault(case.url.split("/")[2], {}))[case.path] = page
        if case is adp:
            service = case.judged(page.raw.decode()).service
            assert service is not None
            for capability in service.capabilities:
                own = _Case(capability.detail_url or "", detail.media_type, detail.text, detail.slug)
                main[own.path] = _planted(web, own)
    web.pages[main_host] = main
    return web


def _case(number: int, path: Any) -> _Case:
    """Return a fixture on a host of its own."""
    response = json.loads(path.read_text())
    text = (path.parent / "body").read_text(encoding="utf-8-sig")
    case = _Case(response["url"], response["headers"].get("content-type", "").partition(";")[0], text, "")
    case = _Case(case.url, case.media_type, text, path.parent.parent.name)
    return _on_host(case, f"n{number}.{case.url.split('/')[2]}")


def _on_host(case: _Case, host: str) -> _Case:
    old = case.url.split("/")[2]
    return _Case(case.url.replace(old, host), case.media_type, case.text.replace(old, host), case.slug)


def _planted(web: Web, case: _Case, keep: frozenset[str] = frozenset()) -> Page:
    """Return the document with a marker in every text that may have one without changing what the document is."""
    try:
        value: Any = json.loads(case.text)
    except ValueError:
        text = _planted_lines(web, case)
    else:
        _plant(web, case, value, value, keep)
        text = json.dumps(value)
    web.bodies.append(text.encode())
    return Page(text, media_type=case.media_type)


def _plant(web: Web, case: _Case, document: Any, holder: Any, keep: frozenset[str]) -> None:
    """Plant into each text of a holder, and into a new member of each object, in place."""
    original = case.judged(json.dumps(document))
    for key in list(holder) if isinstance(holder, dict) else range(len(holder)):
        item = holder[key]
        if isinstance(item, (dict, list)):
            _plant(web, case, document, item, keep)
        elif isinstance(item, str) and key not in keep:
            marker = _marker(web)
            holder[key] = f"{item}{'/' if re.fullmatch('https?://[^/]+', item) else ''}{marker}"
            if _is_same(case.judged(json.dumps(document)), original):
                web.planted[marker] = case.slug
            else:
                holder[key] = item
    if isinstance(holder, dict):
        key, marker = _marker(web), _marker(web)
        holder[key] = marker
        if _is_same(case.judged(json.dumps(document)), original):
            web.planted[key] = web.planted[marker] = case.slug
        else:
            del holder[key]


def _planted_lines(web: Web, case: _Case) -> str:
    """Return a text with a marker at the end of each line that may have one."""
    lines = case.text.split("\n")
    original = case.judged(case.text)
    for index, line in enumerate(lines):
        if line.strip():
            marker = _marker(web)
            lines[index] = f"{line} {marker}"
            if _is_same(case.judged("\n".join(lines)), original):
                web.planted[marker] = case.slug
            else:
                lines[index] = line
    return "\n".join(lines)


def _marker(web: Web) -> str:
    return f"qz{next(web.numbers):05}qz"


def _is_same(changed: Assessment, original: Assessment) -> bool:
    return changed.outcome is Outcome.FOUND and _shape(changed) == _shape(original)


def _shape(assessment: Assessment) -> tuple[object, ...]:
    capabilities = assessment.service.capabilities if assessment.service else ()
    calls = [len(capability.invocations) for capability in capabilities]
    return assessment.format, assessment.dialect, len(capabilities), calls


# --- what the marks of an answer cover ------------------------------------------------------------------------------


def uncovered(answer: Any) -> Iterator[tuple[str, str]]:
    """Yield path and text of every marker in an answer that no `untrusted_text` covers.

    A list at an object names paths from there: keys joined by dots, arrays passed through; each covers all below it.
    `true` covers the object.
    """
    yield from _uncovered(answer, "", ())


def _uncovered(value: Any, path: str, marked: tuple[tuple[str, ...], ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, list):
        for item in value:
            yield from _uncovered(item, f"{path}[]", marked)
    elif isinstance(value, dict):
        marks = value.get("untrusted_text", ())
        if marks is True:
            return
        marked += tuple(tuple(mark.split(".")) for mark in marks)
        for key, item in value.items():
            if MARKER.search(key):
                yield path, key
            below = tuple(mark[1:] for mark in marked if mark[0] == key)
            if () not in below:
                yield from _uncovered(item, f"{path}.{key}", below)
    elif isinstance(value, str) and (MARKER.search(value) or WORD in value) and path != ".query":  # the client's
        yield path, value


def leads_somewhere(answer: Any) -> Iterator[tuple[str, bool]]:
    """Yield every path of every `untrusted_text` list, and whether the object has a member there."""
    if isinstance(answer, list):
        for item in answer:
            yield from leads_somewhere(item)
    elif isinstance(answer, dict):
        marks = answer.get("untrusted_text", ())
        for mark in marks if isinstance(marks, list) else ():
            yield mark, _has(answer, mark.split("."))
        for item in answer.values():
            yield from leads_somewhere(item)


def _has(value: Any, keys: list[str]) -> bool:
    if isinstance(value, list):
        return any(_has(item, keys) for item in value)
    if not keys:
        return value is not None
    return isinstance(value, dict) and keys[0] in value and _has(value[keys[0]], keys[1:])
