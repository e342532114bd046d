"""A Docker Engine of the test's own: in a network namespace without a way out, with a data folder that ends with it."""

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

START_SECONDS: Final = 60
COMMAND_SECONDS: Final = 300


def compose_command() -> list[str] | None:
    """Return Docker Compose: WAYPOST_TEST_COMPOSE, else the engine's plugin, else the older program of its own."""
    if named := os.environ.get("WAYPOST_TEST_COMPOSE"):
        return shlex.split(named)
    plugin = subprocess.run(["docker", "compose", "version"], check=False, capture_output=True)
    if plugin.returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


def why_not() -> str | None:
    """Return why this machine cannot run the containers; None if it can."""
    if os.geteuid() != 0:
        return "needs root: an engine of its own in a network namespace"
    needed = ("dockerd", "docker", "podman", "runc", "mmdebstrap", "unshare", "ip", "nsenter", "curl")
    if missing := [name for name in needed if not shutil.which(name)]:
        return f"needs {', '.join(missing)} (Debian: docker.io podman runc mmdebstrap iproute2 curl)"
    return None if compose_command() else "needs Docker Compose (Debian: docker-compose)"


def run(*command: str, seconds: float = COMMAND_SECONDS, errors: bool = False, **options: Any) -> str:
    """Run a command; return its output, with `errors` that and its errors, whatever its exit code is.

    Raise AssertionError with what it said, or TimeoutExpired.
    """
    options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT if errors else subprocess.PIPE} | options
    completed = subprocess.run(command, check=False, timeout=seconds, **options)
    output, problem = (text.decode(errors="replace") if text else "" for text in (completed.stdout, completed.stderr))
    assert errors or completed.returncode == 0, f"{shlex.join(command)}: {output[-2000:]}{problem[-3000:]}"
    return output


def until(found: Callable[[], Any], seconds: float, wanted: str) -> Any:
    """Call `found` until it returns something true; return that. Fail after `seconds`, with its last answer."""
    deadline = time.monotonic() + seconds
    while not (answer := found()):
        assert time.monotonic() < deadline, f"not after {seconds} s: {wanted}; the last answer: {answer!r}"
        time.sleep(1)
    return answer


@dataclass(frozen=True)
class Engine:
    """A running engine. `process`: dockerd, in whose network namespace ports are published."""

    process: subprocess.Popen[bytes]
    socket: str

    def docker(self, *arguments: str, **options: Any) -> str:
        return run("docker", "--host", self.socket, *arguments, **options)

    def inspect(self, thing: str) -> Any:
        (found,) = json.loads(self.docker("inspect", thing))
        return found

    def on_its_network(self, *command: str, seconds: float = COMMAND_SECONDS) -> str:
        """Run a command where the published ports are."""
        return run("nsenter", f"--net=/proc/{self.process.pid}/ns/net", *command, seconds=seconds)


@contextlib.contextmanager
def running_engine(folder: Path) -> Iterator[Engine]:
    """Start dockerd; at the end remove its containers, and stop it. Its mounts end with its namespaces."""
    socket = f"unix://{folder}/docker.sock"
    dockerd = (
        "dockerd", "--host", socket, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
        "--pidfile", f"{folder}/pid", "--exec-opt", "native.cgroupdriver=cgroupfs",
        # runc cannot raise what it inherits: without these some machines start no container.
        "--default-ulimit", "nofile=1024:1024", "--default-ulimit", "nproc=4096:4096",
    )  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            ["unshare", "--net", "--mount", "sh", "-c", f"ip link set lo up && exec {shlex.join(dockerd)}"],
            stdout=log,
            stderr=log,
        )
    engine = Engine(process, socket)
    try:
        probe = ("docker", "--host", socket, "version")
        until(
            lambda: (
                process.poll() is not None or not subprocess.run(probe, check=False, capture_output=True).returncode
            ),
            START_SECONDS,
            "the engine answers",
        )
        assert process.poll() is None, (folder / "log").read_text()[-3000:]
        yield engine
    finally:
        with contextlib.suppress(AssertionError, subprocess.TimeoutExpired):
            if left := engine.docker("ps", "--all", "--quiet").split():
                engine.docker("rm", "--force", *left)
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
