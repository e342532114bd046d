"""docker-compose.yml and deploy/Dockerfile are true: commands, options, settings, versions, keys, what is published.

No container engine is needed; what only one could show is named in docs/operations.md.
"""

import re
import tomllib
from typing import Any

import pytest
import typer
import yaml

from registry import cli
from registry.search.meilisearch.backend import OLDEST, TESTED
from registry.search.meilisearch.keys import rights
from registry.settings import Settings, variable
from tests.house.test_deploy import options_of
from tests.support.shared import ROOT

COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
OURS = {name: one for name, one in SERVICES.items() if "build" in one}
DOCKERFILE = (ROOT / "deploy" / "Dockerfile").read_text()
EXAMPLE = (ROOT / ".env.example").read_text()

NOT_OURS = {"PGPASSWORD"}
"""Read by libpq itself."""


def text_of(value: Any) -> str:
    return str(yaml.safe_dump(value))


def test_what_a_registry_needs_is_there() -> None:
    assert set(SERVICES) == {"postgres", "meilisearch", "migrate", "search-keys", "api", "worker", "schedule"}


@pytest.mark.parametrize("name", OURS)
def test_every_command_and_option_exists(name: str) -> None:
    command, *arguments = OURS[name]["command"]
    known: Any = typer.main.get_command(cli.app)
    assert command in known.commands
    assert {one for one in arguments if one.startswith("--")} <= options_of(known.commands[command])


