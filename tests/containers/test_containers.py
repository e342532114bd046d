"""docker-compose.yml under a real engine: it comes up, crawls, is upgraded, scales, and is restored from a backup.

The tests are one story, told in order on one registry. Sites are a container on the network `outside`, which gets
public addresses here, so the crawler's guard is in force; nothing leads out of the engine's network namespace. Images
that cannot be pulled have stand-ins (images.py). Without an image of Meilisearch the registry runs on an embedded
index.
"""

import json
import os
import re
import secrets
import shutil
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote_plus

import pytest
import trustme
import yaml

from tests.containers import images
from tests.containers.engine import Engine, compose_command, run, running_engine, until, why_not
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

PROJECT: Final = "waypost"
COMPOSE_FILE: Final = ROOT / "docker-compose.yml"
BEFORE: Final = os.environ.get("WAYPOST_TEST_UPGRADE_FROM", "HEAD~1")
OLD, NEW = "waypost:before", "waypost:local"
PYTHON: Final = "python:3.13-slim-bookworm"
OURS: Final = ("api", "worker", "schedule")
OUTSIDE: Final = "44.190.7.0/24"  # public; the engine's network namespace has no route to the real one
HOSTS: Final = [f"letters-{number:02}.com" for number in range(24)]
FIRST: Final = HOSTS[:8]
WEBS: Final = 8  # addresses: a worker visits few hosts of one address at a time
LEAVING: Final = HOSTS[0]
WAIT_SECONDS: Final = 400
MEMORY_LIMIT: Final = "memory/memory.limit_in_bytes memory.max"  # of the first and second version of control groups
MEMORY_USED: Final = "memory/memory.usage_in_bytes memory.current"
PROCESS_LIMIT: Final = "pids/pids.max pids.max"


def image_of(service: str) -> str:
    image = yaml.safe_load(COMPOSE_FILE.read_text())["services"][service]["image"]
    return re.sub(r"\$\{\w+:-(.*)\}", r"\1", image)


