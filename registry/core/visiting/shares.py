"""Share the daily requests of a registrable domain among its hosts, so that strangers cannot use up a site's share.

Every client may submit a host or name it in a document, including hosts of other sites and hosts that do not exist.
The less is known of a host, the smaller the part of the day that hosts like it may spend together, so that strangers'
names cannot keep the crawler from the known hosts of a site. Look-ups of names without an address are bounded in the
same way, because each is a query to the site's name servers.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from enum import IntEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final, NamedTuple

from registry.core.names.opt_out import is_covered


class Standing(IntEnum):
    """How well a host is known, best first. Stored with each visit: never change a number."""

    KEPT = 0  # the apex, its www, and hosts that served a document
    KNOWN = 1  # other hosts that were reached before, or that the site itself or the operator named
    SUBMITTED = 2  # never reached; submitted by a user, and not looked up since
    NAMED = 3  # never reached; named by a document of another site, or already looked up in vain


class Share(NamedTuple):
    """The common limit in 24 hours for the hosts of one standing and of all below it. `requests`: the part of the
    domain's daily budget. `look_ups`: names without an address; None: without a bound."""

    requests: Fraction
    look_ups: int | None


SHARES: Final[Mapping[Standing, Share]] = MappingProxyType({
    Standing.KEPT: Share(Fraction(1), None),
    Standing.KNOWN: Share(Fraction(3, 4), None),
    Standing.SUBMITTED: Share(Fraction(1, 2), 40),
    Standing.NAMED: Share(Fraction(1, 4), 20),
})  # fmt: skip

DOMAIN_BUDGET: Final = "domain_budget"
SHARE_BUDGET: Final = "new_hosts_budget"
LOOK_UP_BUDGET: Final = "look_up_budget"

SKIPPED_TEXTS: Final[Mapping[str, str]] = MappingProxyType({
    DOMAIN_BUDGET: "Not visited: the domain has had all its requests of the last 24 hours.",
    SHARE_BUDGET: "Not visited: the little-known hosts of this domain have had all their requests of the last 24"
    " hours. The rest is kept for hosts that are better known.",
    LOOK_UP_BUDGET: "Not visited: too many names of this domain had no address in the last 24 hours.",
    "block_budget": "Not visited: the network of its address has had all its requests of the day.",
})  # fmt: skip
"""Reason of a visit that was not made -> its sentence."""


def is_main(domain: str, host: str) -> bool:
    """Return whether the host is the apex of its registrable domain, or the apex's www."""
    return host in (domain, f"www.{domain}")


def is_named_by_others(domain: str, source: str, referrer: str | None) -> bool:
    """Return whether neither the site nor the operator named the host: a submission, or a document of another site.
    "visit": of a host that was removed from the queue while it was visited."""
    if source == "document":
        return referrer is None or not is_covered(referrer, {domain})
    return source in ("submission", "visit")


def standing_of(
    domain: str,
    host: str,
    *,
    source: str,
    referrer: str | None,
    was_reached: bool,
    submitted_at: datetime | None,
    last_visit_at: datetime | None,
    last_found_at: datetime | None,
) -> Standing:
    """Return the standing of a host. `was_reached`: by an earlier visit."""
    if is_main(domain, host) or last_found_at is not None:
        return Standing.KEPT
    if was_reached or not is_named_by_others(domain, source, referrer):
        return Standing.KNOWN
    if submitted_at is not None and (last_visit_at is None or last_visit_at < submitted_at):
        return Standing.SUBMITTED
    return Standing.NAMED


class Spent(NamedTuple):
    """The use of a domain in the last 24 hours: requests sent, look-ups of names without an address."""

    requests: int = 0
    look_ups: int = 0


class DomainBudget:
    """The remaining budget of one domain's hosts today."""

    __slots__ = ("_daily", "_look_ups", "_requests")

    def __init__(self, daily: int, spent: Mapping[Standing, Spent] = MappingProxyType({})) -> None:
        """Start from the `daily` requests in 24 hours and the requests `spent` so far."""
        self._daily = daily
        self._requests = Counter({standing: before.requests for standing, before in spent.items()})
        self._look_ups = Counter({standing: before.look_ups for standing, before in spent.items()})

    def requests_left(self, standing: Standing) -> int:
        """Return the requests that a host of this standing may still be sent; zero or less: none."""
        return min(
            int(self._daily * share.requests) - _sum_up_to(limited, self._requests)
            for limited, share in SHARES.items()
            if limited <= standing  # guard: kept-share
        )

    def may_look_up(self, standing: Standing) -> bool:
        """Return whether a name may be looked up that may have no address."""
        return all(
            share.look_ups is None or _sum_up_to(limited, self._look_ups) < share.look_ups  # guard: look-ups
            for limited, share in SHARES.items()
            if limited <= standing
        )

    def count_request(self, standing: Standing) -> None:
        self._requests[standing] += 1

    def count_look_up(self, standing: Standing) -> None:
        """Count a look-up that gave no address to connect to."""
        self._look_ups[standing] += 1


def _sum_up_to(standing: Standing, counts: Counter[Standing]) -> int:
    """Return the sum of a standing and of all below it."""
    return sum(number for counted, number in counts.items() if counted >= standing)
