"""Make the files of a release in dist/VERSION (`make release`): wheel, sdist, the versions of all packages that it was
tested with, SBOM, licences, notes, checksums.

Everything is built from the commit, twice, and must be the same bytes. Refuses a tree with changes, a version without
notes, and a commit whose tag says otherwise. It neither tags nor publishes.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
UV = ROOT / ".tools" / "bin" / "uv"
LICENCE_CLASSIFIER = "License :: OSI Approved :: "


class Refused(Exception):
    """Nothing was released; the message says why."""


def run(*command: str | Path, cwd: Path = ROOT, **environment: str) -> str:
    """Run a program and return its output. Raise Refused if it fails."""
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, capture_output=True, text=True)
    if done.returncode != 0:
        raise Refused(f"{' '.join(map(str, command))} failed: {done.stderr.strip()[-2000:]}")
    return done.stdout


def check_tree(version: str) -> None:
    """Raise Refused unless the commit is exactly what stands here, and its tag, if any, names the version."""
    if changed := run("git", "status", "--porcelain").strip():
        raise Refused(f"the tree has changes that no commit has:\n{changed}")
    tag = f"v{version}"
    if (tags := run("git", "tag", "--points-at", "HEAD", "--list", "v*").split()) and tag not in tags:
        raise Refused(f"the commit is tagged {', '.join(tags)}, but pyproject.toml says {version}")
    if not tags and run("git", "tag", "--list", tag).strip():
        raise Refused(f"{tag} is another commit: raise the version in pyproject.toml")
    run(UV, "lock", "--check")  # it names the version too


def notes_of(version: str, changelog: str) -> str:
    """Return the section of a version. Raise Refused if there is none."""
    heading = rf"^## \[?{re.escape(version)}\]?(?: [^\n]*)?$"
    found = re.search(rf"{heading}\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL)
    if found is None or not found[1].strip():
        raise Refused(f"CHANGELOG.md has no section '## {version} - DATE'")
    return f"# waypost {version}\n\n{found[1].strip()}\n"


def build(work: Path, name: str, python: Path, epoch: str) -> dict[str, bytes]:
    """Build sdist and wheel from the commit in a new folder; return their bytes by name."""
    tree, out = work / name, work / f"{name}-out"
    tree.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=tree, input=archive, check=True)
    run(UV, "build", "--quiet", "--no-build-isolation", "--python", python, "--out-dir", out, cwd=tree,
        SOURCE_DATE_EPOCH=epoch)  # fmt: skip
    return {path.name: path.read_bytes() for path in sorted(out.iterdir()) if path.suffix in (".whl", ".gz")}


def environment(work: Path, name: str, *options: str) -> Path:
    """Make an environment of the lock file, and return its Python."""
    run(UV, "sync", "--frozen", "--quiet", "--no-install-project", *options, UV_PROJECT_ENVIRONMENT=str(work / name))
    return work / name / "bin" / "python"


def licence_of(component: dict[str, Any]) -> str:
    """Return what the metadata state; empty if nothing."""
    stated = [one.get("expression") or one["license"].get("id") or one["license"].get("name")
              for one in component.get("licenses", ())]  # fmt: skip
    spdx = [name for name in stated if not name.startswith((LICENCE_CLASSIFIER, "declared license file"))]
    return ", ".join(dict.fromkeys(spdx or [name.removeprefix(LICENCE_CLASSIFIER) for name in stated]))


def licence_file_of(python: Path, package: str) -> str:
    """Return how the licence file of an installed package begins."""
    program = (
        "import importlib.metadata as m, sys\n"
        "for f in m.files(sys.argv[1]) or ():\n"
        "    if f.name.upper().startswith(('LICENSE', 'LICENCE', 'COPYING')):\n"
        "        print(*[line.strip() for line in f.read_text().splitlines() if line.strip()][:2])\n"
        "        break"
    )
    words = run(python, "-c", program, package).strip()
    return f"not stated; its licence file begins: {words}" if words else "not stated, no licence file"


def licences(bom: dict[str, Any], python: Path, version: str) -> str:
    """Return a table of all packages that an installation brings, with their licences."""
    lines = [f"# Licences of what waypost {version} installs", "",
             "From the metadata of the packages; their texts are installed with them.", "",
             "| package | version | licence |", "| --- | --- | --- |"]  # fmt: skip
    for component in sorted(bom["components"], key=lambda one: str(one["name"]).lower()):
        licence = licence_of(component) or licence_file_of(python, component["name"])
        lines.append(f"| {component['name']} | {component['version']} | {licence} |")
    return "\n".join(lines) + "\n"


def release(out: Path) -> Path:
    """Make the files in `out`/VERSION, and return that folder. Raise Refused."""
    version: str = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    check_tree(version)
    notes = notes_of(version, (ROOT / "CHANGELOG.md").read_text())
    target = out / version
    if target.exists():
        raise Refused(f"{target} exists")
    epoch = run("git", "log", "-1", "--format=%ct").strip()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="waypost-release-") as folder:
        work = Path(folder)
        tools = environment(work, "tools", "--only-group", "release")
        product = environment(work, "product", "--no-dev")
        built, again = (build(work, name, tools, epoch) for name in ("first", "second"))
        if built != again or len(built) != 2:
            raise Refused(f"two builds of one commit differ: {', '.join(built)}")
        raw = run(tools.with_name("cyclonedx-py"), "environment", "--output-reproducible", "--pyproject",
                  ROOT / "pyproject.toml", "--spec-version", "1.6", product, SOURCE_DATE_EPOCH=epoch)  # fmt: skip
        tested = run(UV, "export", "--frozen", "--quiet", "--no-dev", "--all-extras", "--no-emit-project",
                     "--no-hashes", "--no-header", "--no-annotate")  # fmt: skip
        files = built | {
            f"waypost-{version}-constraints.txt": tested.encode(),
            f"waypost-{version}.cdx.json": raw.encode(),
            f"waypost-{version}-licences.md": licences(json.loads(raw), product, version).encode(),
            f"waypost-{version}-notes.md": notes.encode(),
        }
        sums = "".join(f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files))
        part = Path(tempfile.mkdtemp(prefix=".release-", dir=out))
        part.chmod(0o755)
        for name, content in (files | {"SHA256SUMS": sums.encode()}).items():
            (part / name).write_bytes(content)
        try:
            part.rename(target)
        except OSError:
            shutil.rmtree(part)
            raise
    return target


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    try:
        made = release(parser.parse_args().out)
    except Refused as refused:
        sys.exit(f"release refused: {refused}")
    for path in sorted(made.iterdir()):
        print(f"{path.stat().st_size:>12,}  {path}")
    print(f"Next: git tag -s v{made.name} && git push origin v{made.name}")
