"""deploy/ and docs/operations.md agree with the code: commands, options, jobs, settings, blocks; units are valid."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from ipaddress import IPv4Network, IPv6Network, collapse_addresses, ip_network
from pathlib import Path
from typing import Any

import pytest
import typer

from registry import cli
from registry.core.names.addresses import V4, V6
from registry.settings import Settings, variable
from registry.wiring.schedule import JOB_BY_NAME
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

DEPLOY = ROOT / "deploy"
UNITS = DEPLOY / "systemd"
PAGE = ROOT / "docs" / "operations.md"
EXAMPLES = [
    path for path in sorted([*DEPLOY.iterdir(), *UNITS.iterdir()])
    if path.is_file() and path.name not in ("Dockerfile", "compose.yml")
]  # fmt: skip
PROGRAM = "/opt/waypost/.venv/bin/waypost"

COMMAND = re.compile(r"(?:/opt/waypost/\.venv/bin/|`|^|&& )waypost ((?!-)[a-z][^`|>;#\n]*)", re.MULTILINE)
BLOCK = re.compile(r"(?<![\w.:])(?:[0-9a-f:]*:[0-9a-f:]*|\d+\.\d+\.\d+\.\d+)/\d+")


def commands(text: str) -> Iterator[list[str]]:
    for match in COMMAND.finditer(text):
        yield shlex.split(match[1])


def options_of(command: Any) -> set[str]:
    return {
        name
        for parameter in command.params
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("-")
    }


@pytest.mark.parametrize("path", [*EXAMPLES, PAGE], ids=lambda path: path.name)
def test_every_command_exists(path: Path) -> None:
    program: Any = typer.main.get_command(cli.app)
    for name, *arguments in commands(path.read_text()):
        assert name in program.commands, name
        command = program.commands[name]
        while arguments and arguments[0] in getattr(command, "commands", ()):
            command = command.commands[arguments.pop(0)]
        options = {argument for argument in arguments if argument.startswith("-")}
        assert options <= options_of(command) | {"--help"}, (name, options)
        if name == "schedule":
            jobs = {argument for argument in arguments if argument not in options} - {"%i"}
            assert jobs <= set(JOB_BY_NAME) and not (jobs and "--once" not in options), jobs


def test_commands_are_found_in_the_texts() -> None:
    seen = {words[0] for path in [*EXAMPLES, PAGE] for words in commands(path.read_text())}
    assert seen >= {"serve", "worker", "schedule", "migrate", "seed", "reindex", "rescore"}


@pytest.mark.parametrize("path", [*EXAMPLES, PAGE], ids=lambda path: path.name)
def test_every_setting_exists(path: Path) -> None:
    known = {variable(name) for name in Settings.model_fields}
    assert set(re.findall(r"\b(?:WAYPOST_[A-Z0-9_]+|DATABASE_URL)\b", path.read_text())) <= known


def test_the_example_settings_are_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = (DEPLOY / "waypost.env").read_text().splitlines()
    values = dict(line.lstrip("#").split("=", 1) for line in lines if re.match(r"#?[A-Z_]+=", line))
    assert len(values) > 5
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    assert Settings().trusted_proxies == ("127.0.0.1", "::1")


@pytest.mark.parametrize("path", [PAGE, *EXAMPLES], ids=lambda path: path.name)
def test_every_named_file_exists(path: Path) -> None:
    text = path.read_text()
    for name in re.findall(r"deploy/([a-z0-9./@-]*[a-z0-9])", text):
        assert (DEPLOY / name).exists(), name
    for name in re.findall(r"\bwaypost-[a-z@%0-9-]+\.(?:service|timer)\b", text):
        template = re.sub(r"@[^.]*", "@", name)
        assert (UNITS / name).exists() or (UNITS / template).exists(), name


def test_every_job_of_a_timer_exists() -> None:
    jobs = re.findall(r"^Unit=waypost-job@([a-z]+)\.service$", "\n".join(p.read_text() for p in UNITS.iterdir()), re.M)
    assert set(jobs) == {"recrawl", "prune", "refresh"} <= set(JOB_BY_NAME)


def blocks(text: str) -> tuple[list[IPv4Network], list[IPv6Network]]:
    networks = [ip_network(block) for block in BLOCK.findall(text)]
    return (
        list(collapse_addresses(network for network in networks if isinstance(network, IPv4Network))),
        list(collapse_addresses(network for network in networks if isinstance(network, IPv6Network))),
    )


SHIPPED = blocks(" ".join(row.prefix for row in (*V4, *V6)))
CRAWLS = ["waypost-worker@.service", "waypost-schedule.service", "waypost-jobs.service", "waypost-job@.service"]


@pytest.mark.parametrize("name", CRAWLS)
def test_crawling_units_are_denied_every_special_purpose_block(name: str) -> None:
    denied = re.findall(r"^IPAddressDeny=(.*)$", (UNITS / name).read_text(), re.MULTILINE)
    assert blocks(" ".join(denied)) == SHIPPED
    assert re.findall(r"^IPAddressAllow=(.*)$", (UNITS / name).read_text(), re.MULTILINE) == ["127.0.0.53"]


def test_the_firewall_denies_the_account_every_special_purpose_block() -> None:
    text = (DEPLOY / "egress.nft").read_text()
    refused = text.partition("chain output")[0]
    assert blocks(refused) == SHIPPED


def test_every_unit_that_runs_the_program_is_sandboxed() -> None:
    for path in UNITS.glob("*.service"):
        text = path.read_text()
        for line in ("User=waypost", "NoNewPrivileges=yes", "ProtectSystem=strict", "ProtectHome=yes"):
            assert line in text.splitlines(), (path.name, line)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here to ask")
def test_systemd_understands_the_units(tmp_path: Path) -> None:
    """The program and the account of the units are replaced by ones that exist on this machine."""
    program = Path(sys.executable).with_name("waypost")
    for path in UNITS.iterdir():
        text = path.read_text().replace(PROGRAM, str(program)).replace("User=waypost", "User=root")
        (tmp_path / path.name).write_text(re.sub(r"^EnvironmentFile=.*\n", "", text, flags=re.MULTILINE))
    names = [f"./{path.name.replace('@.', '@prune.')}" for path in sorted(UNITS.iterdir())]
    for template in UNITS.glob("*@.service"):
        (tmp_path / template.name.replace("@.", "@prune.")).symlink_to(tmp_path / template.name)
    process = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", *names],
        cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert (process.returncode, process.stdout + process.stderr) == (0, "")


@pytest.mark.skipif(shutil.which("nginx") is None, reason="no nginx here to ask")
def test_nginx_understands_the_proxy(tmp_path: Path) -> None:
    import trustme

    certificate = trustme.CA().issue_cert("registry.example.org")
    certificate.cert_chain_pems[0].write_to_path(str(tmp_path / "chain.pem"))
    certificate.private_key_pem.write_to_path(str(tmp_path / "key.pem"))
    text = (DEPLOY / "nginx.conf").read_text()
    text = re.sub(r"/etc/letsencrypt\S+/fullchain\.pem", str(tmp_path / "chain.pem"), text)
    text = re.sub(r"/etc/letsencrypt\S+/privkey\.pem", str(tmp_path / "key.pem"), text)
    configuration = f"pid {tmp_path}/pid; error_log stderr; events {{}} http {{ access_log off;\n{text}\n}}"
    (tmp_path / "nginx.conf").write_text(configuration)
    process = subprocess.run(
        ["nginx", "-t", "-p", str(tmp_path), "-c", str(tmp_path / "nginx.conf")],
        capture_output=True, text=True, timeout=HANG_SECONDS, check=False,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr


def test_every_unit_may_write_the_data_folder_and_keeps_it() -> None:
    """The file of opt-outs and the dumps lie there."""
    (data,) = re.findall(r"^WAYPOST_DATA=(.+)$", (DEPLOY / "waypost.env").read_text(), re.MULTILINE)
    services = [path for path in UNITS.glob("*.service") if f"ExecStart={PROGRAM}" in path.read_text()]
    assert len(services) == len(list(UNITS.glob("*.service")))
    for path in services:
        (folder,) = re.findall(r"^StateDirectory=(.+)$", path.read_text(), re.MULTILINE)
        assert data == f"/var/lib/{folder}", path.name
