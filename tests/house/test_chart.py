"""deploy/helm, the alerts and the dashboard agree with the code: settings, secrets, commands, ports, refused networks.

These tests need no helm; `make chart` renders the chart and asks helm, Kubernetes and Prometheus.
"""

import json
import re
import tomllib
from typing import Any

import jsonschema_rs
import pytest
import typer
import yaml

from registry import cli
from registry.core.names.addresses import V6
from registry.edge.middleware import _UNLIMITED
from registry.settings import Settings, is_secret, variable
from tests.house.test_compose import DOCKERFILE
from tests.house.test_deploy import SHIPPED, blocks, options_of
from tests.support.queries import ADAPTER, ALERTS, DASHBOARD
from tests.support.shared import ROOT

CHART = ROOT / "deploy" / "helm" / "waypost"
TEMPLATES = {path.name: path.read_text() for path in (CHART / "templates").iterdir()}
ALL_TEMPLATES = "\n".join(TEMPLATES.values())
SCHEMA = jsonschema_rs.Draft7Validator(json.loads((CHART / "values.schema.json").read_text()))
VALUES: dict[str, Any] = yaml.safe_load((CHART / "values.yaml").read_text())
PAGE = (ROOT / "docs" / "operations.md").read_text()

OWN = {"WAYPOST_DATA", "WAYPOST_OPT_OUT_FILE", "WAYPOST_DUMPS", "WAYPOST_SIGNING_KEYS", "MEILI_KEYS"}
"""Settings that the chart sets itself, because its volumes are there."""
ELSEWHERE = {"WAYPOST_SERVE_METRICS"}
"""Given as an option."""


def with_values(**changed: Any) -> dict[str, Any]:
    """Return the values of the chart with the settings and secrets that it demands, and these changes."""
    needed = {"settings": {"WAYPOST_PUBLIC_URL": "https://registry.example"}}
    secrets = {"secrets": {"DATABASE_URL": {"name": "database", "key": "uri"}}}
    return VALUES | needed | secrets | changed


def is_accepted(values: dict[str, Any]) -> bool:
    return bool(SCHEMA.is_valid(values))


def test_the_chart_demands_what_has_no_default_and_nothing_else() -> None:
    assert is_accepted(with_values())
    assert not is_accepted(VALUES)


@pytest.mark.parametrize("field", Settings.model_fields)
def test_every_setting_is_taken_where_it_belongs(field: str) -> None:
    """A secret by reference, never as a value; a path that the chart chooses, nowhere; each other one as a setting."""
    name, settings = variable(field), with_values()["settings"]
    secrets = with_values()["secrets"]
    is_own = name in OWN | ELSEWHERE
    value = "https://registry.example"
    assert is_accepted(with_values(settings=settings | {name: value})) is not (is_secret(field) or is_own)
    assert is_accepted(with_values(secrets=secrets | {name: {"name": "some", "key": "key"}}))
    assert not is_accepted(with_values(secrets=secrets | {name: "in plain"}))


def test_the_settings_of_the_chart_exist() -> None:
    """Also names in templates and comments, such as in NOTES.txt."""
    texts = ALL_TEMPLATES + (CHART / "values.yaml").read_text()
    known = {variable(name) for name in Settings.model_fields}
    assert set(re.findall(r"\b(?:WAYPOST|MEILI)_[A-Z_]*[A-Z]\b|\bDATABASE_URL\b", texts)) <= known
    assert set(re.findall(r'"((?:WAYPOST|MEILI)_[A-Z_]+)" "/', ALL_TEMPLATES)) == OWN


@pytest.mark.parametrize(
    ("part", "wrong"),
    [
        ("settings", {"WAYPOST_PUBLIC_URL": ""}),
        ("settings", {"WAYPOST_PUBLIC_URL": "https://a.example", "WAYPOST_SIGNING_TOKEN": "in plain"}),
        ("settings", {"WAYPOST_PUBLIC_URL": "https://a.example", "WAYPOST_TRUSTED_PROXIES": ["10.0.0.0/8"]}),
        ("secrets", {"DATABASE_URL": {"name": "", "key": "uri"}}),
        ("optOuts", {"mode": "none"}),
        ("optOuts", {"accessModes": []}),
        ("api", {"replicas": 0}),
        ("api", {"replica": 2}),
        ("api", {"autoscaling": {"enabled": True, "cpuPercent": 700}}),
        ("ingress", {"enabled": True, "host": "", "tlsSecret": ""}),
        ("image", {"digest": "sha256:abc"}),
        ("metrics", {"port": 0}),
        ("replicas", 3),
    ],
)
def test_wrong_values_are_refused(part: str, wrong: Any) -> None:
    assert not is_accepted(with_values(**{part: wrong}))


def test_every_value_that_a_template_uses_has_a_default() -> None:
    for path in re.findall(r"\.Values\.((?!settings|secrets)(?:[a-zA-Z]+\.)*[a-zA-Z]+)", ALL_TEMPLATES):
        values = VALUES
        for name in path.split("."):
            assert name in values, path
            values = values[name]


