"""Forms of a front page that are tools of declarative WebMCP: `<form toolname="..." tooldescription="...">`.

The document is made of the page (`html_forms.py`), which a whole visit requests anyway. A form with an action of the
site is called by HTTP; any other one is used on its page.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

from registry.core.format_support import common_rules, manifest
from registry.core.format_support.account import Part
from registry.core.format_support.endpoints import endpoint, page
from registry.core.format_support.format import Format, Role
from registry.core.format_support.manifest import ID_CHARS, Notes, Object, flag_of, list_of, map_of, text_of
from registry.core.format_support.params import object_schema
from registry.core.formats.webmcp_forms import rules
from registry.core.formats.webmcp_forms.html_forms import MAX_CONTROLS, TOKEN, tool_forms
from registry.core.model.documents import Document
from registry.core.model.findings import rules_in
from registry.core.model.services import Capability, Confirmation, Invocation, Origin, ParameterPlace, Service
from registry.core.names.domains import host_of, same_site
from registry.core.reading.json_pointer import at

SLUG: Final = "webmcp-forms"
_FORMATS: Final = {"date": "date", "time": "time", "email": "email", "url": "uri", "file": "binary"}
_BOUNDS: Final = {"min": "minimum", "max": "maximum"}
_LENGTHS: Final = {"minlength": "minLength", "maxlength": "maxLength"}
_CHOICES: Final = ("radio", "checkbox")
_SUBMITS: Final = Confirmation(True, "The user submits the form.")


def dialect(document: Document) -> str | None:
    """Recognise what `tool_forms` makes of a page. Only a front page leads to such a document."""
    value = document.members
    return "" if value.get("webmcp") == "declarative" and isinstance(value.get("forms"), list) else None


def read(document: Document, dialect: str, notes: Notes) -> Service:
    value = document.members
    if (total := manifest.count_of(value, "total") or 0) > len(list_of(value, "forms")):
        notes.add(common_rules.TOO_MANY_CAPABILITIES, "/forms", total)
    service = Service(
        description=text_of(map_of(value, "page"), "description"),
        capabilities=tuple(_read_forms(value, document, notes)),
    )
    return manifest.with_provenance(
        service, document, SLUG, {"description": "/page/description", "capabilities": "/forms"}
    )


def _read_forms(value: Object, document: Document, notes: Notes) -> Iterator[Capability]:
    seen: set[str] = set()
    page_url = page(map_of(value, "page").get("url"), document.url) or document.url.partition("#")[0]
    for pointer, form in manifest.members(list_of(value, "forms"), "/forms", rules.NAME, notes):
        name = text_of(form, "toolname", ID_CHARS)
        if name is None:
            notes.add(rules.NAME, pointer)
            continue
        if manifest.is_repeated(name, seen, at(pointer, "toolname"), notes):
            continue
        if manifest.has_template(form, ("toolname", "tooldescription"), pointer, notes):
            continue
        description = text_of(form, "tooldescription")
        if description is None:
            notes.add(rules.DESCRIPTION, pointer, name)
        yield Capability(
            name,
            name,
            description,
            params=_read_params(form, pointer, notes),
            confirmation=None if flag_of(form, "toolautosubmit") else _SUBMITS,
            invocations=(_read_call(form, name, page_url, document, pointer, notes),),
        )


def _read_call(form: Object, name: str, page_url: str, document: Document, pointer: str, notes: Notes) -> Invocation:
    origin = Origin(document.url, pointer, SLUG)
    method, action = (text_of(form, "method") or "get").upper(), text_of(form, "action")
    host, controls = host_of(action or ""), [one for one in list_of(form, "controls") if isinstance(one, dict)]
    is_own = host is not None and same_site(host, host_of(document.url) or "")
    has_token = any(one.get("type") == "hidden" and TOKEN.search(text_of(one, "name") or "") for one in controls)
    if method in ("GET", "POST") and is_own and not has_token:
        address = endpoint(action, document.url, document, at(pointer, "action"), notes)
        if address is not None:
            is_query = method == "GET"
            url = address.url.partition("?")[0] if is_query else address.url  # the fields replace the query
            place: ParameterPlace = "query" if is_query else "body"
            names = dict.fromkeys(text for one in controls if (text := text_of(one, "name", manifest.NAME_CHARS)))
            media_type = None if is_query else text_of(form, "enctype") or "application/x-www-form-urlencoded"
            places = tuple((text, place) for text in names)
            return Invocation("http", url, method, name, places=places, media_type=media_type, origin=origin)
    notes.add(rules.ACTION, pointer, action or "")
    return Invocation("navigation", page_url, None, name, origin=origin)


def _read_params(form: Object, pointer: str, notes: Notes) -> dict[str, Any]:
    """Return the schema of the form's controls, as browsers make it: a property for each name."""
    properties: dict[str, dict[str, Any]] = {}
    required: list[str] = []
    if (total := manifest.count_of(form, "total") or 0) > MAX_CONTROLS:
        notes.add(rules.CONTROL, at(pointer, "controls"), total)
    for index, control in enumerate(list_of(form, "controls")[:MAX_CONTROLS]):
        name = text_of(control, "name", manifest.NAME_CHARS)
        if not isinstance(control, dict) or name is None:
            notes.add(rules.CONTROL, at(pointer, "controls", index), text_of(control, "type") or "")
            continue
        kind = text_of(control, "type")
        if kind == "hidden" and TOKEN.search(name):
            continue
        if name in properties and kind in _CHOICES:
            _add_choice(properties[name], text_of(control, "value") or "on")
        elif name not in properties:
            properties[name] = _read_control(control, kind)
        if flag_of(control, "required"):
            required.append(name)
    return object_schema(properties.items(), required)


