"""Who may import whom: the contracts of pyproject.toml hold, and each of them would see a violation."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.support.shared import ROOT

CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

PLANTED = {
    "registry/core/formats/planted.py": "from registry.core.formats import awp\n",
    "registry/core/planted_socket.py": "import socket\n",
    "registry/core/planted_one.py": "from registry.core import planted_two\n",
    "registry/core/planted_two.py": "from registry.core import planted_one\n",
    "registry/core/planted_upwards.py": "from registry import store\n",
    "registry/actions/planted.py": "import fastapi\n",
    "crawler/planted_door.py": "import registry.api\n",
    "crawler/planted_store.py": "import registry.store\n",
}
"""One violation or more of each contract."""


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    """import-linter in a tree; what is installed in the environment comes after the tree itself."""
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)


def verdicts(output: str) -> dict[str, str]:
    return dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", output, re.MULTILINE))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for package in ("registry", "crawler"):
        shutil.copytree(
            ROOT / package, folder / package, ignore=lambda _, names: [n for n in names if n in ("web", "__pycache__")]
        )
    shutil.copy(ROOT / "pyproject.toml", folder)
    return folder


def test_all_contracts_are_kept() -> None:
    checked = lint(ROOT)
    assert verdicts(checked.stdout) == dict.fromkeys(CONTRACTS, "KEPT"), checked.stdout + checked.stderr
    assert checked.returncode == 0


def test_every_contract_sees_a_violation(copy: Path) -> None:
    assert verdicts(lint(copy).stdout) == dict.fromkeys(CONTRACTS, "KEPT")
    for name, text in PLANTED.items():
        (copy / name).write_text(text)
    checked = lint(copy)
    for name in PLANTED:
        (copy / name).unlink()
    assert verdicts(checked.stdout) == dict.fromkeys(CONTRACTS, "BROKEN"), checked.stdout + checked.stderr
    assert checked.returncode == 1


def test_a_package_without_a_floor_is_refused(copy: Path) -> None:
    (copy / "registry" / "attic").mkdir()
    (copy / "registry" / "attic" / "__init__.py").touch()
    checked = lint(copy)
    shutil.rmtree(copy / "registry" / "attic")
    assert checked.returncode == 1
    assert "attic" in checked.stdout
