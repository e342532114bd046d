"""Find host names in texts, and known names in host names and service names, in any spelling that reads the same.

Such spellings are letters of other scripts, digits for letters (`paypa1`), capitals (`PayPaI`), `rn` for `m`, single
letters with spaces between them, and slips of the keyboard (`paypall`, `gogle`). A name that is also an ordinary word
counts only if it is the whole name, alone or with words that its owner would add (`Apple Support`). Products of others
for a known name ("Gmail integration") are found too: no text shows who wrote it. Where the words around a name say that
it is a partner's, it is a mention.
"""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import product
from typing import Final, NamedTuple
from urllib.parse import unquote

import idna

from registry.core.names.confusables import skeleton, without_marks
from registry.core.names.domains import InvalidName, canonical_host, host_of, host_syntax, registrable_domain
from registry.core.names.known_names import KNOWN_NAMES, KnownName

_STOPS: Final = str.maketrans("。．｡․", "....")
"""Characters that are a full stop in host names (UTS 46), or look like one."""

_LABEL: Final = r"[^\W_](?:[\w-]{0,61}[^\W_])?"
_HOST: Final = re.compile(rf"(?<![\w-])(?:{_LABEL}\.){{1,9}}{_LABEL}(?![\w-])")
_NAMESPACE: Final = re.compile(r"(?:com|org|net|io)\.[^/\s]+/[^/\s]+", re.IGNORECASE)
"""The name of a server in the MCP registry, which is no host name: `io.github.alice/server`."""

_SITES: Final = frozenset({"special_use", "public_suffix"})
"""Why a name may not be registered although a site can be meant by it."""


def claimed_hosts(text: str) -> tuple[str, ...]:
    """Return the canonical host names in a claimed identity: a host, a URL, a DID, or a text with hosts in it."""
    host = host_of(text if "://" in text else f"https://{text}")
    return (host,) if host is not None and _is_spelt_right(host) else hosts_in(text)


def hosts_in(text: str) -> tuple[str, ...]:
    """Return the canonical host names among the words of a text, once each; also those in URLs and DIDs. All spellings
    of a name count once: percent signs, full width, invisible characters, trailing dots, any case. Words under a top
    level that does not exist (`Node.js`) are not names."""
    if is_namespaced(text):
        return ()
    shown = "".join(char for char in unquote(text).translate(_STOPS) if unicodedata.category(char) != "Cf")
    hosts: dict[str, None] = {}
    for match in _HOST.finditer(unicodedata.normalize("NFKC", shown)):
        try:
            hosts[canonical_host(match[0]).host] = None
        except InvalidName as refusal:
            if refusal.code in _SITES:
                hosts[host_syntax(match[0])] = None
    return tuple(hosts)


def is_namespaced(name: str) -> bool:
    """Return whether this is the name of a server in the MCP registry, `io.github.alice/server`."""
    return _NAMESPACE.fullmatch(name) is not None


def _is_spelt_right(host: str) -> bool:
    try:
        return host_syntax(host) == host
    except InvalidName:
        return False


_WORD: Final = re.compile(r"[^\W_]+")
_NAMED_WITHIN: Final = 4
"""Words after `official` among which the name is."""

_MAX_PIECES: Final = 4
"""Pieces of a word that are read as one, between capitals: `BankOfAmerica` has three."""

_PIECE: Final = re.compile(r"[A-Z]*[^A-Z]+|[A-Z]+")
_DIGITS: Final = str.maketrans("034578", "oeastb")
_MAX_WORDS: Final = 40
"""Words of a text that are read: a name has few."""

_SPELT_OUT: Final = 3  # from so many words of one letter on, they are read as one word
_MIN_DISGUISED: Final = 5
"""Minimum letters of an ordinary word; other spellings of shorter words are no disguise (`app1e`, but not `b0x`)."""

_MIN_ATTACHED: Final = 4
"""Letters that an ordinary word must have to be seen inside another word (`visalogin`, but not `banking`)."""

_WRITTEN: Final = """
    official the inc llc ltd limited corp corporation company co gmbh ag plc sa com www site page login signin signon
    logon sso auth oauth account accounts support help helpdesk helpline desk center centre customer customers client
    service services care team staff security secure safe safety verify verified verification confirm billing refund
    refunds claim claims payment payments pay wallet bank online web portal app apps api apis mcp agent agents ai
    assistant bot server sdk cli gateway id me my get go update unlock alert notice invoice order delivery tracking
"""
_OWNERS_WORDS: Final = frozenset(_WRITTEN.split())
"""Words next to a known name that make the whole read as if its owner had written it."""