@dataclass
class Registry:
    """A registry of a compose file. `has_meilisearch`: its image is here; otherwise the service is left out."""

    engine: Engine
    folder: Path
    has_meilisearch: bool
    variables: dict[str, str]
    definition: Path = COMPOSE_FILE
    image: str = NEW

    def compose(self, *arguments: str, **options: Any) -> str:
        """Run Docker Compose on the file, as `changed` by the test."""
        (self.folder / ".env").write_text("".join(f"{name}={value}\n" for name, value in self.variables.items()))
        file = self.folder / "docker-compose.yml"
        file.write_text(yaml.safe_dump(self.changed(yaml.safe_load(self.definition.read_text()))))
        where = ("--file", str(file), "--env-file", str(self.folder / ".env"), "--project-name", PROJECT)
        environment = os.environ | {"DOCKER_HOST": self.engine.socket}
        return run(*compose_command() or (), *where, *arguments, env=environment, cwd=self.folder, **options)

    def changed(self, definition: Any) -> Any:
        """Return the compose file with public addresses outside, the sites' authority, and few visits at a time."""
        definition = json.loads(json.dumps(definition))  # its anchors are shared objects
        services: dict[str, Any] = definition["services"]
        services["postgres"]["image"] = image_of("postgres")
        definition["networks"]["outside"] = {"ipam": {"config": [{"subnet": OUTSIDE}]}}
        for name in () if self.has_meilisearch else ("meilisearch", "search-keys"):
            del services[name]
        for service in services.values():
            if service.pop("build", None) is None:
                continue
            unset = dict.fromkeys(
                ("WAYPOST_SUFFIX_LIST_URL", "WAYPOST_IPV4_REGISTRY_URL", "WAYPOST_IPV6_REGISTRY_URL"), ""
            )
            crawls_slowly = {"WAYPOST_REQUEST_DELAY": "0.2", "WAYPOST_HOSTS_IN_FLIGHT": "4", "WAYPOST_LEASE_BATCH": "2"}
            service["image"] = self.image
            service["environment"] |= {"SSL_CERT_FILE": "/authority/ca.pem", **unset, **crawls_slowly}
            service["volumes"] = [*service.get("volumes", ()), f"{self.folder}/authority:/authority:ro"]
            if not self.has_meilisearch:
                volumes = [entry for entry in service["volumes"] if "/keys/" not in entry]
                service["volumes"] = [entry.replace("data:/data:ro", "data:/data") for entry in volumes]  # for its lock
                service["environment"] |= {"MEILI_URL": "", "MEILI_KEYS": ""}
                service["depends_on"] = {name: how for name, how in service["depends_on"].items() if name in services}
        return definition

    def containers(self, service: str, state: str = "running") -> list[Any]:
        """Return the containers of a service as `docker inspect` shows them."""
        labels = (f"com.docker.compose.project={PROJECT}", f"com.docker.compose.service={service}")
        filters = [part for label in labels for part in ("--filter", f"label={label}")]
        names = self.engine.docker("ps", "--all", "--quiet", "--filter", f"status={state}", *filters).split()
        return [self.engine.inspect(name) for name in names]

    def up(self) -> None:
        """Run `up`, and wait until everything with a health check is healthy."""
        self.compose("up", "--detach", "--no-build")
        until(lambda: self.unhealthy() == [], WAIT_SECONDS, "all containers are healthy")

    def unhealthy(self) -> list[str]:
        services = yaml.safe_load(self.definition.read_text())["services"]
        checked = [name for name in (*OURS, "postgres") if "healthcheck" in services[name]]
        found = {name: [one["State"]["Health"]["Status"] for one in self.containers(name)] for name in checked}
        return [f"{name}: {states}" for name, states in found.items() if set(states) != {"healthy"}]

    def start_web(self, sites: Path) -> None:
        for number in range(WEBS):
            aliases = [part for host in HOSTS[number::WEBS] for part in ("--network-alias", host)]
            self.engine.docker(
                "run", "--detach", "--name", f"web-{number}", "--network", f"{PROJECT}_outside", *aliases,
                "--volume", f"{sites}:/sites:ro", "--entrypoint", "python", NEW, "/sites/web.py", "/sites",
            )  # fmt: skip

    def ask(self, path: str, *options: str) -> str:
        """Return the published port's answer, whatever its status is."""
        return self.engine.on_its_network("curl", "-sS", "--max-time", "30", *options, f"http://127.0.0.1:8000{path}")

    def listed(self) -> set[str]:
        return {service["domain"] for service in json.loads(self.ask("/api/services?limit=100")).get("data", ())}

    def found(self, host: str) -> bool:
        """Return whether a question for a host's letters finds it."""
        answer = json.loads(self.ask(f"/api/discover?q={quote_plus(f'send a letter by {host}')}&limit=50"))
        return host in {row["service"]["domain"] for row in answer.get("data", ())}

    def query(self, statement: str) -> list[str]:
        command = ("psql", "--username=waypost", "-AtqX", "--command", statement, "waypost")
        return self.compose("exec", "-T", "postgres", *command).split()

    def seed(self, hosts: Sequence[str]) -> None:
        (self.folder / "names.txt").write_text("\n".join(hosts))
        with (self.folder / "names.txt").open("rb") as names:
            self.compose("run", "--rm", "-T", "worker", "seed", "file", "-", stdin=names)

    def leased(self) -> int:
        return int(self.query("SELECT count(*) FROM domains WHERE lease_token IS NOT NULL")[0])

    def wait_for_visits(self, hosts: Sequence[str]) -> None:
        visited = "SELECT DISTINCT host FROM visits"
        until(lambda: set(hosts) <= set(self.query(visited)) and not self.leased(), WAIT_SECONDS, "all are visited")
        until(lambda: set(hosts) <= self.listed(), WAIT_SECONDS, "all hosts are listed")

    def read(self, container: Any, files: str) -> str:
        """Return the first of these files of the kernel's control groups that a container has."""
        paths = [f"/sys/fs/cgroup/{name}" for name in files.split()]
        return self.engine.docker(
            "exec", container["Id"], "sh", "-c", f"cat {' '.join(paths)} 2>/dev/null || true"
        ).split()[0]

    def python(self, container: Any, program: str) -> str:
        """Return what a Python program in a container prints, errors included."""
        return self.engine.docker("exec", container["Id"], "python", "-c", program, errors=True)


@pytest.fixture(scope="module", autouse=True)
def _engine_is_possible() -> None:
    if reason := why_not():
        pytest.skip(reason)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the engine and the registry's files are."""
    return tmp_path_factory.mktemp("containers")


@pytest.fixture(scope="module")
def registry(folder: Path) -> Iterator[Registry]:
    variables = {
        "POSTGRES_PASSWORD": secrets.token_hex(16),
        "MEILI_MASTER_KEY": secrets.token_hex(16),
        "WAYPOST_PUBLIC_URL": "https://registry.waypost-test.org",
        "WAYPOST_CONTACT_URL": "https://registry.waypost-test.org/bot",
        "WAYPOST_CONTACT_EMAIL": "us@waypost-test.org",
    }
    (folder / "engine").mkdir()
    with running_engine(folder / "engine") as engine:
        registry = Registry(engine, folder, images.is_here(image_of("meilisearch")), variables)
        needed = [image_of("postgres"), OLD, NEW, *([image_of("meilisearch")] if registry.has_meilisearch else [])]
        for image in needed:
            images.load(engine, image)
        yield registry


