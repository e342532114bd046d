"""Documents for property tests: every fixture, and what becomes of it when anything in it is anything else."""

import json
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

FIXTURES = Path(__file__).parents[1] / "formats"
_LARGEST = 20_000  # bytes: searching is a matter of many documents, not of large ones


@dataclass(frozen=True)
class Fixture:
    """A fixture that is JSON; `slug` is its folder, `expected` what a pointer promised, `out` its expected.json."""

    slug: str
    name: str
    url: str
    expected: str | None
    value: Any
    out: dict[str, Any]

    @property
    def media_type(self) -> str | None:
        kind: str = json.loads((FIXTURES / self.slug / self.name / "response.json").read_text())["headers"].get(
            "content-type", ""
        )
        return kind.partition(";")[0].strip().lower() or None


def _fixtures() -> list[Fixture]:
    found = []
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
            found.append(Fixture(slug, name, response["url"], response.get("expected"), value, out))
    return found


JSON_FIXTURES = _fixtures()
FOUND = [one for one in JSON_FIXTURES if one.out["outcome"] == "found"]
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


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) below `value`."""
    keys = list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    return [place for key in keys for place in [(value, key), *places(value[key])]]


@st.composite
def altered(draw: st.DrawFn, value: Any) -> Any:
    """`value` with one to three of its parts replaced, taken away, repeated, or exchanged for parts of any fixture."""
    changed = deepcopy(value)
    for _ in range(draw(st.integers(1, 3))):
        found = places(changed)
        if not found:
            break
        holder, key = found[draw(st.integers(0, len(found) - 1))]
        act = draw(st.sampled_from(["replace", "replace", "remove", "repeat", "exchange"]))
        if act == "remove":
            del holder[key]
        elif act == "repeat" and isinstance(holder, list):
            holder.append(deepcopy(holder[key]))
        elif act == "exchange":
            others = places(draw(st.sampled_from(JSON_FIXTURES)).value)
            there, other = others[draw(st.integers(0, len(others) - 1))] if others else ({"": None}, "")
            holder[key] = deepcopy(there[other])
        else:
            holder[key] = deepcopy(draw(_odd))
    return changed