def test_every_command_and_option_exists() -> None:
    program: Any = typer.main.get_command(cli.app)
    commands = re.findall(r"^ *args: \[([a-z-]+)(.*)\]$", ALL_TEMPLATES, re.MULTILINE)
    assert {name for name, _ in commands} == {"serve", "worker", "schedule", "migrate", "search-keys"}
    for name, options in commands:
        assert set(re.findall(r"--[a-z-]+", options)) <= options_of(program.commands[name])
    for line in re.findall(r"(?:^ +|-- )waypost ([a-z -]+[a-z])", ALL_TEMPLATES, re.MULTILINE):
        words, command = line.split(), program
        while words and words[0] in getattr(command, "commands", ()):
            command = command.commands[words.pop(0)]
        assert command is not program and (words == ["--help"] or not getattr(command, "commands", ())), line


def test_the_crawler_is_denied_every_special_purpose_block() -> None:
    text = TEMPLATES["networkpolicy.yaml"]
    (web4, except4), (web6, except6) = re.findall(r"cidr: (\S+)\n +except:\n((?: +- [0-9a-f.:/]+\n)+)", text)
    assert (web4, web6) == ("0.0.0.0/0", "2000::/3")  # the guard lets through nothing outside 2000::/3
    assert blocks(except4) == (SHIPPED[0], [])
    inside = [row.prefix for row in V6 if re.match("[23][0-9a-f]{3}:", row.prefix)]
    assert blocks(except6) == ([], blocks(" ".join(inside))[1])
    assert re.findall(r"port: (443|80)\b", text) == ["443"]


def test_pods_run_as_the_image_s_account_and_version() -> None:
    (user,) = re.findall(r"^USER (\d+):\1$", DOCKERFILE, re.MULTILINE)
    assert set(re.findall(r"(?:runAsUser|runAsGroup|fsGroup): (\d+)", ALL_TEMPLATES)) == {user}
    (created,) = re.findall(r"install -d -o waypost -g waypost -m 0700 (.+)$", DOCKERFILE, re.MULTILINE)
    assert {"/keys/search", "/keys/feeding", "/opt-outs", "/data"} == {*created.split()}
    mounted = set(re.findall(r"mountPath: (\S+?)[,}]", ALL_TEMPLATES))
    assert mounted - {"/tmp", "/keys"} == {*created.split(), "/dumps", "/signing-keys"}
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert chart["version"] == chart["appVersion"] == version


def test_probes_ask_paths_that_exist() -> None:
    assert set(re.findall(r"httpGet: \{path: (/\w+)", ALL_TEMPLATES)) == {*_UNLIMITED, "/metrics"}


def test_workers_are_scaled_by_a_metric_that_the_adapter_offers() -> None:
    (name,) = re.findall(r"metric: \{name: (\w+)\}", ALL_TEMPLATES)
    assert [rule["name"]["as"] for rule in ADAPTER["rules"]["external"]] == [name]


def test_every_alert_says_what_to_do_and_is_tried() -> None:
    tried = yaml.safe_load((ROOT / "tests" / "chart" / "alerts_test.yml").read_text())["tests"]
    cases = [case for test in tried for case in test["alert_rule_test"]]
    for rule in ALERTS:
        assert rule["annotations"].keys() == {"summary", "action"}, rule["alert"]
        assert rule["labels"]["severity"] in ("critical", "warning")
        fires = {bool(case["exp_alerts"]) for case in cases if case["alertname"] == rule["alert"]}
        assert fires == {True, False}, rule["alert"]
    names = [rule["alert"] for rule in ALERTS]
    assert len(names) == len(set(names)) and {case["alertname"] for case in cases} == {*names}
    for name in re.findall(r"docs/operations\.md, \\*\"([^\"\\]+)", (CHART / "files" / "alerts.yml").read_text()):
        assert f"## {name}" in PAGE, name
    assert set(re.findall(r"\bWaypost[A-Z]\w+", PAGE)) <= {*names}


def test_the_dashboard_is_well_formed() -> None:
    """Grafana drops panels that share an id and draws panels that overlap over each other."""
    panels = DASHBOARD["panels"]
    assert DASHBOARD["schemaVersion"] == 39
    assert len({panel["id"] for panel in panels}) == len(panels)
    cells = [
        (x, y)
        for panel in panels
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]
    assert len(cells) == len(set(cells)) and max(x for x, _ in cells) < 24
    variables = {variable["name"] for variable in DASHBOARD["templating"]["list"]} | {"__rate_interval"}
    assert set(re.findall(r"\$\{?(\w+)", json.dumps(panels))) <= variables
    for panel in panels:
        references = [target["refId"] for target in panel.get("targets", [])]
        assert bool(references) is (panel["type"] != "row") and len(references) == len(set(references))
