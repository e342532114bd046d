"""Unpack another commit into a folder, so that it can be measured beside this tree."""

import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
HERE: Final = "this tree"


def exported(revision: str, folder: Path, program: str, *parts: str) -> Path:
    """Unpack `registry` and `parts` of a commit into `folder`, and return the folder.

    If the commit has the program (a module of benchmarks), its benchmarks are unpacked, too: they call the commit's own
    use cases, whose names and arguments change. Raise CalledProcessError for an unknown revision.
    """
    file = f"{program.replace('.', '/')}.py"
    listed = subprocess.run(["git", "ls-tree", revision, file], cwd=ROOT, check=True, capture_output=True)
    parts = ("registry", *(("benchmarks",) if listed.stdout else ()), *parts)
    packed = subprocess.run(["git", "archive", revision, *parts], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def search_path(tree: Path) -> str:
    """Return the PYTHONPATH of a process that measures a tree: its `registry`, and its benchmarks or else this
    tree's."""
    return os.pathsep.join([str(tree), str(ROOT)])
