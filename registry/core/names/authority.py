"""Decide which host may speak for another one (`relation`), and read the opt-outs that hosts declare.

Claims, opt-outs, names, endpoints, issuers, pins and webhooks all ask `relation`. A host proves nothing about its
parent or siblings: `u1.platform.example` may belong to a customer of a platform that the Public Suffix List lacks. A
parent controls the DNS of the hosts below it. `www.` is dropped from names (docs/adr/0045-who-speaks-for-whom.md).

A file or a TXT record opts a site out, because only its owner can publish them. Both are read on request: in every
visit they would cost each site an HTTP request and a DNS query.
"""

from collections.abc import Collection, Iterable
from enum import IntEnum
from typing import Final

from registry.core.names.domains import host_of, same_site


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
    return Relation.BELOW if subject.endswith(f".{speaker.removeprefix('www.')}") else Relation.SITE


def is_own_answer(host: str, urls: Iterable[str]) -> bool:
    """Return whether the host itself answered: a request for it went through these URLs, redirects included.

    A redirect to another host leaves the answer to that host, even if it leads back.
    """
    return all(relation(host_of(url) or "", host) is Relation.SAME for url in urls)


FILE_PATH: Final = "/.well-known/waypost-optout.txt"
TXT_LABEL: Final = "_waypost"
WORD: Final = "opt-out"

_HEAD = 200  # bytes of a file or record that are read


def is_covered(host: str, opted_out: Collection[str]) -> bool:
    """Return whether `opted_out` contains `host` itself or a host above it."""
    return any(host == opted_out_host or host.endswith("." + opted_out_host) for opted_out_host in opted_out)


def covered_host(host: str, domain: str) -> str:
    """Return the name that an opt-out on `host` covers with all hosts below: for the apex or its `www.`, the domain."""
    return domain if host == f"www.{domain}" else host


def names_above(host: str, domain: str) -> tuple[str, ...]:
    """Return the host and all names above it, up to its registrable domain, which has to be one of them."""
    names = [host]
    while names[-1] != domain and "." in names[-1]:
        names.append(names[-1].partition(".")[2])
    return tuple(names)


def file_opts_out(body: bytes) -> bool:
    """Return whether the body of a well-known file (served with 200) opts out."""
    return _first_word(body.removeprefix(b"\xef\xbb\xbf")) == WORD


def record_opts_out(texts: Iterable[bytes]) -> bool:
    """Return whether one of the TXT records of a name opts out."""
    return any(_first_word(text) == WORD for text in texts)


def _first_word(text: bytes) -> str:
    words = text[:_HEAD].decode("ascii", "replace").split(maxsplit=1)
    return words[0].rstrip(".;,").lower() if words else ""
