"""The conformance tool of the ARD specification, which no package has."""

import os
from pathlib import Path
from typing import Final

from tests.conformance.tools import Missing
from tests.support.shared import ROOT

VARIABLE: Final = "ARD_SPEC"
"""Environment variable with a checkout of ards-project/ard-spec; else `.tools/ard-spec`."""


def conformance_test() -> Path:
    """Return the path of the tool. Raise Missing."""
    tool = Path(os.environ.get(VARIABLE, ROOT / ".tools" / "ard-spec")) / "conformance" / "bin" / "conformance-test"
    if not tool.is_file():
        raise Missing(f"ard-spec: set {VARIABLE} to a checkout of github.com/ards-project/ard-spec")
    return tool
