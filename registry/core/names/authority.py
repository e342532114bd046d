"""Who may speak for whom. Claims, opt-outs, names, endpoints, issuers, pins and webhooks all ask `relation`.

A host proves nothing about its parent or its siblings: `u1.platform.example` may belong to a customer of a platform
that the Public Suffix List does not know. A parent controls the DNS of the hosts below it.
"""

from enum import IntEnum

from registry.core.names.domains import same_site


class Relation(IntEnum):
    """How close a speaker is to the host that it speaks for; a greater value is closer."""

    FOREIGN = 0
    """Another registrable domain."""
    SITE = 1
    """The same registrable domain: the subject is a parent or a sibling, perhaps of another operator."""
    BELOW = 2
    """The subject is a subdomain of the speaker."""
    SAME = 3
    """The same host; a name and its `www.` count as one."""


def relation(speaker: str, subject: str) -> Relation:
    """Return the relation of two canonical hosts."""
    if speaker.removeprefix("www.") == subject.removeprefix("www."):
        return Relation.SAME if same_site(speaker, subject) else Relation.FOREIGN
    if not same_site(speaker, subject):
        return Relation.FOREIGN
    return Relation.BELOW if subject.endswith(f".{speaker}") else Relation.SITE
