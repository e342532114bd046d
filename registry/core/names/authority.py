"""Decide which host may speak for another one.

Claims, opt-outs, names, endpoints, issuers, pins and webhooks all ask `relation`. A host proves nothing about its
parent or siblings: `u1.platform.example` may belong to a customer of a platform that the Public Suffix List lacks. A
parent controls the DNS of the hosts below it. `www.` is dropped from names (docs/adr/0045).
"""

from collections.abc import Iterable
from enum import IntEnum

from registry.core.names.domains import host_of, same_site


class Relation(IntEnum):
    """How close a speaker is to the host that it speaks for; a greater value is closer."""

    FOREIGN = 0  # another registrable domain
    SITE = 1  # the same registrable domain: the subject is a parent or a sibling, perhaps of another operator
    BELOW = 2  # the subject is a subdomain of the speaker
    SAME = 3  # the same host; a name and its `www.` count as one


def relation(speaker: str, subject: str) -> Relation:
    """Return the relation of two canonical hosts."""
    if speaker.removeprefix("www.") == subject.removeprefix("www."):
        return Relation.SAME if same_site(speaker, subject) else Relation.FOREIGN
    if not same_site(speaker, subject):
        return Relation.FOREIGN
    return Relation.BELOW if subject.endswith(f".{speaker.removeprefix('www.')}") else Relation.SITE


def is_own_answer(host: str, urls: Iterable[str]) -> bool:
    """Return whether the host itself answered: a request for it went through these URLs, redirects included. A redirect
    to another host leaves the answer to that host, even if it leads back."""
    return all(relation(host_of(url) or "", host) is Relation.SAME for url in urls)
