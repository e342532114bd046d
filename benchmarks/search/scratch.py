"""Indexes of a Meilisearch server that are made for one run, of a benchmark or a test, and removed behind it."""

from meilisearch import Client


def remove_index(url: str, master: str, index: str) -> None:
    """The index, what was built beside it, and its keys."""
    client = Client(url, master, timeout=60)
    for one in client.http.get("indexes?limit=1000")["results"]:
        if one["uid"].startswith(index):
            client.delete_index(one["uid"])
    for key in client.http.get("keys?limit=1000")["results"]:
        if (key["name"] or "").startswith(f"waypost {index} "):
            client.http.delete(f"keys/{key['uid']}")
