"""The queries that deploy/ ships: of alerts, of the dashboard, and of the autoscaler of workers."""

import json
from collections.abc import Iterator
from typing import Any, Final

import promql_parser
import yaml

from tests.support.shared import ROOT

ALERTS: Final[list[dict[str, Any]]] = [
    rule
    for group in yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())["groups"]
    for rule in group["rules"]
]
DASHBOARD: Final[dict[str, Any]] = json.loads((ROOT / "deploy" / "grafana" / "dashboard.json").read_text())
ADAPTER: Final[dict[str, Any]] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "adapter.yaml").read_text())
VARIABLES: Final = {"$__rate_interval": "5m", "$job": "waypost.*"}
"""Variables of the dashboard, with the values that Grafana gives them."""

OF_PROMETHEUS: Final = frozenset({"job", "instance", "namespace", "pod", "le"})
"""Labels that are not in what a process answers: Prometheus adds them, and a histogram's classes have `le`."""


def shipped_queries() -> Iterator[tuple[str, str]]:
    """Yield each query with the name of its alert or panel."""
    for rule in ALERTS:
        yield rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", []):
            query = target["expr"]
            for name, value in VARIABLES.items():
                query = query.replace(name, value)
            yield panel["title"], query
    for rule in ADAPTER["rules"]["external"]:
        yield (
            "adapter",
            rule["metricsQuery"].replace("<<.Series>>", rule["seriesQuery"]).replace("{<<.LabelMatchers>>}", ""),
        )


def used_labels(query: str) -> Iterator[tuple[str, str, str | None]]:
    """Yield each metric of a query with a label that is matched on it or grouped by, and the value that it must have
    (None: any). Raise ValueError for a query that does not parse."""
    used: list[tuple[str, str, str | None]] = []
    names: set[str] = set()
    grouped: set[str] = set()

    def visit(node: Any) -> None:
        if isinstance(node, promql_parser.VectorSelector) and node.name is not None:
            names.add(node.name)
            for one in node.matchers.matchers:
                used.append((node.name, one.name, one.value if one.op == promql_parser.MatchOp.Equal else None))
        if isinstance(node, promql_parser.AggregateExpr) and node.modifier is not None:
            grouped.update(node.modifier.labels)
        if isinstance(node, promql_parser.BinaryExpr) and node.modifier is not None and node.modifier.matching:
            grouped.update(node.modifier.matching.labels)

    promql_parser.walk(promql_parser.parse(query), pre_visit=visit)
    yield from used
    yield from ((name, label, None) for name in names for label in grouped | {"job"})
