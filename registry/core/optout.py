"""Who wants to be left alone: what an opt-out covers, and the two places where a site can say so beside robots.txt.

A file `https://<host>/.well-known/waypost-optout.txt` or a TXT record at `_waypost.<host>` whose first word is
`opt-out`. Both are read only when somebody asks for it: looked for in every visit they would cost every site a request
and a question to its name server. Whoever can put them there controls the site or its names, which is all the proof
that is needed; what else stands there does not count.
"""

from collections.abc import Collection, Iterable
from typing import Final

FILE_PATH: Final = "/.well-known/waypost-optout.txt"
TXT_LABEL: Final = "_waypost"
WORD: Final = "opt-out"

_HEAD = 200  # bytes of a file or record that are looked at


def is_covered(host: str, opted_out: Collection[str]) -> bool:
    """Whether an opt-out of `host` itself or of a host above it is among `opted_out`."""
    return any(host == one or host.endswith("." + one) for one in opted_out)


def covered_host(host: str, domain: str) -> str:
    """What an opt-out that `host` gives covers: at the apex, or at its `www.`, the whole registrable domain."""
    return domain if host == f"www.{domain}" else host


def file_says_so(body: bytes) -> bool:
    """Whether the body of a well-known file (served with 200) opts out."""
    return _first_word(body.removeprefix(b"\xef\xbb\xbf")) == WORD


def record_says_so(texts: Iterable[bytes]) -> bool:
    """Whether one of the TXT records of a name opts out."""
    return any(_first_word(text) == WORD for text in texts)


def _first_word(text: bytes) -> str:
    words = text[:_HEAD].decode("ascii", "replace").split(maxsplit=1)
    return words[0].rstrip(".;,").lower() if words else ""
