"""The real Meilisearch that some tests use where MEILI_URL and MEILI_MASTER_KEY name one that may be written to.

`unset` (tests/conftest.py): a registry whose test says nothing of a search server has the embedded engine, whatever the
machine has set.
"""

import os
from collections.abc import Iterator
from typing import Final

import pytest
from meilisearch import Client

URL: Final = os.environ.get("MEILI_URL", "")
MASTER: Final = os.environ.get("MEILI_MASTER_KEY", "")

needs_meilisearch = pytest.mark.skipif(
    not (URL and MASTER), reason="no Meilisearch: set MEILI_URL and MEILI_MASTER_KEY"
)


@pytest.fixture(scope="session", autouse=True)
def unset() -> Iterator[None]:
    """Not when this module is read: the processes of a parallel run inherit the environment of the one that reads."""
    with pytest.MonkeyPatch.context() as environment:
        for name in [name for name in os.environ if name.startswith("MEILI_")]:
            environment.delenv(name)
        yield


def remove_index(index: str) -> None:
    """The index, what was built beside it, and its keys."""
    client = Client(URL, MASTER, timeout=30)
    for one in client.http.get("indexes?limit=1000")["results"]:
        if one["uid"].startswith(index):
            client.delete_index(one["uid"])
    for key in client.http.get("keys?limit=1000")["results"]:
        if (key["name"] or "").startswith(f"waypost {index} "):
            client.http.delete(f"keys/{key['uid']}")
