"""The path of the shared test data, and the skip for machines that do not have it."""

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SHARED = Path(os.environ.get("WAYPOST_SHARED", ROOT.parent / "shared"))


def shared(*parts: str) -> Path:
    """Return the path of a file or folder of the shared test data; skip the test if it is absent."""
    path = SHARED.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"shared test data absent: {'/'.join(parts)} (set WAYPOST_SHARED)")
    return path
