"""Opt-outs: what one covers, and the two ways to declare it besides robots.txt.

A file or a TXT record opts a site out, because only its owner can publish them. Both are read on request: in every
visit they would cost each site an HTTP request and a DNS query. The text after the first word is ignored.
"""

import codecs
import re
from collections.abc import Collection, Iterable
from typing import Final

FILE_PATH: Final = "/.well-known/waypost-optout.txt"
TXT_LABEL: Final = "_waypost"
WORD: Final = "opt-out"
_HEAD = 200  # bytes of a file or record that are read
_COMMENTS: Final = re.compile(rb"\A(?:\s*<!--[^<>]{0,500}-->)+")  # a cache may write one before the file


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
    if body.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        body = body.decode("utf-16", "replace").encode("utf-8", "replace")
    return _first_word(_COMMENTS.sub(b"", body.removeprefix(codecs.BOM_UTF8))) == WORD


def record_opts_out(texts: Iterable[bytes]) -> bool:
    """Return whether one of the TXT records of a name opts out."""
    return any(_first_word(text) == WORD for text in texts)


def _first_word(text: bytes) -> str:
    words = text[:_HEAD].decode("ascii", "replace").split(maxsplit=1)
    return words[0].strip("\"'.;,").lower() if words else ""