_KINDS: Final = frozenset(
    ("api", "apis", "mcp", "sdk", "cli", "server", "app", "apps", "agent", "agents", "bot", "web", "ai")
)  # fmt: skip
"""Words of `_OWNERS_WORDS` that say what kind of thing it is, and claim nothing."""

_BEFORE_PARTNERS: Final = frozenset(
    ("for", "with", "to", "from", "via", "on", "into", "using", "für", "mit", "zu", "pour", "avec", "para", "con")
)  # fmt: skip
_AFTER_PARTNERS: Final = frozenset(
    ("integration", "integrations", "connector", "connectors", "adapter", "adaptor", "bridge", "plugin", "plugins",
     "extension", "addon", "wrapper", "toolkit", "importer", "exporter", "sync", "proxy", "mirror", "alternative",
     "tracker", "scraper", "automation", "compatible", "companion", "converter", "viewer", "downloader", "monitor",
     "stats", "statistics", "analytics", "unofficial")
)  # fmt: skip
"""Words around the known name of a partner: `Invoices for PayPal`, `Gmail integration`."""

_NOTHING_OWN: Final = frozenset(
    ("the", "this", "that", "is", "are", "we", "our", "it", "its", "welcome", "to", "a", "an", "here", "log", "sign",
     "in", "up", "join", "open", "visit", "continue", "connect", "pay", "buy", "send", "money", "shop", "your")
)  # fmt: skip
"""Words that name nothing of another maker: `Log in to PayPal` reads as if PayPal had written it."""

_OPERATED: Final = re.compile(
    r"(?:operated by|(?:service|division|subsidiary) of|service by|we are)(?: the)?", re.IGNORECASE
)
_PROSE_CHARS: Final = 600

_MIN_SLIPPED: Final = 6
_MIN_SHORTENED: Final = 8
"""Letters of a known name whose slips are known, and of a name that may lack a letter: `paypl` would find `papal`."""


def _slips(key: str) -> Iterator[str]:
    """Yield a key as it is often mistyped, its first letter right: a letter twice, one of two equal letters, two
    letters exchanged, an inner letter left out."""
    for at in range(1, len(key)):
        yield key[:at] + key[at - 1] + key[at:]
        if key[at] == key[at - 1] or (len(key) >= _MIN_SHORTENED and at < len(key) - 1):
            yield key[:at] + key[at + 1 :]
        if at > 1:
            yield key[: at - 1] + key[at] + key[at - 1] + key[at + 1 :]
    yield key + key[-1]


_BY_KEY: Final = {known.key: known for known in KNOWN_NAMES}
_SLIPPED: Final = {
    slip: known
    for key, known in _BY_KEY.items()
    if len(key) >= _MIN_SLIPPED and not known.is_word
    for slip in _slips(key)
    if slip not in _BY_KEY and slip != "telegramm"  # the German word
}
_BY_WORDS: Final = {known.words: known for known in KNOWN_NAMES if len(known.words) > 1 and not known.is_word}
_MAX_NAME_WORDS: Final = max(map(len, _BY_WORDS))
_UNSPACED: Final = r"\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
"""Characters of scripts whose words have no spaces between them, or endings written without a space."""

_SCRIPT_CHANGE: Final = re.compile(rf"(?<=[A-Za-z0-9])(?=[{_UNSPACED}])|(?<=[{_UNSPACED}])(?=[A-Za-z0-9])")
_BEST_KNOWN_FIRST: Final = sorted(
    ((domain, known) for known in KNOWN_NAMES for domain in known.domains),
    key=lambda one: (one[1].key != one[0].partition(".")[0], one[0] != one[1].domains[0]),
)
_BY_DOMAIN: Final = dict(reversed(_BEST_KNOWN_FIRST))
_SPELT: Final = {without_marks(text).casefold(): known for known in KNOWN_NAMES for text in known.spellings}
_SPELT_INSIDE: Final = tuple(text for text in _SPELT if re.match(f"[{_UNSPACED}]", unicodedata.normalize("NFC", text)))


class FoundName(NamedTuple):
    """A known name in a text or host. `is_mention`: it names a partner; the text does not pass for its owner's."""

    known: KnownName
    is_mention: bool


class _Word(NamedTuple):
    """A word of a text in lower case. `plain`: it and its joined pieces (`PayPalHelp`: `paypal`); `disguised`: what
    they look like."""

    text: str
    plain: frozenset[str]
    disguised: frozenset[str]


