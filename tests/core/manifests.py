"""Documents for property tests: every fixture, and variants in which any part is replaced by anything."""

import json
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

FIXTURES = Path(__file__).parents[1] / "formats"
_LARGEST = 20_000  # bytes: the search needs many documents, not large ones


@dataclass(frozen=True)
class Fixture:
    """A JSON fixture; `slug` is its folder, `expected` the format that a pointer promised, `out` its expected.json."""

    slug: str
    name: str
    url: str
    expected: str | None
    value: Any
    out: dict[str, Any]

    @property
    def media_type(self) -> str | None:
        content_type: str = json.loads((FIXTURES / self.slug / self.name / "response.json").read_text())["headers"].get(
            "content-type", ""
        )
        return content_type.partition(";")[0].strip().lower() or None


def _fixtures() -> list[Fixture]:
    fixtures = []
    for body in sorted(FIXTURES.glob("*/*/body")):
        response = json.loads((body.parent / "response.json").read_text())
        out = json.loads((body.parent / "expected.json").read_text())
        raw = body.read_bytes()
        try:
            value = json.loads(raw.decode("utf-8-sig"))
        except ValueError:
            continue
        if len(raw) < _LARGEST:
            slug, name = body.parent.parent.name, body.parent.name
            fixtures.append(Fixture(slug, name, response["url"], response.get("expected"), value, out))
    return fixtures


JSON_FIXTURES = _fixtures()
FOUND = [fixture for fixture in JSON_FIXTURES if fixture.out["outcome"] == "found"]
BODIES = [path.read_bytes() for path in sorted(FIXTURES.glob("*/*/body"))]

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts
    | st.sampled_from(["", "{{a}}", "{b}", "https://[::1]/", "https://a.example/{b}", "//x", "#/a", "\u202ea", "get"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)
_odd = json_values | st.sampled_from([[], {}, [None, 1, "a", {}, []], {"": ""}, {"$ref": "#"}, {"type": []}, -1, "x"])


def container_keys(value: Any) -> list[tuple[Any, Any]]:
    """Return every (container, key) below `value`."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [entry for key in keys for entry in [(value, key), *container_keys(value[key])]]


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """Draw `value` with one to three parts replaced, removed, repeated, or exchanged for parts of any fixture."""
    changed = deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        entries = container_keys(changed)
        if not entries:
            break
        container, key = entries[draw(st.integers(0, len(entries) - 1))]
        operation = draw(st.sampled_from(["replace", "replace", "remove", "repeat", "exchange"]))
        if operation == "remove":
            del container[key]
        elif operation == "repeat" and isinstance(container, list):
            container.append(deepcopy(container[key]))
        elif operation == "exchange":
            source_entries = container_keys(draw(st.sampled_from(JSON_FIXTURES)).value)
            source, source_key = (
                source_entries[draw(st.integers(0, len(source_entries) - 1))] if source_entries else ({"": None}, "")
            )
            container[key] = deepcopy(source[source_key])
        else:
            container[key] = deepcopy(draw(_odd))
    return changed
