"""An upgrade from the latest release, or from the latest older schema: that program goes on beside the new one."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from registry.store.migrate import current_head, revisions
from tests.support.demo import forget_database
from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

pytestmark = pytest.mark.long

QUESTION = "weather for the next days"


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, check=True, capture_output=True, text=True).stdout


def head_of(commit: str) -> str | None:
    """Return the newest revision of a commit; None if its migrations were not in one line."""
    lines = git("grep", "-hE", "^(down_)?revision = ", commit, "--", "migrations/versions").splitlines()
    found = [re.findall(r"^(down_)?revision = [\"'](\w+)", line) for line in lines]
    pairs = [pair for one in found for pair in one]
    heads = {name for down, name in pairs if not down} - {name for down, name in pairs if down}
    return heads.pop() if len(heads) == 1 else None


def older_commit() -> str | None:
    """Return the commit of the latest release, or the latest one with an older schema."""
    if tags := git("tag", "--list", "v*", "--merged", "HEAD", "--sort=-v:refname").split():
        return tags[0]
    for commit in git("log", "-50", "--first-parent", "--format=%H", "--", "migrations/versions").split():
        if head_of(f"{commit}~1") in revisions()[:-1]:
            return f"{commit}~1"
    return None


@pytest.fixture
def older(tmp_path: Path) -> Path:
    """Return the tree of the commit from which is upgraded."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("no git repository")
    commit = older_commit()
    if commit is None:
        pytest.skip("no commit with an older schema")
    (tmp_path / "older").mkdir()
    archive = ["git", "archive", "-o", str(tmp_path / "tar"), commit, "registry", "crawler", "migrations"]
    subprocess.run(archive, cwd=ROOT, check=True)
    subprocess.run(["tar", "-xf", str(tmp_path / "tar")], cwd=tmp_path / "older", check=True)
    return tmp_path / "older"


def command(tree: Path, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    """Return a command of the program of a tree, and how to run it."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
    options = {"cwd": tree, "env": clean | {"PYTHONPATH": str(tree), "DATABASE_URL": ""}}
    return [sys.executable, "-m", "registry.cli", *arguments], options


def run(tree: Path, *arguments: str) -> str:
    words, options = command(tree, *arguments)
    done = subprocess.run(words, **options, capture_output=True, text=True, timeout=3 * HANG_SECONDS)
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def ask(url: str) -> Any:
    with urllib.request.urlopen(url, timeout=HANG_SECONDS) as answer:
        return json.load(answer)


def wait_until_ready(url: str, serve: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + HANG_SECONDS
    while True:
        assert time.monotonic() < until and serve.poll() is None
        with contextlib.suppress(OSError):  # not listening yet, or 503
            ask(url)
            return
        time.sleep(0.2)


def test_an_older_program_goes_on_beside_the_new_schema(older: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    base = f"http://127.0.0.1:{port}"
    try:
        run(older, "demo", "--no-serve", "--data", str(data))
        words, options = command(older, "serve", "--port", str(port), "--data", str(data))
        with (tmp_path / "log").open("wb") as log, subprocess.Popen(words, **options, stderr=log, stdout=log) as serve:
            try:
                wait_until_ready(f"{base}/readyz", serve)
                before = ask(f"{base}/api/discover?q={QUESTION.replace(' ', '+')}")
                assert current_head() in run(ROOT, "migrate", "--data", str(data))
                after = ask(f"{base}/api/discover?q={QUESTION.replace(' ', '+')}&limit=9")
                hosts = [row["service"]["domain"] for row in after["data"]]
                assert hosts[0] == before["data"][0]["service"]["domain"]
                assert hosts[0] in run(ROOT, "search", QUESTION, "--data", str(data), "--json"), "both at once"
            finally:
                serve.terminate()
        assert hosts[0] in run(ROOT, "search", QUESTION, "--data", str(data), "--json")
    finally:
        forget_database(data)
