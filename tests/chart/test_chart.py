"""The chart as helm renders it, judged by the schemas of three versions of Kubernetes and by a real API server.

`make chart` builds the tools and runs these; elsewhere they are skipped.
"""

import copy
import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.chart.cluster import NAMESPACE, Cluster, running
from tests.chart.tools import HERE, ChartTools
from tests.conformance.tools import Missing
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

CHART: Final = ROOT / "deploy" / "helm" / "waypost"
VALUES: Final = sorted(path.stem for path in (HERE / "values").iterdir())
VERSIONS: Final = ("1.30", "1.34", "1.37")
"""The oldest that the chart allows, that of the API server, and the newest with published schemas."""
OPERATOR: Final = ("ServiceMonitor", "PrometheusRule")
"""Kinds of the Prometheus operator, which Kubernetes itself does not know."""

VALIDATE: Final = """
import json, sys, kubernetes_validate
for document in json.load(sys.stdin):
    for version in sys.argv[1:]:
        try:
            kubernetes_validate.validate(document, version, strict=True)
        except Exception as fault:
            print(version, document["kind"], document["metadata"]["name"], str(fault).splitlines()[0])
"""

Document = dict[str, Any]


def tool(name: str) -> Path:
    try:
        return ChartTools(may_build=False).builders[name]()
    except Missing as reason:
        pytest.skip(str(reason))


def helm(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [tool("helm"), *arguments], capture_output=True, text=True, timeout=HANG_SECONDS, check=False
    )  # fmt: skip


def values_of(name: str) -> str:
    return str(HERE / "values" / f"{name}.yaml")


def template(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    version = f"--kube-version={VERSIONS[0]}"
    return helm("template", "waypost", str(CHART), version, "-n", NAMESPACE, "-f", values_of(name), *options)


@cache
def rendered(name: str) -> list[Document]:
    printed = template(name)
    assert printed.returncode == 0, printed.stderr
    return [document for document in yaml.safe_load_all(printed.stdout) if document]


def of_kubernetes(documents: list[Document]) -> list[Document]:
    return [copy.deepcopy(document) for document in documents if document["kind"] not in OPERATOR]


def faults_by_schema(documents: list[Document]) -> list[str]:
    process = subprocess.run(
        [tool("kubernetes-validate"), "-c", VALIDATE, *VERSIONS],
        input=json.dumps(documents), capture_output=True, text=True, timeout=HANG_SECONDS, check=True,
    )  # fmt: skip
    return process.stdout.splitlines()


def dry_run(cluster: Cluster, documents: list[Document]) -> subprocess.CompletedProcess[str]:
    """Return what `kubectl apply --dry-run=server` says; warnings are faults."""
    kubectl = shutil.which("kubectl")
    if kubectl is None:
        pytest.skip("kubectl is not on PATH")
    text = json.dumps({"apiVersion": "v1", "kind": "List", "items": documents})
    options = ("--dry-run=server", "--validate=strict", "--warnings-as-errors", "-f", "-")
    return cluster.run(kubectl, "apply", *options, text=text)


def pods(documents: list[Document]) -> list[Document]:
    """Return the pods that the controllers of the cluster would make."""
    found = []
    for document in documents:
        spec = document.get("spec", {})
        made = spec.get("jobTemplate", {}).get("spec", spec).get("template")
        if made is not None:
            metadata = {**made["metadata"], "name": document["metadata"]["name"]}
            found.append({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]})
    return found


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with running(tool("apiserver"), tmp_path_factory.mktemp("cluster")) as cluster:
        yield cluster


@pytest.mark.parametrize("name", VALUES)
def test_helm_finds_nothing_wrong(name: str) -> None:
    version = f"--kube-version={VERSIONS[0]}"
    printed = helm("lint", "--strict", str(CHART), version, "-f", values_of(name))
    assert printed.returncode == 0, printed.stdout + printed.stderr


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--set", "settings.WAYPOST_PUBLIC_URL="], "WAYPOST_PUBLIC_URL"),
        (["--set", "settings.MEILI_MASTER_KEY=in-plain"], "MEILI_MASTER_KEY"),
        (["--set", "settings.DATABASE_URL=postgresql://u:p@db/w"], "DATABASE_URL"),
        (["--set", "settings.WAYPOST_DATA=/elsewhere"], "WAYPOST_DATA"),
        (["--set", "secrets.DATABASE_URL.name="], "DATABASE_URL"),
        (["--set", "api.replicas=many"], "replicas"),
        (["--set", "workers.replicas=2"], "workers"),
        (["--set", "optOuts.mode=none"], "mode"),
        (["--kube-version", "1.29"], "kubeVersion"),
    ],
)
def test_wrong_values_are_refused(options: list[str], says: str) -> None:
    printed = template("default", *options)
    assert printed.returncode != 0
    assert says in printed.stderr


