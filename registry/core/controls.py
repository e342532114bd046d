"""Controls: answers to names nobody can have published, and whether another answer is just as empty.

Four of five hosts that answer 2xx at a well-known path serve something else there (probe-plan.md section 2). What a
host says about random names is the yardstick: an answer that says the same is an absence, whatever its status.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from registry.core.documents import Fetched, Outcome
from registry.core.reader import is_html
from registry.core.verdicts import READ

COMPARED: Final = 8 * 1024  # bytes of a body that are compared: bounds the work, and page frames differ early
SIMILAR: Final = 0.95

_LOOKED_AT: Final = frozenset({200, 203, 401, 403})  # what any other status says, it says without its body
_PATH = re.compile(r"https://[^/]*(/[^?#]*)")
_DIGITS: Final = b"0123456789"
_IN_WORDS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-+/=" + bytes(range(0x80, 0x100))
_WORDS: Final = bytes(ord("0") if at in _DIGITS else at if at in _IN_WORDS else ord(" ") for at in range(256))
"""Digits are all the same, and so is everything between words."""


@dataclass(frozen=True, slots=True)
class Control:
    """What is kept of an answer to a random name, to compare others with: it waits for the end of the visit.

    `size`, `sha256`: of the whole body. `head`: digest of the masked head; `words`: digest of its words. `text`: the
    masked head itself, where an answer can be similar without being the same; not of web pages: one that is not the
    same is no manifest either.
    `redirected_to`: where it came from in the end, or the reason of a redirect that was not followed to another site.
    `is_json`: it was answered like a document. `form`: the format that it has wherever it is served, if any.
    """

    status: int | None
    size: int = 0
    sha256: bytes = b""
    redirected_to: str | None = None
    head: bytes = b""
    words: bytes = b""
    text: bytes = b""
    is_json: bool = False
    form: str | None = None


@dataclass(frozen=True, slots=True)
class Controls:
    """The controls of one host that were asked so far. `home_ok`: the front page answered 2xx."""

    samples: tuple[Control, ...] = ()
    home_ok: bool = False

    @property
    def echo(self) -> bool:
        """Whether a random name was answered with JSON: a catch-all that may hide one real document."""
        return any(sample.is_json for sample in self.samples)

    def same(self, fetched: Fetched) -> Control | None:
        """The control that was answered with the same bytes, where its body was looked at."""
        for one in self.samples:
            if one.head and one.status == fetched.status and one.size == fetched.size and one.sha256 == fetched.sha256:
                return one
        return None

    def equal(self, fetched: Fetched) -> Control | None:
        """The control that says the same as this answer, in its own words; None where the answer is its own."""
        if fetched.failure is Outcome.REDIRECTED_AWAY:
            return next((one for one in self.samples if one.redirected_to == fetched.reason), None)
        if fetched.failure is not None or fetched.status not in _LOOKED_AT:
            return None
        samples = [sample for sample in self.samples if sample.status == fetched.status]
        if not samples:
            return None
        to, text = _redirected_to(fetched), _masked(fetched)
        head = _digest(text)
        for sample in samples:
            if (to is not None and to == sample.redirected_to) or head == sample.head:
                return sample
        words = normalised(text)
        said = _digest(" ".join(words).encode("latin-1"))
        is_page = _is_page(fetched)
        return next((one for one in samples if said == one.words or (not is_page and _resembles(one, words))), None)


def control(fetched: Fetched, form: str | None = None) -> Control:
    """What to keep of an answer to a random name; `form`: the format that its body has at no particular path."""
    if fetched.failure is not None or fetched.status not in _LOOKED_AT:
        away = fetched.reason if fetched.failure is Outcome.REDIRECTED_AWAY else None
        return Control(fetched.status, redirected_to=away)
    text = _masked(fetched)
    return Control(
        fetched.status,
        fetched.size,
        fetched.sha256,
        _redirected_to(fetched),
        _digest(text),
        _digest(" ".join(normalised(text)).encode("latin-1")),
        b"" if _is_page(fetched) else text,
        fetched.status in READ and fetched.body.lstrip()[:1] in (b"{", b"["),
        form,
    )


def similarity(a: frozenset[tuple[str, str]], b: frozenset[tuple[str, str]]) -> float:
    """Dice coefficient of two sets of neighbouring words, 0 to 1. Linear, and letters alone never look alike."""
    total = len(a) + len(b)
    return 2 * len(a & b) / total if total else 0.0


def normalised(text: bytes) -> list[str]:
    """The words of a text, but for those with a digit: they are times, counters, identifiers, nonces."""
    # one character for each byte: text is searched and split several times as fast as bytes are
    return [word for word in text.translate(_WORDS).decode("latin-1").split(" ") if word and "0" not in word]


def _pairs(words: list[str]) -> frozenset[tuple[str, str]]:
    return frozenset(pairwise(["", *words, ""]))


def _resembles(sample: Control, words: list[str]) -> bool:
    return bool(sample.text) and similarity(_pairs(normalised(sample.text)), _pairs(words)) >= SIMILAR


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _masked(fetched: Fetched) -> bytes:
    """The head of a body without what was asked for: URL, path, last segment, as sent and decoded; longest first."""
    head = fetched.body[: 2 * COMPARED].replace(b"\\/", b"/")
    for name in _names(fetched):
        head = head.replace(name, b"\0")
    return head[:COMPARED]  # behind the same text, however long the names in it were


def _names(fetched: Fetched) -> list[bytes]:
    urls = dict.fromkeys((fetched.url, fetched.final_url, *fetched.hops))
    names = {name.encode("utf-8", "replace") for url in urls for name in _spellings(url)}
    return sorted(names, key=lambda name: (-len(name), name))


def _spellings(url: str) -> Iterator[str]:
    path = _PATH.match(url)
    if path is None or len(path[1]) < 4:
        return
    for name in (url, path[1], path[1].rpartition("/")[2]):
        if len(name) >= 4:  # shorter ones would mask ordinary words
            yield name
            yield unquote(name)
            yield name.replace("/", "%2F")


def _redirected_to(fetched: Fetched) -> str | None:
    return fetched.final_url if fetched.hops else None


def _is_page(fetched: Fetched) -> bool:
    return is_html(fetched.body[:4096].decode("utf-8-sig", "replace"))
