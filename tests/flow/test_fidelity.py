"""The API says what a person takes from the documents of the corpus, value by value, and claims nothing else."""

from pathlib import Path

import pytest

from tests.flow.fidelity import judged, served
from tests.support.shared import shared

FORCED = {"row.pricing_type=free", "row.auth_type=none", "manifest.auth.type=none"}
"""Members of ADP registries that have no word for "not said"."""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_documents_are_said_whole_and_nothing_else_is_claimed(tmp_path: Path) -> None:
    for part in ("fidelity", "tools"):
        shared(part)
    with served(tmp_path) as base:
        found = judged(base)
    values = {key: counts for key, counts in found["keys"].items() if not key.startswith("claims")}
    judged_values, right = (sum(counts[index] for counts in values.values()) for index in (0, 1))
    assert right >= 0.99 * judged_values > 1_900, found["misses"]
    assert {key: counts for key, counts in values.items() if counts[1] < min(0.95 * counts[0], counts[0] - 1)} == {}
    claims = [miss for miss in found["misses"] if miss["key"].startswith("claims")]
    assert [miss for miss in claims if not set(miss["got"]) <= FORCED] == []