@pytest.mark.parametrize("name", OURS)
def test_every_setting_exists_and_can_be_set(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    given = OURS[name]["environment"]
    assert set(given) - NOT_OURS <= {variable(field) for field in Settings.model_fields}
    for key, value in given.items():
        monkeypatch.setenv(key, sample(str(value), key))
    assert Settings().meili_url == "http://meilisearch:7700" or name == "migrate"


def sample(value: str, key: str) -> str:
    """As compose would read it, with something in the place of what stands in .env."""
    filled = {"WAYPOST_CONTACT_EMAIL": "us@registry.example"}.get(key, "https://registry.example")
    return re.sub(r"\$\{(\w+):(-|\?)[^}]*\}", lambda one: "" if one[2] == "-" else filled, value)


def test_what_must_be_said_is_in_the_example_and_nothing_secret() -> None:
    demanded = set(re.findall(r"\$\{(\w+):\?", text_of(COMPOSE)))
    offered = set(re.findall(r"\$\{(\w+):-", text_of(COMPOSE)))
    said = dict(re.findall(r"^(#?[A-Z_]+)=(.*)$", EXAMPLE, re.MULTILINE))
    assert demanded == {name for name in said if not name.startswith("#")}
    assert offered == {name.lstrip("#") for name in said if name.startswith("#")}
    assert {value for name, value in said.items() if not name.startswith("#")} == {""}
    assert re.findall(r"\$(?!\{\w+:[-?])", text_of(COMPOSE)) == []  # what may stay empty says so


def test_only_the_api_is_published_and_on_this_machine_alone() -> None:
    published = {name: one["ports"] for name, one in SERVICES.items() if "ports" in one}
    assert set(published) == {"api"}
    assert published["api"] == ["${API_ADDRESS:-127.0.0.1}:${API_PORT:-8000}:8000"]
    assert "network_mode" not in text_of(SERVICES) and "privileged: true" not in text_of(SERVICES)


def test_the_database_and_the_engine_reach_nobody() -> None:
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    for name in ("postgres", "meilisearch", "migrate", "search-keys"):
        assert SERVICES[name]["networks"] == ["inside"]


def test_only_who_crawls_or_fetches_reaches_the_web() -> None:
    reach = {name: set(one["networks"]) - {"inside"} for name, one in SERVICES.items()}
    assert {name: one for name, one in reach.items() if one} == {
        "api": {"front"},
        "worker": {"outside"},
        "schedule": {"outside"},
    }
    assert COMPOSE["networks"]["front"]["driver_opts"] == {"com.docker.network.bridge.enable_ip_masquerade": "false"}


def test_the_database_is_healthy_only_when_it_is_reached_as_it_will_be() -> None:
    """The server that makes a new cluster listens on a socket alone, and is stopped again."""
    assert "--host=127.0.0.1" in SERVICES["postgres"]["healthcheck"]["test"]


def test_the_search_server_has_a_bound_and_no_right_that_it_needs_not() -> None:
    one = SERVICES["meilisearch"]
    assert (one["read_only"], one["cap_drop"], "cap_add" in one) == (True, ["ALL"], False)
    (volume,) = [held.split(":")[1] for held in one["volumes"]]
    assert one["environment"]["TMPDIR"] == volume  # what it sorts on disk must not be memory, nor the image
    assert re.fullmatch(r"\d+MiB", one["environment"]["MEILI_MAX_INDEXING_MEMORY"])


def test_versions_are_said_exactly() -> None:
    assert SERVICES["postgres"]["image"] == "postgres:18"
    tag = re.fullmatch(r"getmeili/meilisearch:v(\d+)\.(\d+)\.\d+", SERVICES["meilisearch"]["image"])
    assert tag and OLDEST <= (int(tag[1]), int(tag[2])) <= TESTED
    wanted = re.search(r"^UV_VERSION := (\S+)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert wanted and f"uv=={wanted[1]}" in DOCKERFILE
    low, high = re.findall(
        r"3\.(\d+)", tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    )
    images = re.findall(r"^FROM python:3\.(\d+)-slim-bookworm(?: AS build)?$", DOCKERFILE, re.MULTILINE)
    assert len(images) == len(re.findall("^FROM", DOCKERFILE, re.MULTILINE)) == 2
    assert all(int(low) <= int(one) < int(high) for one in images)


def test_keys_reach_those_who_need_them_and_nobody_else() -> None:
    mounted = {name: {one.split(":")[0]: one.split(":")[1:] for one in service.get("volumes", [])}
               for name, service in SERVICES.items()}  # fmt: skip
    assert {name for name, held in mounted.items() if "search-key" in held} == {
        "search-keys",
        "api",
        "worker",
        "schedule",
    }
    assert {name for name, held in mounted.items() if "feeding-keys" in held} == {"search-keys", "worker", "schedule"}
    for name, held in mounted.items():
        for volume, where in held.items():
            if volume in ("search-key", "feeding-keys"):
                assert where[1:] == ([] if name == "search-keys" else ["ro"])
    with_master = {name for name, one in SERVICES.items() if "MEILI_MASTER_KEY" in text_of(one["environment"])}
    assert with_master == {"meilisearch", "search-keys"}
    folders = {where[0] for where in mounted["search-keys"].values()}
    assert folders == {f"/keys/{right.file.partition('/')[0]}" for right in rights("services").values()}
    assert all(folder in DOCKERFILE for folder in folders)  # a volume takes the owner of the folder that it covers


def test_what_runs_of_ours_is_fenced_in() -> None:
    for name, one in OURS.items():
        fence = (one["read_only"], one["cap_drop"], one["security_opt"], one["tmpfs"])
        assert fence == (True, ["ALL"], ["no-new-privileges:true"], ["/tmp"]), name
        assert "user" not in one
    assert re.search(r"^USER 10001:10001$", DOCKERFILE.split("FROM")[-1], re.MULTILINE)


def test_everything_that_stays_is_in_a_volume() -> None:
    used = {one.split(":")[0] for service in SERVICES.values() for one in service.get("volumes", [])}
    assert used == set(COMPOSE["volumes"])
    assert SERVICES["postgres"]["volumes"] == ["postgres:/var/lib/postgresql"]


def test_everybody_waits_for_what_it_needs() -> None:
    for name, one in SERVICES.items():
        for needed, how in one.get("depends_on", {}).items():
            once = SERVICES[needed].get("restart") == "no"
            assert how == {"condition": "service_completed_successfully" if once else "service_healthy"}, (name, needed)
            assert once or "healthcheck" in SERVICES[needed]
    for name in ("api", "worker", "schedule"):
        assert set(SERVICES[name]["depends_on"]) == {"postgres", "meilisearch", "migrate", "search-keys"}
    assert {name for name, one in SERVICES.items() if "healthcheck" in one} >= {
        "postgres",
        "meilisearch",
        "api",
        "worker",
    }


def test_what_is_copied_is_sent_and_nothing_else() -> None:
    """.dockerignore lets through what the Dockerfile copies: no tests, no shared data, no .env."""
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
