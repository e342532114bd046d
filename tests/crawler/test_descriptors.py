"""Hosts in flight are limited by the file descriptors; the soft limit is raised up to the hard one as needed."""

import resource
import subprocess
import sys

import pytest

from crawler.lease_holder import PER_HOST, SPARE

ASK = (
    "import resource, sys; from crawler.lease_holder import hosts_that_fit;"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])));"
    "print(hosts_that_fit(int(sys.argv[3])), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
)


@pytest.mark.parametrize(
    ("soft", "hard", "requested_hosts", "fitting_hosts", "new_soft_limit"),
    [
        (1_024, 4_096, 10, 10, 1_024),
        (1_024, 4_096, 1_000, 1_000, 1_000 * PER_HOST + SPARE),
        (1_024, 4_096, 4_000, (4_096 - SPARE) // PER_HOST, 4_096),
    ],
)
def test_the_soft_limit_is_raised_as_far_as_needed(
    soft: int, hard: int, requested_hosts: int, fitting_hosts: int, new_soft_limit: int
) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("this machine allows fewer open files")
    completed = subprocess.run(
        [sys.executable, "-c", ASK, *map(str, (soft, hard, requested_hosts))],
        check=True,
        capture_output=True,
        text=True,
    )
    assert completed.stdout.splitlines()[-1].split() == [str(fitting_hosts), str(new_soft_limit)]