@lru_cache(maxsize=1_024)
def known_name_in(text: str) -> FoundName | None:
    """Return the first known name that a text, the name of a service or of its provider, is or contains."""
    maker = ""
    if is_namespaced(text):  # io.github.alice/server: GitHub did not write it
        text = text.partition(".")[2].partition(".")[2] or text
        maker, _, text = text.partition("/") if "/" in text else ("", "", text)
    if maker and (known := _known_in(_words(maker))) is not None:
        return FoundName(known, False)
    words = _words(text)
    known = _known_in(words)
    return None if known is None else FoundName(known, bool(maker) or _is_mention(words, known))


def _known_in(words: Sequence[_Word]) -> KnownName | None:
    return _find_used(words) or _find_whole(words, alone=True)


@lru_cache(maxsize=1_024)
def known_name_in_host(host: str) -> FoundName | None:
    """Return the first known name in the labels of a canonical host below its public suffix, and the first that is no
    mention where there is one. An ordinary word as a label (`target.shop.example`) does not count; an owner's domain
    does (`target.com.shop.example`)."""
    labels = host.split(".")[: -registrable_domain(host).count(".") or None]
    mention = None
    for place, label in enumerate(labels):
        words = _words(_unicode_label(label).replace("-", " "))
        if known := _find_used(words) or _find_whole(words, alone=False):
            is_installed = known.is_installed and label == known.key and place < len(labels) - 1
            if not is_installed and not _is_mention(words, known):
                return FoundName(known, False)
            mention = mention or FoundName(known, True)
    for start in range(len(labels)):
        for end in (start + 2, start + 3):
            if end <= len(labels) and (known := _BY_DOMAIN.get(".".join(labels[start:end]))):
                return FoundName(known, False)
    return mention


@lru_cache(maxsize=1_024)
def operator_in(text: str) -> KnownName | None:
    """Return the known name that a description gives as the operator's: `The official PayPal agent`, `operated by
    PayPal`. A description may mention all other names."""
    text = text[:_PROSE_CHARS]
    for sentence in re.split(r"[.!?\n]+\s", text):
        words = [word.casefold() for word in _WORD.findall(sentence)]
        if "official" in words and set(words[: words.index("official")]) <= _NOTHING_OWN:
            after = _words(" ".join(_WORD.findall(sentence)[words.index("official") + 1 :][:_NAMED_WITHIN]))
            known = _known_in(after)
            if known is not None and not _is_mention(after, known):
                return known
    for match in _OPERATED.finditer(text):
        named = _words(" ".join(_WORD.findall(text[match.end() :])[:_MAX_NAME_WORDS]))
        if (known := _find_used(named[:1]) or _find_used(named)) is not None and _starts_with(named, known):
            return known
    return None


def _starts_with(words: Sequence[_Word], known: KnownName) -> bool:
    return "".join(word.text for word in words).startswith(known.key) or known.key in words[0].disguised


@lru_cache(maxsize=1_024)
def asked_for(question: str) -> frozenset[KnownName]:
    """Return the known names among the words of a question, ordinary words included."""
    tokens = [word.casefold() for word in _WORD.findall(without_marks(question))[:_MAX_WORDS]]
    joined = ("".join(tokens[start : start + count]) for count in (1, 2, 3) for start in range(len(tokens)))
    return frozenset(_BY_KEY[key] for key in joined if key in _BY_KEY)


@lru_cache(maxsize=1_024)
def owned_name(host: str) -> KnownName | None:
    """Return a known name whose owner has the domain of a canonical host: the one best known by it, else the first."""
    domain = registrable_domain(host)
    owned = [known for known in KNOWN_NAMES if known.owns(domain)]
    return next((known for known in owned if known.domains[0] == domain), owned[0] if owned else None)


def _find_used(words: Sequence[_Word]) -> KnownName | None:
    """Return the first known name that is no ordinary word, or one in disguise or with an owner's word attached."""
    for position, word in enumerate(words):
        if known := _find_spelt(word.text):
            return known
        for count in range(2, _MAX_NAME_WORDS + 1):
            if known := _BY_WORDS.get(tuple(later.text for later in words[position : position + count])):
                return known
        if word.text in _OWNERS_WORDS:
            continue
        for key in sorted(word.plain):
            known = _BY_KEY.get(key)
            if known is not None and not known.is_word:
                return known
            if known := _SLIPPED.get(key) or _find_attached(key):
                return known
        for key in sorted(word.disguised):
            known = _BY_KEY.get(key) or _find_attached(key)
            if known is not None and (not known.is_word or len(known.key) >= _MIN_DISGUISED):
                return known
    return None