def test_numbers_reach_the_settings_as_they_were_written() -> None:
    text = template("default", "--set", "settings.WAYPOST_RECRAWL_INTERVAL=31536000,settings.WAYPOST_REQUEST_DELAY=2.5")
    assert '{name: WAYPOST_RECRAWL_INTERVAL, value: "31536000"}' in text.stdout
    assert '{name: WAYPOST_REQUEST_DELAY, value: "2.5"}' in text.stdout


def test_each_process_sees_only_the_keys_that_it_needs() -> None:
    seen: dict[str, set[str]] = {}
    for name in VALUES:
        for pod in pods(rendered(name)):
            for container in [*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]]:
                names = {one["name"] for one in container["env"] if "secretKeyRef" in one.get("valueFrom", {})}
                seen.setdefault(container["name"], set()).update(names - {"DATABASE_URL", "PGPASSWORD"})
    feeding = {"MEILI_SEARCH_KEY", "MEILI_INDEXER_KEY", "MEILI_TASKS_KEY"}
    assert seen == {
        "api": {"MEILI_SEARCH_KEY"},
        "worker": feeding,
        "schedule": feeding,
        "migrate": set(),
        "opt-outs": set(),
        "search-keys": {"MEILI_MASTER_KEY"},
    }


def test_networks_that_the_crawler_refuses_are_refused_by_the_policy_too() -> None:
    (policy,) = [one for one in rendered("everything") if one["metadata"]["name"] == "waypost-crawler"]
    four, six = (peer["ipBlock"]["except"] for peer in policy["spec"]["egress"][0]["to"])
    assert four[-2:] == ["198.51.7.0/24", "9.9.9.9/32"]
    assert six[-2:] == ["2606:4700::/32", "2606:4700::1/128"]


def test_what_the_hook_needs_is_there_before_the_release() -> None:
    """It runs before anything else of the release is made, and would wait for ever for a claim."""
    for name in VALUES:
        (hook,) = [one for one in rendered(name) if "helm.sh/hook" in one["metadata"].get("annotations", {})]
        (pod,) = pods([hook])
        assert all(set(volume) <= {"name", "emptyDir"} for volume in pod["spec"]["volumes"])
        assert not any("configMapKeyRef" in one.get("valueFrom", {}) for one in pod["spec"]["containers"][0]["env"])


@pytest.mark.parametrize("name", VALUES)
def test_three_versions_of_kubernetes_know_every_field(name: str) -> None:
    assert faults_by_schema(of_kubernetes(rendered(name))) == []


def test_the_operator_knows_every_field() -> None:
    program = tool("operator")
    documents = [one for name in VALUES for one in rendered(name) if one["kind"] in OPERATOR]
    assert {one["kind"] for one in documents} == {*OPERATOR}

    def read(documents: list[Document]) -> subprocess.CompletedProcess[str]:
        text = "\n---\n".join(map(json.dumps, documents))
        return subprocess.run(
            [program], input=text, capture_output=True, text=True, timeout=HANG_SECONDS, check=False
        )  # fmt: skip

    printed = read(documents)
    assert (printed.returncode, len(printed.stdout.splitlines())) == (0, len(documents)), printed.stderr
    planted = copy.deepcopy(documents[0])
    planted["spec"]["selektor"] = {}
    assert "selektor" in read([planted]).stderr


@pytest.mark.parametrize("name", VALUES)
def test_an_api_server_takes_every_object_without_a_warning(cluster: Cluster, name: str) -> None:
    objects = of_kubernetes(rendered(name))
    printed = dry_run(cluster, objects)
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.count("(server dry run)") == len(objects)


@pytest.mark.parametrize("name", VALUES)
def test_the_strictest_pod_security_standard_admits_every_pod(cluster: Cluster, name: str) -> None:
    made = pods(rendered(name))
    assert len(made) >= 4
    printed = dry_run(cluster, made)
    assert printed.returncode == 0, printed.stderr


