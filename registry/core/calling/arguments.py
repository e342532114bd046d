"""The arguments of an example call: a valid value for each required parameter, and the document's own for others.

They are made once, when a service is recorded, and stored beside the capability (`example_of` in `call`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from registry.core.calling.effort import MAX_VALUE_WEIGHT, Effort, OutOfEffort, weight_of
from registry.core.calling.examples import Filler, Unfillable, is_plain
from registry.core.calling.schemas import Root, fault
from registry.core.format_support.params import MAX_PARAMS

NOT_DESCRIBED: Final = "no document describes the parameters"
NOT_MADE: Final = "the example is made when this registry reads the documents again"
TOO_LONG: Final = "the example would be longer than 64 KB"

_NO_EXAMPLES: Final = (
    "default",
    "enum",
    "const",
)  # of all arguments together: a default says what happens without them


@dataclass(frozen=True, slots=True)
class Missing:
    """What an example lacks, and why."""

    what: str
    why: str

    def to_json(self) -> dict[str, str]:
        return {"what": self.what, "why": self.why}


@dataclass(frozen=True, slots=True)
class Arguments:
    """`derived` names the arguments whose value was made, because the document gives none that is valid."""

    values: dict[str, Any]
    derived: tuple[str, ...] = ()
    missing: tuple[Missing, ...] = ()

    def to_json(self) -> dict[str, Any]:
        missing = [part.to_json() for part in self.missing]
        return {"values": self.values, "derived": list(self.derived), "missing": missing}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "Arguments":
        missing = tuple(Missing(part["what"], part["why"]) for part in stored["missing"])
        return cls(stored["values"], tuple(stored["derived"]), missing)


Source = Callable[[Mapping[str, Any] | None, Mapping[str, Any]], Arguments]
"""Returns the arguments for a schema and for the values that an example of the document gives."""


def no_arguments(why: str) -> Arguments:
    return Arguments({}, missing=(Missing("parameters", why),))


def arguments_of(params: Mapping[str, Any] | None, effort: Effort, given: Mapping[str, Any] | None = None) -> Arguments:
    """Return the arguments of an example call under `params`, a JSON Schema of an object.

    `given` are values by name from an example request of the document: used where they are valid. Without enough
    effort there are none, and `missing` says so.
    """
    if params is None:
        return no_arguments(NOT_DESCRIBED)
    try:
        found = _arguments_of(params, effort, given)
        weight = weight_of(found.values, MAX_VALUE_WEIGHT)
        effort.spend(10 * weight)  # of storing and sending it
    except OutOfEffort as spent:
        return no_arguments(str(spent))
    return no_arguments(TOO_LONG) if weight > MAX_VALUE_WEIGHT else found  # guard: example-size


def _arguments_of(params: Mapping[str, Any], effort: Effort, given: Mapping[str, Any] | None) -> Arguments:
    root = Root(params, effort)
    filler = Filler(root)
    described = {key: value for key, value in params.items() if key not in _NO_EXAMPLES}
    whole = filler.documented(described) if {"examples", "example"} & params.keys() else []
    if whole and isinstance(whole[0], dict):
        return Arguments(whole[0])
    rules = root.keywords(params)
    required = _required(rules, filler, given or {})
    complete = _with_documented(root, rules, required)
    if is_plain(rules):
        return complete
    settled = root.settled(params)
    if fault(settled, complete.values, effort) is None:
        return complete
    problem = fault(settled, required.values, effort)
    if problem is None or required.missing:
        return required
    return _as_a_whole(root, params, settled, no_arguments(problem))


def _required(rules: Mapping[str, Any], filler: Filler, given: Mapping[str, Any]) -> Arguments:
    """Return values of the required properties alone, each by itself, and of those that are given."""
    properties = rules.get("properties", {})
    values, derived, missing = {}, [], []
    known = {name: value for name, value in given.items() if filler.fits(properties.get(name, False), value)}
    for name in rules.get("required", ())[:MAX_PARAMS]:
        if name in known:
            continue
        filler.made = False
        try:
            values[name] = filler.value(properties.get(name, True))
        except Unfillable as error:
            missing.append(Missing(name, str(error)))
            continue
        derived += [name] if filler.made else []
    return Arguments({**values, **known}, tuple(derived), tuple(missing))


def _with_documented(root: Root, rules: Mapping[str, Any], required: Arguments) -> Arguments:
    """Return the arguments with optional ones for which the document has an example or a default."""
    properties = rules.get("properties", {})
    values = dict(required.values)
    for name, schema in list(properties.items())[:MAX_PARAMS]:
        resolved = root.resolved(schema)
        root.effort.spend(10)
        if name in values or isinstance(resolved, bool) or not {"examples", "example", "default"} & resolved.keys():
            continue
        root.effort.spend(len(resolved))
        given = {key: value for key, value in resolved.items() if key not in ("enum", "const")}
        own = Filler(root).documented(given)
        values |= {name: own[0]} if own else {}
    order = {name: position for position, name in enumerate(properties)}
    ordered = dict(sorted(values.items(), key=lambda item: order.get(item[0], len(order))))
    return Arguments(ordered, required.derived, required.missing)


def _as_a_whole(root: Root, params: Mapping[str, Any], settled: Any, otherwise: Arguments) -> Arguments:
    """Return values for a schema that says more than its properties do, such as `anyOf` beside them."""
    filler = Filler(root)
    try:
        values = filler.value({key: value for key, value in params.items() if key not in _NO_EXAMPLES})
    except Unfillable as error:
        return no_arguments(str(error))
    if not isinstance(values, dict) or fault(settled, values, root.effort) is not None:
        return otherwise
    return Arguments(values, tuple(values))