def _find_spelt(word: str) -> KnownName | None:
    """Return the known name that a word of another script is; where words have no spaces, also one inside it."""
    inside = (_SPELT[text] for text in _SPELT_INSIDE if not word.isascii() and text in word)
    return _SPELT.get(word) or next(inside, None)


def _find_attached(key: str, *, is_inner: bool = False) -> KnownName | None:
    """Return the known name that is written together with words of its owner or a number: `paypalsupport`,
    `securepaypallogin`. `is_inner`: one of two such words is cut off already."""
    for cut in range(2, len(key)):
        start, end = key[:cut], key[cut:]
        for inner, rest in ((start, end), (end, start)):
            known = _BY_KEY.get(inner) or _SLIPPED.get(inner)
            is_cut = known is None and rest in _OWNERS_WORDS and not is_inner
            if is_cut and (found := _find_attached(inner, is_inner=True)):
                return found
            if known is None or (known.is_word and len(known.key) < _MIN_ATTACHED):
                continue
            if rest in _OWNERS_WORDS or (rest == end and rest.isdecimal() and not known.is_word):
                return known
    return None


def _is_mention(words: Sequence[_Word], known: KnownName) -> bool:
    """Return whether words name a partner: `Invoices for PayPal`, `Gmail integration`, and nothing that only the owner
    would add. A name in disguise or attached to another word does not count."""
    texts = [word.text for word in words]
    plain = next((place for place in range(len(words)) if _reads(texts, place, known)), None)
    if plain is None:
        return False
    end = plain + (1 if texts[plain] == known.key else len(known.words))
    others = [*texts[:plain], *texts[end:]]
    if set(others) & (_OWNERS_WORDS - _KINDS):
        return False
    is_after = plain > 0 and texts[plain - 1] in _BEFORE_PARTNERS
    has_own = bool(set(texts[:plain]) - _BEFORE_PARTNERS - _KINDS - _NOTHING_OWN)
    return (is_after and has_own) or bool(set(others) & _AFTER_PARTNERS)


def _reads(texts: Sequence[str], place: int, known: KnownName) -> bool:
    return texts[place] == known.key or tuple(texts[place : place + len(known.words)]) == known.words


def _find_whole(words: Sequence[_Word], *, alone: bool) -> KnownName | None:
    """Return the known name that the words are, spaces and words of its owner aside: `Pay Pal`, `Apple Support`.
    `alone`: an ordinary word also counts without words of its owner."""
    others = [word.text for word in words if word.text not in _OWNERS_WORDS]
    for texts in ([word.text for word in words], others):
        known = _BY_KEY.get("".join(texts))
        if known is not None and (alone or not known.is_word or len(others) < len(words)):
            return known
    return None


def _words(text: str) -> list[_Word]:
    shown = unicodedata.normalize("NFKC", "".join(char for char in text if unicodedata.category(char) != "Cf"))
    apart = _SCRIPT_CHANGE.sub(" ", shown)
    return [_word(word) for word in _joined_letters(_WORD.findall(apart)[:_MAX_WORDS])]


def _joined_letters(words: Iterable[str]) -> Iterator[str]:
    """Yield the words, single letters in a row as one word: `P a y P a l`."""
    letters: list[str] = []
    for word in (*words, ""):
        if len(word) == 1:
            letters.append(word)
            continue
        yield from ["".join(letters)] if len(letters) >= _SPELT_OUT else letters
        letters = []
        if word:
            yield word


def _word(word: str) -> _Word:
    plain = frozenset(piece.casefold() for piece in _pieces(without_marks(word)))
    looks = _pieces(without_marks(skeleton(word)))
    disguised = frozenset(reading for piece in looks if not piece.isdecimal() for reading in _readings(piece))
    return _Word(without_marks(word).casefold(), plain, disguised - plain)


def _pieces(word: str) -> frozenset[str]:
    """Return the word and the runs of a few of its pieces, cut before capitals."""
    pieces = _PIECE.findall(word)
    runs = (pieces[start : start + count] for start in range(len(pieces)) for count in range(1, _MAX_PIECES + 1))
    return frozenset((word, *map("".join, runs)))


def _readings(piece: str) -> Iterator[str]:
    """Yield what a piece reads as, in lower case, with digits for letters and letters for others."""
    for capital, one in product("Il", "il"):
        text = piece.replace("I", capital).translate(_DIGITS).replace("1", one).casefold()
        yield text
        yield text.replace("rn", "m").replace("vv", "w")


def _unicode_label(label: str) -> str:
    try:
        return idna.ulabel(label) if label.startswith("xn--") else label
    except (idna.IDNAError, UnicodeError):
        return label
