"""`make release`: what it refuses, and that its files are whole and install into an empty environment."""

import hashlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.demo import forget_database
from tests.support.shared import ROOT

VERSION = "0.1.0"
UV = ROOT / ".tools" / "bin" / "uv"
AUTHOR = ("-c", "user.name=test", "-c", "user.email=test@registry.test", "-c", "commit.gpgsign=false")
MUCH_TIME = 540


def script_in(tree: Path) -> ModuleType:
    """Return the release script of a tree, which works on that tree."""
    spec = importlib.util.spec_from_file_location("release", tree / ".ci" / "release.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def git(tree: Path, *arguments: str) -> str:
    return subprocess.run(["git", *AUTHOR, *arguments], cwd=tree, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a clone of the commit with the present script, whose CHANGELOG.md has the version."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    clone = tmp_path_factory.mktemp("release") / "tree"
    git(ROOT, "clone", "-q", "--no-tags", str(ROOT), str(clone))
    shutil.copy(ROOT / ".ci" / "release.py", clone / ".ci" / "release.py")
    (clone / "CHANGELOG.md").write_text(f"# Changelog\n\n## Unreleased\n\n## {VERSION} - 2026-11-28\n\n- News.\n")
    git(clone, "commit", "-qam", "Release")
    (clone / ".tools" / "bin").mkdir(parents=True)
    (clone / ".tools" / "bin" / "uv").symlink_to(UV)
    return clone


@pytest.mark.parametrize("heading", ["## 0.1.0", "## 0.1.0 - 2026-11-28", "## [0.1.0] - 2026-11-28"])
def test_notes_are_the_section_of_the_version(heading: str) -> None:
    notes_of = script_in(ROOT).notes_of
    assert notes_of(
        "0.1.0", f"# C\n\n## 0.2.0\n\n- New.\n\n{heading}\n\n- First.\n\n### Fixed\n\n- X.\n\n## 0.0.9\n"
    ) == ("# waypost 0.1.0\n\n- First.\n\n### Fixed\n\n- X.\n")


@pytest.mark.parametrize("text", ["", "## Unreleased\n\n- X.\n", "## 0.1.0\n\n## 0.0.9\n- X.\n", "## 0.1.01\n- X.\n"])
def test_a_version_without_notes_is_refused(text: str) -> None:
    release = script_in(ROOT)
    with pytest.raises(release.Refused, match="no section"):
        release.notes_of("0.1.0", text)


@pytest.mark.slow  # a clone
def test_a_tree_or_tag_that_does_not_match_is_refused(tree: Path) -> None:
    release = script_in(tree)
    release.check_tree(VERSION)
    (tree / "registry" / "new.py").touch()
    with pytest.raises(release.Refused, match=r"changes that no commit has:\n.. registry/new\.py"):
        release.check_tree(VERSION)
    (tree / "registry" / "new.py").unlink()
    git(tree, "tag", "v0.0.9")
    with pytest.raises(release.Refused, match=r"tagged v0\.0\.9, but pyproject\.toml says 0\.1\.0"):
        release.check_tree(VERSION)
    git(tree, "tag", "-d", "v0.0.9")
    git(tree, "tag", f"v{VERSION}", "HEAD~1")
    with pytest.raises(release.Refused, match=r"v0\.1\.0 is another commit"):
        release.check_tree(VERSION)
    git(tree, "tag", "-d", f"v{VERSION}")


@pytest.fixture(scope="module")
def released(tree: Path) -> Path:
    """Return the folder of a release."""
    if not UV.exists():
        pytest.skip("no uv in .tools")
    made = subprocess.run(
        [sys.executable, ".ci/release.py"], cwd=tree, capture_output=True, text=True, timeout=MUCH_TIME
    )
    if "error sending request" in made.stderr:
        pytest.skip("no package index")
    assert made.returncode == 0, made.stderr
    return tree / "dist" / VERSION


@pytest.mark.long
def test_a_release_is_whole(tree: Path, released: Path) -> None:
    sums = dict(line.split("  ")[::-1] for line in (released / "SHA256SUMS").read_text().splitlines())
    assert sums == {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in released.iterdir() if path.name != "SHA256SUMS"
    }  # fmt: skip
    assert len(sums) == 6
    tracked = set(git(tree, "ls-files", "registry", "crawler", "migrations").splitlines())
    assert tracked - set(zipfile.ZipFile(next(released.glob("*.whl"))).namelist()) == set()
    bom = json.loads((released / f"waypost-{VERSION}.cdx.json").read_text())
    assert (bom["bomFormat"], bom["metadata"]["component"]["version"]) == ("CycloneDX", VERSION)
    assert len(bom["components"]) > 80 and "waypost-release-" not in json.dumps(bom)
    licences = (released / f"waypost-{VERSION}-licences.md").read_text()
    assert "| psycopg | " in licences and "LGPL-3.0-only" in licences and "no licence file" not in licences


@pytest.mark.long
def test_the_wheel_installs_as_a_tool(released: Path, tmp_path: Path) -> None:
    wheel = next(released.glob("*.whl"))

    def uv(*arguments: object) -> None:
        places = {"UV_TOOL_DIR": str(tmp_path / "tools"), "UV_TOOL_BIN_DIR": str(tmp_path / "bin")}
        command = [str(UV), *map(str, arguments)]
        subprocess.run(command, env=os.environ | places, check=True, capture_output=True, timeout=MUCH_TIME)

    constraints = next(released.glob("*-constraints.txt"))
    uv("tool", "install", "-q", "--python", sys.executable, "--constraints", constraints, wheel)
    waypost, data = tmp_path / "bin" / "waypost", tmp_path / "data"
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WAYPOST_"))}

    def output_of(*arguments: str) -> str:
        done = subprocess.run(
            [waypost, *arguments], cwd=tmp_path, env=clean, capture_output=True, text=True, timeout=MUCH_TIME
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert output_of("--version") == f"waypost {VERSION}\n"
    try:
        assert '"listed"' in output_of("demo", "--no-serve", "--json", "--data", str(data))
    finally:
        forget_database(data)