@pytest.fixture(scope="module")
def sites(folder: Path) -> Path:
    """The sites' files, and their certificate of an authority that this registry trusts."""
    sites, authority = folder / "sites", trustme.CA()
    for host in HOSTS:
        (sites / host / ".well-known").mkdir(parents=True)
        (sites / host / ".well-known" / "agent").write_bytes(manifest(host))
    authority.issue_cert(*HOSTS).private_key_and_cert_chain_pem.write_to_path(str(sites / "site.pem"))
    shutil.copy(Path(__file__).with_name("web.py"), sites)
    (folder / "authority").mkdir()
    authority.cert_pem.write_to_path(str(folder / "authority" / "ca.pem"))
    for path in (folder, *folder.parents[:2], sites / "site.pem"):  # readable in containers, by an account of theirs
        path.chmod(0o755)
    return sites


def test_images_are_built(folder: Path) -> None:
    """The tree's, that of the commit before it, and the stand-ins for images that cannot be pulled."""
    images.FOLDER.mkdir(parents=True, exist_ok=True)
    if not images.is_here(PYTHON):
        images.make_python(PYTHON)
    if not images.is_here(image_of("postgres")):
        images.make_postgres(image_of("postgres"), PYTHON)
    before = folder / "before"
    run("git", "worktree", "add", "--detach", "--force", str(before), BEFORE, cwd=ROOT)
    try:
        images.build(before, OLD)
    finally:
        run("git", "worktree", "remove", "--force", str(before), cwd=ROOT)
    images.build(ROOT, NEW)


def test_the_commit_before_comes_up_and_crawls(registry: Registry, sites: Path) -> None:
    registry.definition, registry.image = registry.folder / "before.yml", OLD
    registry.definition.write_text(run("git", "show", f"{BEFORE}:{COMPOSE_FILE.name}", cwd=ROOT))
    registry.up()
    registry.start_web(sites)
    registry.seed(FIRST)
    registry.wait_for_visits(FIRST)


def test_an_upgrade_migrates_and_keeps_the_data(registry: Registry) -> None:
    registry.definition, registry.image = COMPOSE_FILE, NEW
    registry.up()
    (migrated,) = registry.containers("migrate", "exited")
    assert (migrated["Config"]["Image"], migrated["State"]["ExitCode"]) == (NEW, 0)
    assert {one["Config"]["Image"] for name in OURS for one in registry.containers(name)} == {NEW}
    registry.wait_for_visits(FIRST)


def test_containers_are_as_confined_as_declared(registry: Registry) -> None:
    for name in (*OURS, "postgres"):
        (container,) = registry.containers(name)
        limit, used = (int(registry.read(container, files)) for files in (MEMORY_LIMIT, MEMORY_USED))
        assert limit == container["HostConfig"]["Memory"] > 0, name
        assert int(registry.read(container, PROCESS_LIMIT)) == container["HostConfig"]["PidsLimit"] > 0, name
        sys.stdout.write(f" {name}: {used >> 20} of {limit >> 20} MiB")
    for name in OURS:
        (container,) = registry.containers(name)
        status = registry.engine.docker("exec", container["Id"], "cat", "/proc/1/status")
        assert re.findall(r"^[UG]id:\t(\d+)\t(\d+)", status, re.MULTILINE) == [("10001", "10001")] * 2, name
        assert re.findall(r"^Cap(?:Prm|Eff|Bnd):\t(\w+)$", status, re.MULTILINE) == ["0" * 16] * 3, name
        assert re.search(r"^NoNewPrivs:\t1$", status, re.MULTILINE), name
        assert "Read-only" in registry.python(container, "open('/opt/waypost/new', 'w')"), name
        too_much = "import os; f = open('/tmp/new', 'wb'); os.unlink('/tmp/new'); f.write(bytes(65 << 20))"
        assert "No space left" in registry.python(container, too_much), name
        lines = registry.engine.docker("logs", container["Id"], errors=True).splitlines()
        assert lines and [line for line in lines if not line.startswith('{"')] == [], name


def test_networks_let_through_what_they_should(registry: Registry) -> None:
    (api,), (worker,) = registry.containers("api"), registry.containers("worker")
    web = registry.engine.inspect("web-0")["NetworkSettings"]["Networks"][f"{PROJECT}_outside"]["IPAddress"]
    connect = f"import socket; socket.create_connection(('{web}', 443), 3); print('reached')"
    assert "reached" in registry.python(worker, connect)
    assert "reached" not in registry.python(api, connect)

    def watched(program: str) -> str:
        network = ("--network", f"{PROJECT}_metrics", "--entrypoint", "python")
        return registry.engine.docker("run", "--rm", *network, NEW, "-c", program, errors=True)

    for place, metric in (("api:9101", "waypost_http_requests_total"), ("worker:9100", "waypost_hosts_total"),
                          ("schedule:9100", "waypost_job_failed")):  # fmt: skip
        read = f"import urllib.request as web; print(web.urlopen('http://{place}/metrics', timeout=9).read().decode())"
        assert metric in watched(read), place
    assert "gaierror" in watched("import socket; socket.create_connection(('postgres', 5432), 3)")


