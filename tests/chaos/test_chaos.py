"""Bad days, each with the promise that it keeps: see `tests.chaos.scenarios`. `make chaos` shows the figures."""

import json

import pytest

from tests.chaos.pair import binaries, run_enclosed, why_not
from tests.chaos.scenarios import DAYS, faketime
from tests.flow.kills import print_line

SECONDS = 420


@pytest.mark.long
@pytest.mark.parametrize("day", [*DAYS, "name-servers"])
def test_a_bad_day_keeps_every_promise(day: str) -> None:
    if reason := why_not():
        pytest.skip(reason)
    if binaries() is None:
        pytest.skip("needs a PostgreSQL server of the system with pg_basebackup")
    if day.startswith("clock") and faketime() is None:
        pytest.skip("needs faketime")
    ran = run_enclosed("tests.chaos.scenarios", day, seconds=SECONDS)
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-3000:]
    report = json.loads(ran.stdout.splitlines()[-1])
    print_line(json.dumps(report))
    assert report["faults"] == {}
