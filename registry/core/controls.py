"""Controls: answers to names nobody can have published, and whether another answer is just as empty.

Four of five hosts that answer 2xx at a well-known path serve something else there (probe-plan.md section 2). What a
host says about random names is the yardstick: an answer that says the same is an absence, whatever its status.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from registry.core.documents import Fetched

COMPARED: Final = 16 * 1024  # bytes of a body that are compared: bounds the work, and page frames differ early
SIMILAR: Final = 0.95

_PATH = re.compile(r"https://[^/]*(/[^?#]*)")
_VARIABLE = re.compile(
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"  # UUID
    r"|\b[0-9a-f]{8,}\b"  # hashes, request ids, hexadecimal nonces
    r"|\b(?=[a-z0-9_+/=-]{0,80}[0-9])[a-z0-9_+/=-]{20,}"  # base64 nonces
    r"|[0-9]+",  # digits: times, dates, counters
    re.IGNORECASE,
)
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls of one host that were asked so far. `home_ok`: the front page answered 2xx."""

    samples: tuple[Fetched, ...] = ()
    home_ok: bool = False

    @property
    def echo(self) -> bool:
        """Whether a random name was answered with JSON: a catch-all that may hide one real document."""
        return any(_answered(sample) and sample.body.lstrip()[:1] in (b"{", b"[") for sample in self.samples)

    def equal(self, fetched: Fetched) -> Fetched | None:
        """The control that says the same as this answer, None where the answer is its own."""
        return next((sample for sample in self.samples if _same(sample, fetched)), None)


def _same(control: Fetched, fetched: Fetched) -> bool:
    if control.failure is not None or fetched.failure is not None or control.status != fetched.status:
        return False
    if control.hops and fetched.hops and control.final_url == fetched.final_url:
        return True
    return control.body == fetched.body or similarity(_words(control), _words(fetched)) >= SIMILAR


def similarity(a: Counter[tuple[str, str]], b: Counter[tuple[str, str]]) -> float:
    """Dice coefficient of two bags of neighbouring words, 0 to 1. Linear, and letters alone never look alike."""
    total = a.total() + b.total()
    return 2 * (a & b).total() / total if total else 0.0


def _words(fetched: Fetched) -> Counter[tuple[str, str]]:
    return _bag(fetched.body[:COMPARED], _names(fetched))


@lru_cache(maxsize=256)  # every answer of a host is compared with the same one to three controls
def _bag(body: bytes, names: tuple[str, ...]) -> Counter[tuple[str, str]]:
    words = _WORD.findall(normalised(body, names))
    return Counter(pairwise(["", *words, ""]))


def normalised(body: bytes, names: tuple[str, ...] = ()) -> str:
    """The text of a body with everything masked that changes from request to request; `names` are masked first."""
    text = body.decode("utf-8", "replace").replace("\\/", "/")
    for name in names:
        text = text.replace(name, "\x00")
    return _VARIABLE.sub("\x00", text)


def _names(fetched: Fetched) -> tuple[str, ...]:
    """How a page may repeat what was asked for: URL, path, last segment, as sent and decoded; longest first."""
    urls = dict.fromkeys((fetched.url, fetched.final_url, *fetched.hops))
    names = {name for url in urls for name in _spellings(url)}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


def _spellings(url: str) -> Iterator[str]:
    path = _PATH.match(url)
    if path is None or len(path[1]) < 4:
        return
    for name in (url, path[1], path[1].rpartition("/")[2]):
        if len(name) >= 4:  # shorter ones would mask ordinary words
            yield name
            yield unquote(name)
            yield name.replace("/", "%2F")


def _answered(sample: Fetched) -> bool:
    return sample.failure is None and sample.status in (200, 203)