def test_clients_are_told_apart_behind_a_proxy_on_this_machine(registry: Registry) -> None:
    def left(client: str) -> int:
        headers = registry.ask("/api/rubric", "-o", "/dev/null", "-D", "-", "-H", f"X-Forwarded-For: {client}")
        found = re.search(r"^ratelimit:.*?r=(\d+)", headers, re.MULTILINE | re.IGNORECASE)
        assert found, headers
        return int(found[1])

    first = left("93.184.216.1")
    assert left("93.184.216.1") < first == left("93.184.216.2")


def test_a_killed_worker_of_three_loses_nothing(registry: Registry) -> None:
    registry.variables["WORKERS"] = "3"
    registry.up()
    assert len(registry.containers("worker")) == 3
    registry.compose("up", "--detach", "--no-build")
    assert len(registry.containers("worker")) == 3  # kept, as --scale would not be
    registry.seed(HOSTS[len(FIRST) :])
    until(lambda: registry.leased() >= 5, WAIT_SECONDS, "more than one worker visits")  # one has at most four
    killed = registry.containers("worker")[0]
    os.kill(killed["State"]["Pid"], signal.SIGKILL)
    registry.wait_for_visits(HOSTS)
    until(lambda: registry.unhealthy() == [], WAIT_SECONDS, "the killed worker is back")
    assert registry.engine.inspect(killed["Id"])["RestartCount"] == 1
    assert len(registry.containers("worker")) == 3


def test_a_site_that_opted_out_stays_out_after_the_restore_of_an_older_backup(registry: Registry, sites: Path) -> None:
    backup = registry.folder / "waypost.dump"
    with backup.open("wb") as file:
        registry.compose("exec", "-T", "postgres", "pg_dump", "-U", "waypost", "-Fc", "waypost", stdout=file)
    (sites / LEAVING / ".well-known" / "waypost-optout.txt").write_text("opt-out\n")
    registry.compose("exec", "-T", "worker", "waypost", "optout", LEAVING)
    until(lambda: not registry.found(LEAVING), WAIT_SECONDS, "it is not found any more")
    assert registry.listed() == {*HOSTS} - {LEAVING}

    registry.engine.docker("rm", "--force", *(f"web-{number}" for number in range(WEBS)))
    registry.compose("down")
    volumes = registry.engine.docker("volume", "ls", "--quiet").split()
    registry.engine.docker("volume", "rm", *(name for name in volumes if name != f"{PROJECT}_opt-outs"))

    registry.compose("up", "--detach", "--no-build", "postgres")
    until(lambda: registry.containers("postgres")[0]["State"]["Health"]["Status"] == "healthy", WAIT_SECONDS, "healthy")
    with backup.open("rb") as file:
        registry.compose("exec", "-T", "postgres", "pg_restore", "-U", "waypost", "-d", "waypost", stdin=file)
    assert registry.query(f"SELECT host FROM services WHERE host = '{LEAVING}'") == [LEAVING]  # the backup has it
    registry.up()
    assert registry.ask(f"/api/services/{LEAVING}", "-o", "/dev/null", "-w", "%{http_code}") == "410"
    until(lambda: registry.found(HOSTS[-1]), WAIT_SECONDS, "another site is found")
    assert registry.listed() == {*HOSTS} - {LEAVING} and not registry.found(LEAVING)
    registry.compose("exec", "-T", "worker", "waypost", "verify-index")


def test_all_stop_by_themselves_within_seconds(registry: Registry) -> None:
    stopping = {name: registry.containers(name) for name in OURS}
    began = time.time()
    registry.compose("stop")
    sys.stdout.write(f" stopped in {time.time() - began:.1f} s")
    for name, containers in stopping.items():
        for container in containers:
            state = registry.engine.inspect(container["Id"])["State"]
            assert (state["Status"], state["ExitCode"]) == ("exited", 0), name  # 137: killed after its grace period


def manifest(host: str) -> bytes:
    return json.dumps(
        {
            "aid_version": "0.1",
            "name": f"Letters by {host}",
            "domain": host,
            "description": "Sends letters for agents",
            "base_url": f"https://{host}",
            "auth": {"type": "none"},
            "capabilities": [{"name": "send_letter", "description": f"send a letter by {host}"}],
        }
    ).encode()
