"""Decide whether a host may be visited and listed: by opt-outs of sites, and by holds of operators and owners.

A hold deletes nothing. `blocked`: an operator of the registry wants the host neither visited nor listed. `quarantined`:
an operator wants it visited and judged, but not listed. `hidden`: the host's owner wants it visited, but not listed.
This module decides for every interface and every writer; no other code compares a host with holds.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, get_args

from registry.core.names.opt_out import is_covered

HoldKind = Literal["blocked", "quarantined", "hidden"]
Withheld = Literal["blocked", "opted_out"]
"""Why a host is not listed, as one of the states of the change feed: an operator of this registry, or its own site."""

HOLD_KINDS: Final[tuple[HoldKind, ...]] = get_args(HoldKind)

BY_OPERATOR: Final[frozenset[HoldKind]] = frozenset({"blocked", "quarantined"})
"""Kinds that only an operator of the registry sets and ends."""


@dataclass(frozen=True, slots=True)
class Hold:
    """`covers_below`: the hold covers all hosts below `host` too, as an opt-out does; a block always does. `actor`: see
    access/audit.py. `reason`: the actor's own words."""

    domain: str
    host: str
    kind: HoldKind
    covers_below: bool
    actor: str
    reason: str
    since: datetime

    def covers(self, host: str) -> bool:
        return host == self.host or (self.covers_below and is_covered(host, (self.host,)))


@dataclass(frozen=True, slots=True)
class Limits:
    """What limits the hosts of one registrable domain: `opted_out`, the hosts whose opt-outs cover themselves and all
    hosts below them, with how each was declared; and `holds`."""

    opted_out: Mapping[str, str]
    holds: tuple[Hold, ...] = ()

    def of(self, host: str) -> tuple[Hold, ...]:
        """Return the holds that cover a host."""
        return tuple(hold for hold in self.holds if hold.covers(host))

    def kinds(self, host: str) -> frozenset[HoldKind]:
        return frozenset(hold.kind for hold in self.of(host))

    def has_opted_out(self, host: str) -> bool:
        return is_covered(host, self.opted_out)

    def may_be_visited(self, host: str) -> bool:
        return not self.has_opted_out(host) and "blocked" not in self.kinds(host)  # guard: hold-blocked-visits

    def may_be_listed(self, host: str) -> bool:
        """Return whether a host's service may be shown. What was found on the host does not matter here."""
        return not self.has_opted_out(host) and not self.of(host)  # guard: hold-listing

    def state(self, host: str) -> Withheld | None:
        """Return the state of a host that may not be listed, as the change feed tells it; None when it may be."""
        declared = {how for name, how in self.opted_out.items() if is_covered(host, (name,))}
        kinds = self.kinds(host)
        if kinds & BY_OPERATOR or declared & _BLOCKS:
            return "blocked"
        return "opted_out" if declared or kinds else None

    def told_closed(self, host: str) -> dict[str, str]:
        """Return the names of `closed` that cover a host, each with how it was declared; a block was declared by an
        operator."""
        blocked = {hold.host: "operator" for hold in self.holds if hold.kind == "blocked"}
        return {name: how for name, how in {**blocked, **self.opted_out}.items() if is_covered(host, (name,))}

    @property
    def closed(self) -> frozenset[str]:
        """The hosts that are never visited, nor any host below them."""
        return frozenset(self.opted_out) | {hold.host for hold in self.holds if hold.kind == "blocked"}


_BLOCKS: Final = frozenset({"operator", "origin_block"})

UNLIMITED: Final = Limits({})
