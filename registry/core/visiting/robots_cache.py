"""The robots.txt files of one visit: the visited host's, and the files of hosts that it redirects to."""

from datetime import datetime

from registry.core.model.documents import FetchResult
from registry.core.visiting import robots_record
from registry.core.visiting.robots import Robots
from registry.core.visiting.visits import RobotsRecord


class RobotsCache:
    """Rules by host. `record`: the visited host's file, in the stored form for the next visit."""

    __slots__ = ("_by_host", "_host", "record")

    def __init__(self, host: str, stored: RobotsRecord | None) -> None:
        self._host = host
        self._by_host: dict[str, Robots] = {}
        self.record = stored

    def get(self, host: str) -> Robots | None:
        """Return the rules of `host`; None until its file is read."""
        return self._by_host.get(host)

    def use_stored(self, host: str, now: datetime) -> bool:
        """Use the file of an earlier visit. Return False if `host` has no stored file, or it is too old."""
        if host != self._host or self.record is None or not robots_record.fresh(self.record, now):
            return False
        self._by_host[host] = robots_record.rules_of(self.record)
        return True

    def add(self, host: str, final_host: str, fetched: FetchResult) -> None:
        """Read the answer to a request for the file of `host`, which `final_host` served in the end.

        It counts for both hosts: apex and `www.` usually share one file.
        """
        record = robots_record.keep(fetched, host)
        robots = robots_record.rules_of(record, f"robots_{fetched.reason}")
        for covered_host in {host, final_host}:
            self._by_host.setdefault(covered_host, robots)
        if host == self._host:
            self.record = record
