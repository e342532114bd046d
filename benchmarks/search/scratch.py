"""Remove the temporary Meilisearch indexes of a benchmark or a test."""

from meilisearch import Client


def remove_index(url: str, master: str, index: str) -> None:
    """Remove the index, unfinished builds of it, and its keys."""
    client = Client(url, master, timeout=60)
    for entry in client.http.get("indexes?limit=1000")["results"]:
        if entry["uid"].startswith(index):
            client.delete_index(entry["uid"])
    for key in client.http.get("keys?limit=1000")["results"]:
        if (key["name"] or "").startswith(f"waypost {index} "):
            client.http.delete(f"keys/{key['uid']}")
