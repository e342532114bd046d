"""`python -m tests.golden --base COMMIT`: compare the results of this tree with those of an earlier commit.

Exit code 0 when nothing differs, 1 when something does, 2 when the comparison could not be made.
"""

import argparse
import json
import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

from tests.golden.compare import differences, summary
from tests.support.shared import ROOT, SHARED

BUILDER = Path(__file__).with_name("build.py")
FIXTURES = Path("tests", "formats")
SITES = Path("registry", "demo", "web")


class BuildFailed(RuntimeError):
    """The results of one tree could not be built; the message holds what its builder printed."""


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    corpus = Path(options.corpus)
    if not (corpus / "INDEX.tsv").exists():
        print(f"no corpus in {corpus} (set WAYPOST_SHARED): only fixtures and sample sites are compared")
    with tempfile.TemporaryDirectory(prefix="waypost-golden-") as folder:
        work = Path(folder)
        try:
            base = extract(options.base, work / "base")
            inputs = {"corpus": corpus, "fixtures": base / FIXTURES, "sites": base / SITES}
            before = build(base, work, inputs, demo=options.demo)
            after = build(ROOT, work, inputs, demo=options.demo)
        except BuildFailed as failure:
            print(failure, file=sys.stderr)
            return 2
    found = differences(before, after, ignore_texts=options.ignore_texts)
    print(summary(found, before, limit=options.limit))
    return 1 if found else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__)
    parser.add_argument("--base", required=True, help="The commit to compare with.")
    parser.add_argument("--demo", action="store_true", help="Also run the demo in both trees and compare its API.")
    parser.add_argument("--ignore-texts", action="store_true", help="Do not compare sentences written for people.")
    parser.add_argument("--corpus", default=str(SHARED / "corpus"), help="Folder of recorded documents with INDEX.tsv.")
    parser.add_argument("--limit", type=int, default=40, help="How many kinds of difference are shown per section.")
    return parser


def extract(commit: str, folder: Path) -> Path:
    """Write the tree of `commit` to `folder`. Raise BuildFailed for an unknown commit."""
    archive = folder.with_suffix(".tar")
    process = subprocess.run(
        ["git", "-C", str(ROOT), "archive", "--format=tar", "--output", str(archive), commit],
        capture_output=True, text=True,
    )  # fmt: skip
    if process.returncode:
        raise BuildFailed(process.stderr.strip())
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    archive.unlink()
    return folder


def build(tree: Path, work: Path, inputs: dict[str, Path], *, demo: bool) -> dict[str, Any]:
    """Run the builder with the code of `tree` and return its results. Raise BuildFailed."""
    output = work / f"{tree.name}.json"
    command = [sys.executable, "-P", str(BUILDER), str(tree), str(output)]
    command += [f"--{name}={path}" for name, path in inputs.items()] + ["--demo"] * demo
    environment = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1", "PYTHONHASHSEED": "0"}
    process = subprocess.run(
        command, cwd=tree, env=environment, capture_output=True, text=True, stdin=subprocess.DEVNULL
    )
    if process.returncode:
        raise BuildFailed(f"{tree}:\n{process.stdout}{process.stderr}")
    results: dict[str, Any] = json.loads(output.read_bytes())
    return results


if __name__ == "__main__":
    sys.exit(main())