def plant(kind: str, change: Callable[[Document], Any]) -> list[Document]:
    documents = of_kubernetes(rendered("default"))
    change(next(document for document in documents if document["kind"] == kind))
    return documents


def container(deployment: Document) -> Document:
    found: Document = deployment["spec"]["template"]["spec"]["containers"][0]
    return found


UNKNOWN_FIELDS: Final = [
    ("Deployment", lambda one: container(one).update(readinessProb={})),
    ("NetworkPolicy", lambda one: one["spec"].update(policyType=["Egress"])),
    ("PodDisruptionBudget", lambda one: one["spec"].update(maxUnavailabel=1)),
]


@pytest.mark.parametrize(("kind", "change"), UNKNOWN_FIELDS)
def test_an_unknown_field_turns_the_schemas_red(kind: str, change: Callable[[Document], Any]) -> None:
    assert len(faults_by_schema(plant(kind, change))) == len(VERSIONS)


@pytest.mark.parametrize(("kind", "change"), UNKNOWN_FIELDS)
def test_an_unknown_field_turns_the_api_server_red(
    cluster: Cluster, kind: str, change: Callable[[Document], Any]
) -> None:
    printed = dry_run(cluster, plant(kind, change))
    assert printed.returncode != 0
    assert "unknown field" in printed.stderr


@pytest.mark.parametrize(
    ("kind", "change", "says"),
    [
        ("PodDisruptionBudget", lambda one: one["spec"].update(minAvailable=1), "cannot be both set"),
        ("Service", lambda one: one["spec"]["ports"][0].update(port=99_999), "between 1 and 65535"),
        ("Deployment", lambda one: one["spec"]["selector"]["matchLabels"].update(a="b"), "selector"),
        ("Deployment", lambda one: container(one)["securityContext"].update(privileged=True), "privileged"),
    ],
)
def test_what_only_an_api_server_knows_turns_red(
    cluster: Cluster, kind: str, change: Callable[[Document], Any], says: str
) -> None:
    printed = dry_run(cluster, plant(kind, change))
    assert printed.returncode != 0
    assert says in printed.stderr


def test_an_exception_outside_its_network_turns_red(cluster: Cluster) -> None:
    """So a typing error in WAYPOST_REFUSED_NETWORKS ends the upgrade instead of opening the network."""
    printed = template("default", "--set", "settings.WAYPOST_REFUSED_NETWORKS=10.0.0.0/99")
    documents = [document for document in yaml.safe_load_all(printed.stdout) if document]
    refused = dry_run(cluster, documents)
    assert refused.returncode != 0
    assert "10.0.0.0/99" in refused.stderr


def test_the_file_of_opt_outs_outlives_the_release(cluster: Cluster) -> None:
    """Installed, upgraded and uninstalled on the API server; without hooks, because nothing runs pods there."""
    program = tool("helm")

    def act(*arguments: str) -> None:
        printed = cluster.run(program, *arguments)
        assert printed.returncode == 0, printed.stderr

    def claims() -> set[str]:
        """Return the claims that are not marked for deletion. No controller runs here that would finish it."""
        printed = cluster.run("kubectl", "get", "pvc", "-o", "json")
        items = json.loads(printed.stdout)["items"]
        return {one["metadata"]["name"] for one in items if "deletionTimestamp" not in one["metadata"]}

    if shutil.which("kubectl") is None:
        pytest.skip("kubectl is not on PATH")
    dumps = ("--set", "dumps.enabled=true")
    act("install", "waypost", str(CHART), "-f", values_of("default"), "--no-hooks", *dumps)
    assert claims() == {"waypost-opt-outs", "waypost-dumps"}
    act("upgrade", "waypost", str(CHART), "-f", values_of("default"), "--no-hooks", "--set", "optOuts.mode=exported")
    assert claims() == {"waypost-opt-outs", "waypost-opt-outs-exported"}
    act("uninstall", "waypost", "--no-hooks")
    assert claims() == {"waypost-opt-outs", "waypost-opt-outs-exported"}
    act("install", "waypost", str(CHART), "-f", values_of("default"), "--no-hooks")
    act("uninstall", "waypost", "--no-hooks")
    assert claims() == {"waypost-opt-outs", "waypost-opt-outs-exported"}
