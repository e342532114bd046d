"""docs/reaches.md: which members of each format's documents reach which field of the common model.

Measured, not declared: each member of each fixture below tests/formats/ is left out once, and what then differs in the
service depends on it.
"""

import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from docs.generate.markdown import codes, page, table
from registry.core.assessing.assess import assess_body
from registry.core.formats import FORMATS
from registry.core.model.services import Service

_FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "formats"
_CASES = ("minimal", "valid", "adhoc")
_FIELDS = tuple(field.name for field in fields(Service) if field.name not in ("native", "provenance"))


def reaches_page() -> str:
    """Return the page."""
    return page(
        "From members to fields",
        "Which members of a document reach which field of the common model (`Service` in "
        "`registry/core/model/services.py`), for each format: without the member, the field of at least one fixture "
        "below `tests/formats/` is another. *only kept*: members that reach no field; they are shown below the "
        "format's slug in `native`.",
        "Beyond these, the members `documentation`, `homepage`, `contact`, `publisher`, `repository`, `license`, "
        "`logo`, `tags`, `terms`, `pricing`, `authentication`, their usual spellings, and members that name an MCP "
        "or A2A server, a card or an API description reach their fields in every format that describes a service "
        "(`with_common_members` in `registry/core/format_support/loose_card.py`).",
        *(section for form in FORMATS if (section := _section(form.slug, form.title))),
    )


def _section(slug: str, title: str) -> str:
    members: dict[str, set[str]] = defaultdict(set)
    known: set[str] = set()
    for case in sorted((_FIXTURES / slug).glob("*/body")):
        if case.parent.name.startswith(_CASES):
            for member, changed in _influences(case, slug):
                known.add(member)
                for field in changed:
                    members[field].add(member)
    if not known:
        return ""
    holders = {name.partition(".")[0] for name in known if "." in name}
    kept = known.difference(*members.values()) - holders
    rows = [(f"`{field}`", codes(sorted(members[field]))) for field in _FIELDS if field in members]
    rows += [("only kept", codes(sorted(kept)))] if kept else []
    return f"## {title}\n\n{table(('field', 'members'), rows)}"


def _influences(case: Path, slug: str) -> Iterator[tuple[str, list[str]]]:
    """Yield each member of a document, by its name or `holder.name`, with the fields that differ without it."""
    response = json.loads((case.parent / "response.json").read_text())
    try:
        document = json.loads(case.read_bytes())
    except ValueError:
        return  # a text
    whole = _service(document, response, slug)
    if whole is None or not isinstance(document, dict):
        return
    for name, member in document.items():
        rest = {key: value for key, value in document.items() if key != name}
        empty = {**document, name: [] if isinstance(member, list) else {}}  # recognised by its name alone
        yield name, _differences(whole, _service(rest, response, slug) or _service(empty, response, slug))
        for inner in member if isinstance(member, dict) else ():
            below = {key: value for key, value in member.items() if key != inner}
            yield f"{name}.{inner}", _differences(whole, _service({**document, name: below}, response, slug))


def _service(document: Any, response: dict[str, Any], slug: str) -> Service | None:
    assessment = assess_body(json.dumps(document).encode(), response["url"], expected=response.get("expected"))
    return assessment.service if assessment.format == slug else None


def _differences(whole: Service, rest: Service | None) -> list[str]:
    """Return the fields that differ; none where the rest is of no format, which says nothing about fields."""
    return [name for name in _FIELDS if rest is not None and getattr(whole, name) != getattr(rest, name)]
