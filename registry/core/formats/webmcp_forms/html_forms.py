"""Find the forms of a front page that are tools of declarative WebMCP, and describe them as a JSON document.

The page is parsed only if it has the attribute `toolname`. Scripts are not run, so tools that a script registers are
not seen.
"""

import re
from itertools import chain, islice
from typing import Any, Final

from registry.core.format_support.manifest import TEXT_CHARS
from registry.core.format_support.params import MAX_ENUM
from registry.core.model.documents import Json
from registry.core.names.domains import parse_url
from registry.core.reading.plain_text import line

MAX_FORMS: Final = 50
MAX_CONTROLS: Final = 200
_MAX_READ: Final = 1_000  # controls of a form that are looked at
_MAX_LABELS: Final = 5_000
_MAX_PIECES: Final = 50  # elements of a label whose texts are read
_BUTTONS: Final = frozenset({"submit", "reset", "button", "image"})
_KEPT: Final = ("min", "max", "step", "pattern", "minlength", "maxlength", "value")
_FLAGS: Final = ("required", "multiple")
_CONTROLS: Final = ("input", "select", "textarea")
TOKEN: Final = re.compile(r"csrf|xsrf|nonce|token|authenticity|__requestverification|captcha", re.IGNORECASE)
"""Names of hidden controls that only a visit of the page can fill. Their values are not kept: each page has others."""

_INNER: Final = frozenset({"select", "optgroup", "option", "textarea", "button"})  # their texts are no label


def tool_forms(body: bytes, url: str) -> dict[str, Json] | None:
    """Return the forms of the page served at `url` that have a tool's name; None for a page without any."""
    if b"toolname" not in body and b"toolName" not in body:  # of nearly all pages nothing more is read
        return None
    from lxml import etree  # here, because commands that read no page should not wait for it

    page = body.decode("utf-8", "replace").replace("\0", "\ufffd")
    parser = etree.HTMLParser(encoding="utf-8", no_network=True, remove_comments=True, remove_pis=True)
    try:
        root = etree.fromstring(page.encode(), parser)
    except (etree.LxmlError, ValueError):
        return None
    if root is None:
        return None
    forms = [
        form for form in root.iter("form")
        if form.get("toolname") is not None and next(form.iterancestors("template", "noscript"), None) is None
    ]  # fmt: skip
    if not forms:
        return None
    base = _resolve(next((one.get("href") for one in root.iter("base") if one.get("href")), None), url) or url
    labels: dict[Any, str] = {}  # texts by the label itself and by the id of its control
    for label in islice(root.iter("label"), _MAX_LABELS):
        labels[label] = text = _read_label(label)
        if label.get("for"):
            labels[label.get("for")] = text
    outside: dict[str, list[Any]] = {}
    for control in root.iter(*_CONTROLS):
        if control.get("form"):
            outside.setdefault(control.get("form"), []).append(control)
    found: list[Json] = [_describe(form, base, labels, outside.pop(form.get("id"), ())) for form in forms[:MAX_FORMS]]
    about = _without_none({"url": url, "description": _meta(root)})
    return {"webmcp": "declarative", "page": about, "forms": found, "total": len(forms)}


def _describe(form: Any, base: str, labels: dict[Any, str], outside: Any) -> Json:
    within = (one for one in form.iter(*_CONTROLS) if one.get("form") in (None, form.get("id")))
    distinct = {id(one): one for one in chain(islice(within, _MAX_READ), islice(outside, _MAX_READ))}.values()
    controls = [control for one in distinct if (control := _control(one, labels)) is not None]
    written = (form.get("action") or "").strip()
    return _without_none({
        "toolname": _text(form.get("toolname")),
        "tooldescription": _text(form.get("tooldescription")),
        "toolautosubmit": True if form.get("toolautosubmit") is not None else None,
        "action": None if not written or written.startswith("#") else _resolve(written, base) or _text(written),
        "method": _text(form.get("method")),
        "enctype": _text(form.get("enctype")),
        "controls": controls[:MAX_CONTROLS],
        "total": len(controls) if len(controls) > MAX_CONTROLS else None,
    })  # fmt: skip


def _control(element: Any, labels: dict[Any, str]) -> Json:
    """Return a control that the form sends; None for buttons and disabled controls."""
    kind = (element.get("type") or "text").strip().lower() if element.tag == "input" else element.tag
    if kind in _BUTTONS or element.get("disabled") is not None:
        return None
    label = labels.get(element.get("id") or "") or labels.get(next(element.iterancestors("label"), None))
    told = element.get("toolparamdescription") or label
    control: dict[str, Json] = {
        "name": _text(element.get("name")),
        "type": line(kind, 50),
        "title": _text(element.get("toolparamtitle")),
        "description": _text(told or element.get("aria-description")),
        **{flag: True for flag in _FLAGS if element.get(flag) is not None},
        **{key: _text(element.get(key)) for key in _KEPT},
    }
    if kind == "hidden" and TOKEN.search(element.get("name") or ""):
        control["value"] = None
    if element.tag == "select":
        options = islice(element.iter("option"), MAX_ENUM)
        control["options"] = [_text(one.get("value", one.text or "")) or "" for one in options]
    return _without_none(control)


def _read_label(label: Any) -> str:
    pieces = [label.text]
    for element in islice(label.iterdescendants(), _MAX_PIECES):
        pieces += [None if element.tag in _INNER else element.text, None if element.tag == "option" else element.tail]
    return line(" ".join(piece for piece in pieces if piece), TEXT_CHARS)


def _meta(root: Any) -> str | None:
    described = (one.get("content") for one in root.iter("meta") if (one.get("name") or "").lower() == "description")
    return _text(next(described, None))


def _text(value: str | None) -> str | None:
    return (line(value, TEXT_CHARS) or None) if value is not None else None


def _resolve(target: str | None, base: str) -> str | None:
    parsed = parse_url(target.strip(), base) if target else None
    return parsed.href if parsed is not None else None


def _without_none(members: dict[str, Any]) -> dict[str, Json]:
    return {key: value for key, value in members.items() if value is not None}