def _add_choice(schema: dict[str, Any], choice: str) -> None:
    choices = schema.get("enum", schema.get("items", {}).get("enum"))
    if isinstance(choices, list) and choice not in choices:
        choices.append(choice)


def _read_control(control: Object, kind: str | None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "number" if kind in ("number", "range") else "string"}
    value = text_of(control, "value")
    options = [option for option in list_of(control, "options") if isinstance(option, str) and option]
    if kind in _CHOICES:
        schema["enum"] = [value or "on"]
    elif kind == "select" and options:
        schema["enum"] = options
    elif kind == "hidden" and value is not None:
        schema["const"] = value
    if kind in _FORMATS:
        schema["format"] = _FORMATS[kind]
    if flag_of(control, "multiple"):
        schema = {"type": "array", "items": schema}
    for key, word in (_LENGTHS if schema["type"] == "string" else _BOUNDS).items():
        number = _number(text_of(control, key))
        if number is not None and schema["type"] != "array":
            schema[word] = number
    pattern = text_of(control, "pattern", manifest.NAME_CHARS)
    if pattern and "://" not in pattern:  # an address in a pattern is not recognised as one behind the reader
        schema["pattern"] = f"^(?:{pattern})$"
    for key in ("title", "description"):
        if text := text_of(control, key):
            schema[key] = text
    return schema


def _number(text: str | None) -> int | float | None:
    if text is None or not re.fullmatch(r"-?\d{1,12}(?:\.\d{1,6})?", text):
        return None
    return float(text) if "." in text else int(text)


FORMAT: Final = Format(
    slug=SLUG,
    title="WebMCP forms of the front page",
    spec="WebMCP declarative API, draft",
    cited_as="WebMCP ",
    about=(
        "Attributes turn the forms of a page into tools for an agent in the browser. This registry reads "
        "them on the front page."
    ),
    link="https://github.com/webmachinelearning/webmcp",
    example=(
        '<form toolname="get_weather" tooldescription="Tell the weather of a city." action="/weather">\n'
        '  <label>City <input name="city" required></label>\n'
        "  <button>Ask</button>\n"
        "</form>\n"
    ),
    paths=(),
    role=Role.SERVICE,
    parts=(Part("/forms/[]", "form"),),
    read=read,
    rules=rules_in(rules),
    from_page=tool_forms,
    precedence=165,
)
