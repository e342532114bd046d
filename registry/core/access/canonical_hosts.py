"""Decide which canonical hosts are in effect. An owner may name any host; the named host has to agree."""

from collections.abc import Collection
from dataclasses import dataclass

from registry.core.names.authority import Relation, relation


@dataclass(frozen=True, slots=True)
class CanonicalWish:
    """The wish that `target` stands for `host`. `has_consent`: an owner of `target` agreed."""

    host: str
    target: str
    has_consent: bool

    @property
    def is_allowed(self) -> bool:
        return self.has_consent or relation(self.target, self.host) is Relation.SAME  # guard: pin-consent


def in_effect(wishes: Collection[CanonicalWish]) -> dict[str, str]:
    """Return the canonical host by host. A wish for a host that is allowed to point elsewhere has no effect, so there
    are neither chains nor loops."""
    allowed = {wish.host: wish.target for wish in wishes if wish.is_allowed}
    return {host: target for host, target in allowed.items() if target not in allowed}  # guard: pin-chains
