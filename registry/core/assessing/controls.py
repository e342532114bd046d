"""Controls: answers to random names, which cannot exist, and the comparison of other answers with them (soft 404).

Four of five hosts that answer 2xx at a well-known path serve something else there (docs/crawler.md, "Controls"). An
answer that equals the answer to a random name is an absence.
"""

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Final
from urllib.parse import unquote

from registry.core.assessing.verdicts import READ
from registry.core.model.documents import FetchResult, Outcome
from registry.core.reading.reader import is_html

COMPARED: Final = 8 * 1024  # bytes of a body that are compared: bounds the work, and page frames differ early
SIMILAR: Final = 0.95

_COMPARED_STATUSES: Final = frozenset({200, 203, 401, 403})  # other statuses decide without the body
_PATH = re.compile(r"https://[^/]*(/[^?#]*)")
_DIGITS: Final = b"0123456789"
_IN_WORDS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_-+/=" + bytes(range(0x80, 0x100))
_WORDS: Final = bytes(ord("0") if byte in _DIGITS else byte if byte in _IN_WORDS else ord(" ") for byte in range(256))
"""Maps every digit to "0" and everything between words to a space."""


@dataclass(frozen=True, slots=True)
class Control:
    """The answer to a random name, reduced to the facts that later answers of the visit are compared with.

    `size`, `sha256`: of the whole body. `head`: digest of the masked head. `words`: digest of its words. `text`: the
    masked head itself, to measure similarity; empty for web pages, because a page that differs is not a manifest
    either. `redirected_to`: the final URL, or the reason of a redirect to another site that was not followed.
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
    """The controls of one host so far. `home_ok`: the front page was answered with a status of READ. `lets_in`: it was
    answered with anything but a refusal, so the host does not refuse the crawler as a whole."""

    samples: tuple[Control, ...] = ()
    home_ok: bool = False
    lets_in: bool = False

    @property
    def echo(self) -> bool:
        """Return whether a random name was answered with JSON: a catch-all that may hide one real document."""
        return any(sample.is_json for sample in self.samples)

    def same(self, fetched: FetchResult) -> Control | None:
        """Return the control that was answered with the same bytes, if its body was compared."""
        facts = fetched.status, fetched.size
        for sample in self.samples:
            if sample.head and (sample.status, sample.size) == facts and sample.sha256 == fetched.sha256:
                return sample
        return None

    def equal(self, fetched: FetchResult) -> Control | None:
        """Return the control that this answer equals, exactly or nearly; None if the answer is distinct."""
        if fetched.failure is Outcome.REDIRECTED_AWAY:
            return next((sample for sample in self.samples if sample.redirected_to == fetched.reason), None)
        if fetched.failure is not None or fetched.status not in _COMPARED_STATUSES:
            return None
        samples = [sample for sample in self.samples if sample.status == fetched.status]
        if not samples:  # guard: soft-404
            return None
        redirected_to, text = _redirected_to(fetched), _mask_names(fetched)
        head_digest = _digest(text)
        for sample in samples:
            if (redirected_to is not None and redirected_to == sample.redirected_to) or head_digest == sample.head:
                return sample
        words = normalised(text)
        words_digest = _digest(" ".join(words).encode("latin-1"))
        is_page = _is_page(fetched)
        for sample in samples:
            if words_digest == sample.words or (not is_page and _resembles(sample, words)):
                return sample
        return None


def control(fetched: FetchResult, form: str | None = None) -> Control:
    """Return what to keep of an answer to a random name; `form`: the format that its body has at no particular path."""
    if fetched.failure is not None or fetched.status not in _COMPARED_STATUSES:
        redirected_to = fetched.reason if fetched.failure is Outcome.REDIRECTED_AWAY else None
        return Control(fetched.status, redirected_to=redirected_to)
    text = _mask_names(fetched)
    words = _digest(" ".join(normalised(text)).encode("latin-1"))
    is_json = fetched.status in READ and fetched.body.lstrip()[:1] in (b"{", b"[")
    return Control(
        fetched.status, fetched.size, fetched.sha256, _redirected_to(fetched), _digest(text), words,
        b"" if _is_page(fetched) else text, is_json, form,
    )  # fmt: skip


def normalised(text: bytes) -> list[str]:
    """Return the words of a text except those with a digit, which are times, counters, identifiers or nonces."""
    # one character for each byte: str is searched and split several times as fast as bytes
    return [word for word in text.translate(_WORDS).decode("latin-1").split(" ") if word and "0" not in word]


def _resembles(sample: Control, words: list[str]) -> bool:
    """Compare the Dice coefficient of the pairs of words with SIMILAR. Linear; equal letters alone do not count."""
    if not sample.text:
        return False
    a, b = ({*pairwise(["", *texts, ""])} for texts in (normalised(sample.text), words))
    return 2 * len(a & b) / (len(a) + len(b)) >= SIMILAR


def _digest(text: bytes) -> bytes:
    return hashlib.sha256(text).digest()


def _mask_names(fetched: FetchResult) -> bytes:
    """Return the head of a body with the requested names masked: URL, path, last segment, as sent and decoded."""
    head = fetched.body[: 2 * COMPARED].replace(b"\\/", b"/")
    urls = dict.fromkeys((fetched.url, fetched.final_url, *fetched.hops))
    names = {name.encode("utf-8", "replace") for url in urls for name in _list_spellings(url)}
    for encoded in sorted(names, key=lambda name: (-len(name), name)):
        head = head.replace(encoded, b"\0")
    return head[:COMPARED]  # cut after masking, so that the length of names does not matter


def _list_spellings(url: str) -> Iterator[str]:
    path = _PATH.match(url)
    if path is None or len(path[1]) < 4:
        return
    for name in (url, path[1], path[1].rpartition("/")[2]):
        if len(name) >= 4:  # shorter ones would mask ordinary words
            yield name
            yield unquote(name)
            yield name.replace("/", "%2F")


def _redirected_to(fetched: FetchResult) -> str | None:
    return fetched.final_url if fetched.hops else None


def _is_page(fetched: FetchResult) -> bool:
    return is_html(fetched.body[:4096].decode("utf-8-sig", "replace"))
