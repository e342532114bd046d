"""The API says what a person takes from the documents of the corpus, value by value, and claims nothing else.

The demo crawls the labelled documents of the shared corpus, laid out as web sites, and serves the API. The shared tool
asks it for each labelled value.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.demo import served_demo
from tests.support.shared import shared

FORCED = {"row.pricing_type=free", "row.auth_type=none", "manifest.auth.type=none"}
"""Members of ADP registries that have no word for "not said"."""


@pytest.mark.long  # tests/flow/test_recorded_sites.py crawls the same documents
def test_documents_are_said_whole_and_nothing_else_is_claimed(tmp_path: Path) -> None:
    layout, tool = shared("tools", "corpus_sites.py"), shared("tools", "fidelity.py")
    labels, sites = shared("fidelity", "expected.jsonl"), tmp_path / "sites"
    subprocess.run([sys.executable, layout, sites, "--labels", labels], check=True, capture_output=True)
    with served_demo(tmp_path, sites) as base:
        command = [sys.executable, tool, "--base", base, "--all", "--claims", "--json"]
        found = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
    values = {key: counts for key, counts in found["keys"].items() if not key.startswith("claims")}
    judged, right = (sum(counts[index] for counts in values.values()) for index in (0, 1))
    assert right >= 0.99 * judged > 1_900, found["misses"]
    assert {key: counts for key, counts in values.items() if counts[1] < min(0.95 * counts[0], counts[0] - 1)} == {}
    claims = [miss for miss in found["misses"] if miss["key"].startswith("claims")]
    assert [miss for miss in claims if not set(miss["got"]) <= FORCED] == []
