"""A primary is lost in the middle of a crawl: see `tests.chaos.failover`. `make failover` shows the figures."""

import json

import pytest

from tests.chaos.pair import binaries, run_enclosed, why_not
from tests.flow.kills import print_line

SECONDS = 420


@pytest.mark.long
@pytest.mark.parametrize("kind", ["kill", "stop", "cut", "blink"])
def test_a_lost_primary_is_replaced_without_loss_and_harms_nothing_when_it_returns(kind: str) -> None:
    if reason := why_not():
        pytest.skip(reason)
    if binaries() is None:
        pytest.skip("needs a PostgreSQL server of the system with pg_basebackup")
    ran = run_enclosed("tests.chaos.failover", kind, seconds=SECONDS)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    print_line(json.dumps(report))
    assert report["faults"] == {}
