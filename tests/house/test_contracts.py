"""Each import contract of pyproject.toml reports a violation. `make check` applies the contracts to the tree itself."""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.hang import HANG_SECONDS
from tests.support.shared import ROOT

CONTRACTS = [
    contract["name"]
    for contract in tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
]

PLANTED = {
    "registry/core/formats/planted/__init__.py": "from registry.core.formats import awp\n",
    "registry/core/names/planted_socket.py": "import socket\n",
    "registry/core/names/planted_one.py": "from registry.core.names import planted_two\n",
    "registry/core/names/planted_two.py": "from registry.core.names import planted_one\n",
    "registry/core/names/planted_upwards.py": "from registry.core import scoring\n",
    "registry/core/planted_package/__init__.py": "",
    "registry/planted_package/__init__.py": "",
    "registry/store/planted_upwards.py": "from registry import actions\n",
    "registry/actions/planted.py": "import fastapi\n",
    "crawler/planted_interface.py": "import registry.api\n",
    "crawler/planted_store.py": "import registry.store\n",
    "registry/api/planted.py": "import registry.search.backend\n",
}
"""At least one violation of each contract, and packages that are missing in the order of layers."""

REPORTED = (
    "registry.store.planted_upwards -> registry.actions",
    "registry.core.names.planted_upwards -> registry.core.scoring",
    "planted_package",
)


def test_every_contract_reports_a_violation(tmp_path: Path) -> None:
    for package in ("registry", "crawler"):
        shutil.copytree(
            ROOT / package,
            tmp_path / package,
            ignore=lambda folder, names: [
                name for name in names if name == "__pycache__" or (name == "web" and folder.endswith("demo"))
            ],
        )
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name, text in PLANTED.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    process = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)
    verdicts = dict(re.findall(r"^(.+?) (KEPT|BROKEN)\b", process.stdout, re.MULTILINE))
    assert verdicts == dict.fromkeys(CONTRACTS, "BROKEN"), process.stdout + process.stderr
    assert process.returncode == 1
    assert [line for line in REPORTED if line not in process.stdout] == [], process.stdout
