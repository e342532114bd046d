"""Two states of the code side by side: this tree, and another commit unpacked into a folder."""

import io
import os
import subprocess
import tarfile
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
HERE: Final = "this tree"


def exported(revision: str, folder: Path, *parts: str) -> Path:
    """The packages of a commit, unpacked into `folder`; `parts` beside `registry`.

    Raises CalledProcessError for a name that git does not know.
    """
    packed = subprocess.run(["git", "archive", revision, "registry", *parts], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    return folder


def search_path(tree: Path) -> str:
    """PYTHONPATH of a process that measures a tree: its `registry`, and the benchmarks of this one."""
    return os.pathsep.join([str(tree), str(ROOT)])
