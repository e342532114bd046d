"""Which rules check which demands of a specification."""

from collections.abc import Mapping

from registry.core.format_support.format import Format
from registry.core.formats import FORMATS
from registry.core.model.findings import Rule
from registry.core.scoring.rubric import RUBRIC


def specified() -> tuple[Format, ...]:
    """Return the formats that have a table of the demands of their specification."""
    return tuple(form for form in FORMATS if form.requirements)


def checks(form: Format) -> Mapping[str, tuple[Rule, ...]]:
    """Return the rules that check each demand of a format, by the id of the demand, in the order of the rubric."""
    rules_by_demand: dict[str, list[Rule]] = {row.id: [] for row in form.requirements}
    for rule in RUBRIC.values():
        for demand in (*rule.requirements, *form.checked_by_general_rules.get(rule.code, ())):
            if demand in rules_by_demand:
                rules_by_demand[demand].append(rule)
    return {demand: tuple(rules) for demand, rules in rules_by_demand.items()}
