"""No more hosts in flight than there are descriptors for; the soft limit is raised as far as the hard one allows."""

import resource
import subprocess
import sys

import pytest

from crawler.descriptors import PER_HOST, SPARE

ASK = (
    "import resource, sys; from crawler.descriptors import hosts_that_fit;"
    "resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[1]), int(sys.argv[2])));"
    "print(hosts_that_fit(int(sys.argv[3])), resource.getrlimit(resource.RLIMIT_NOFILE)[0])"
)


@pytest.mark.parametrize(
    ("soft", "hard", "wanted", "fit", "then"),
    [
        (1_024, 4_096, 10, 10, 1_024),
        (1_024, 4_096, 1_000, 1_000, 1_000 * PER_HOST + SPARE),
        (1_024, 4_096, 4_000, (4_096 - SPARE) // PER_HOST, 4_096),
    ],
)
def test_in_a_process_of_its_own(soft: int, hard: int, wanted: int, fit: int, then: int) -> None:
    if resource.getrlimit(resource.RLIMIT_NOFILE)[1] < hard:
        pytest.skip("this machine allows fewer open files")
    done = subprocess.run(
        [sys.executable, "-c", ASK, *map(str, (soft, hard, wanted))], check=True, capture_output=True, text=True
    )
    assert done.stdout.splitlines()[-1].split() == [str(fit), str(then)]
