"""Turn text into terms, by the same recipe for documents and queries.

Names are kept as written and split again at case changes and punctuation, so that `getWeather_v2` is found by "weather"
and by "getweather". Terms are Snowball stems of the text's language, without accents; a run of a script without spaces
becomes overlapping pairs of its signs, as Lucene's CJKBigramFilter makes. Invisible characters (zero-width, direction
marks, soft hyphens) are dropped first, and letters that only look wide or decorated become plain ones (NFKC), so that
no spelling hides a word from search.

Request words (politeness, pronouns, phrases of asking) are left out of queries, not of documents. Words that can name
a thing or an action of a service (find, search, list, information, tool) are not request words.
"""

import re
import threading
import unicodedata
from collections.abc import Mapping, Sequence
from typing import Any, Final

import Stemmer  # type: ignore[import-not-found]  # a C extension without stubs

from registry.core.reading.plain_text import split_name
from registry.core.wording.request_words import REQUEST_WORDS_OF, UNSPACED_REQUESTS

_GRAMMAR = """
a an the this that these those each every either neither some any no all both few many much more most less least
several enough such other another own same certain

i me my mine myself we us our ours ourselves you your yours yourself yourselves he him his himself she her hers herself
it its itself they them their theirs themselves one ones who whom whose which what whoever whatever whichever
someone somebody something anyone anybody anything everyone everybody everything nobody nothing none

am is are was were be been being do does did doing done have has had having can could may might must shall should
will would ought cannot get gets getting got gotten go goes going gonna gotta wanna

about above across after against along among around as at before behind below beneath beside besides between beyond by
despite during except for from in inside into of off on onto out over per regarding since than
through throughout till to toward towards under until up upon via with within without

and or nor but so yet if unless whether because although though while whereas when whenever where wherever why how
not only just also too very quite rather really even still already again ever never always often sometimes perhaps maybe
here there now then else well however therefore instead soon once actually basically currently simply
"""
"""Determiners, pronouns, verbs that carry others, prepositions, conjunctions and adverbs."""

_ASKING = """
please kindly thanks thank help helps helping need needs needed needing want wants wanted wanting wish wishes hope
hoping like liked looking seeking trying try tries tried tell show give gives giving let lets allow allows able unable
wonder wondering love interested possible possibly know think guess suppose mean say says
hello hi hey dear sorry excuse okay ok yes sure
"""

_CONTRACTIONS = """
i'm i've i'd i'll you're you've you'd you'll he's he'd he'll she's she'd she'll it's it'd it'll we're we've we'd we'll
they're they've they'd they'll that's that'll there's there're here's what's what're who's who're where's when's why's
how's how'd let's isn't aren't wasn't weren't don't doesn't didn't haven't hasn't hadn't can't couldn't won't wouldn't
shan't shouldn't mustn't mightn't needn't ain't y'all
"""


_SPELL_ANOTHER_WORD = frozenset({"id", "ill", "shell", "hell", "wed", "shed"})
"""Words that a contraction must not become without its apostrophe: people search for `id` and `shell`."""

# People type `don't` and `dont`.
_WITHOUT_APOSTROPHE = frozenset(_CONTRACTIONS.replace("'", "").split()) - _SPELL_ANOTHER_WORD

REQUEST_WORDS: frozenset[str] = _WITHOUT_APOSTROPHE.union(_GRAMMAR.split(), _ASKING.split(), _CONTRACTIONS.split())

RECIPE = "3"  # part of the ranker's version: after a change here every document must be read again
TOKEN_CHARS = 64  # longer tokens are cut: they are not words, and an engine's terms must stay short
QUERY_CHARS = 400
QUERY_TERMS = 64
"""Limits on the parts of a query that are read. Interfaces cut queries and echo the cut text; here they protect the
ranker."""

_TOWARDS, _AWAY = frozenset({"to", "into"}), frozenset({"from"})
_NEAR: Final = 4
_BESIDE: Final = 2
"""Words read on each side of "to", and how many of the nearest, without words of grammar, say what becomes what."""

_TOKEN = re.compile(r"[^\W_]+(?:'[a-z]+)?")
_SENTENCE_ENDS = re.compile(r"(?<=[.?!])\s+")
_SENTENCE_TERMS: Final = 5
"""A sentence with fewer terms does not count as a separate need."""


STEMMERS: Final = {
    "cs": "czech", "da": "danish", "de": "german", "el": "greek", "en": "english", "es": "spanish",
    "fi": "finnish", "fr": "french", "hi": "hindi", "hu": "hungarian", "id": "indonesian", "it": "italian",
    "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian", "ru": "russian",
    "sv": "swedish", "tr": "turkish",
}  # fmt: skip
"""Language -> its Snowball algorithm. The words of other languages are stemmed as English ones, except Arabic."""

STEMMED: Final = frozenset({*STEMMERS, "ar"})

_ARABIC_PREFIX: Final = re.compile("^(?:(?:[وبكف]?ال|لل)(?=..)|و(?=...))")
_ARABIC_SUFFIX: Final = re.compile("(?<=..)(?:ها|ان|ات|ون|ين|يه|ه|ي)$")
"""Light stemming (light10: Larkey, Ballesteros and Connell 2002), once each. Snowball's algorithm also takes first
letters of words for prefixes, so that a word has another stem with and without its article."""

_ELIDED: Final = {
    "fr": frozenset(["l", "d", "j", "m", "t", "s", "c", "n", "qu", "jusqu", "lorsqu", "puisqu"]),
    "it": frozenset(["l", "d", "c", "un", "all", "dall", "dell", "nell", "sull", "quest", "quell"]),
}
"""Language -> what may stand before an apostrophe as a word of grammar: "l'air"."""


class _PerThread(threading.local):
    """A PyStemmer object has a cache without a lock, so each thread has its own."""

    def __init__(self) -> None:
        self._stemmers: dict[str, Any] = {}

    def stemmer(self, language: str) -> Any:
        algorithm = STEMMERS.get(language, STEMMERS["en"])
        if algorithm not in self._stemmers:
            self._stemmers[algorithm] = Stemmer.Stemmer(algorithm)
        return self._stemmers[algorithm]


_LOCAL = _PerThread()


def visible(text: str) -> str:
    """Return the text without format characters (Unicode category Cf), in compatibility form NFKC."""
    if text.isascii():
        return text
    return "".join(char for char in unicodedata.normalize("NFKC", text) if unicodedata.category(char) != "Cf")


_MARKS: Final = str.maketrans({
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2043\u2212\ufe58\u30fb", "-"),
    **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4`", "'"),
    **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f", '"'),
    **dict.fromkeys("\u3002\u06d4\u0964\u0965\u0589\u1362", "."),
    **dict.fromkeys("\u3001\u060c\u055d", ","),
    **dict.fromkeys("\u061f\u203d\u055e", "?"),
    **dict.fromkeys("\u2014\u2015\u2e3a\u2e3b\u00a1\u00bf\u061b\u2022", " "),
})  # fmt: skip
"""Marks of other scripts and of typography, as the ASCII mark of the same meaning."""

_BETWEEN_WORDS: Final = re.compile(r"[!?;\"()\[\]{}<>|]+|,(?!\d)|(?<!\d),")
_AROUND_WORDS: Final = ".,:-'*_~/\\"


def plain_marks(text: str) -> str:
    """Return a visible text with hyphens, quotation marks and stops in ASCII."""
    return text.translate(_MARKS)


def bare(text: str) -> str:
    """Return a text with `plain_marks` without the punctuation around its words: "e-mail", "C++" and "3.5" stay."""
    stripped = (token.strip(_AROUND_WORDS) for token in _BETWEEN_WORDS.sub(" ", text).split())
    return " ".join(filter(None, stripped))


def name_text(name: str) -> str:
    """Return the name as written, followed by its parts if it has any."""
    parts = split_name(name)
    return name if parts == name else f"{name} {parts}"


def _tokens(text: str) -> list[str]:
    tokens: list[str] = _TOKEN.findall(visible(text).lower().replace("\u2019", "'"))
    return tokens


def _word(token: str) -> str:
    """Return a word without its apostrophe: `bob's` -> `bob`, `don't` -> `dont`."""
    return token.removesuffix("'s").replace("'", "")[:TOKEN_CHARS]


def stems(text: str, language: str = "en") -> list[str]:
    """Return the terms of a text, in order, with repeats."""
    return stem_words(words_of(text, language), language)


def stem_words(written: Sequence[str], language: str = "en") -> list[str]:
    """Return the term of each word: its stem without accents."""
    if language == "ar":
        plain = [without_accents(word)[:TOKEN_CHARS] for word in written]
        return [_ARABIC_SUFFIX.sub("", _ARABIC_PREFIX.sub("", word)) for word in plain]
    # the English algorithm knows no accents: "résumé" is "resume" to it; others tell endings by them
    known = written if language in STEMMERS and language != "en" else [without_accents(word) for word in written]
    terms: list[str] = _LOCAL.stemmer(language).stemWords(known)
    return [without_accents(term)[:TOKEN_CHARS] for term in terms]


def without_accents(word: str) -> str:
    """Return a word in lower case without accents: "météo" -> "meteo", "straße" -> "strasse"."""
    return word if word.isascii() else word.translate(_WITHOUT_ACCENT)


def _accentless() -> dict[int, str]:
    """Return code -> letters, for letters with accents of the Latin, Greek, Cyrillic and Arabic scripts. In others, a
    mark is a sound: Japanese "ga" would become "ka"."""
    folded = dict(zip(map(ord, "ßæœøłđðıþħ"), ("ss", "ae", "oe", "o", "l", "d", "d", "i", "th", "h"), strict=True))
    folded |= {0x649: "\u064a", 0x629: "\u0647", 0x640: ""}  # Arabic letters that are typed for each other; a stretch
    for code in (*range(0xC0, 0x700), *range(0x1E00, 0x2000)):
        decomposed = unicodedata.normalize("NFD", chr(code))
        bare_letters = "".join(char for char in decomposed if unicodedata.category(char) != "Mn")
        if bare_letters != chr(code):
            folded[code] = bare_letters
    return folded


_WITHOUT_ACCENT: Final = _accentless()


def words(text: str) -> list[str]:
    """Return the words of a text as written, in lower case; a run of a script without spaces is one word."""
    return [_word(token) for token in _tokens(text)]


_MARKS_IN_WORDS: Final = (
    "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0903\u093a-\u093c"
    "\u093e-\u094f\u0951-\u0957\u0962\u0963\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd"
) + "".join(
    # Bengali to Sinhala, Tibetan to Burmese, Khmer
    char
    for char in map(chr, (*range(0x981, 0xE00), *range(0xF00, 0x10A0), *range(0x1780, 0x1800)))
    if unicodedata.category(char) in ("Mn", "Mc")
)
_MARKED_TOKEN: Final = re.compile(rf"[^\W_]+(?:[{_MARKS_IN_WORDS}]+[^\W_]*)*(?:'[a-z]+)?")
"""A token with the vowel and tone signs of its script, which `\\w` leaves out."""

_UNSPACED: Final = (
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u3005\u3007",  # Chinese signs
    "\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff",  # katakana
    "\u3041-\u309f",  # hiragana
    "\uac00-\ud7af",  # Hangul has spaces, but its words end in particles
    "\u0e00-\u0eff",  # Thai and Lao
)
_HAS_UNSPACED: Final = re.compile(f"[{''.join(_UNSPACED)}]")
_RUNS: Final = re.compile("|".join([*(f"[{signs}]+" for signs in _UNSPACED), f"[^{''.join(_UNSPACED)}]+"]))
_THAI_MARKS: Final = re.compile("[\u0e31\u0e34-\u0e3a\u0e47-\u0e4e\u0eb1\u0eb4-\u0ebc\u0ec8-\u0ecd]")
_ONLY_HIRAGANA: Final = re.compile(f"[{_UNSPACED[2]}]+")


def has_unspaced(text: str) -> bool:
    """Return whether a text has signs of a script without spaces, whose terms are pairs of signs."""
    return not text.isascii() and _HAS_UNSPACED.search(text) is not None


def words_of(text: str, language: str = "en") -> list[str]:
    """Return the words of a text whose stems are its terms, in lower case: as written, without elided articles; of a
    run of a script without spaces, overlapping pairs of signs."""
    return [_word(token) for token in _tokens_of(text, language)]


def _tokens_of(text: str, language: str) -> list[str]:
    plain = visible(text).lower().replace("\u2019", "'")
    tokens: list[str] = _TOKEN.findall(plain) if plain.isascii() else _MARKED_TOKEN.findall(plain)
    if elided := _ELIDED.get(language):
        tokens = [token.partition("'")[2] if token.partition("'")[0] in elided else token for token in tokens]
        tokens = [token for token in tokens if token]
    if not has_unspaced(plain):
        return tokens
    return [pair for token in tokens for run in _RUNS.findall(token) for pair in _pairs(run)]


def _pairs(run: str) -> list[str]:
    if not _HAS_UNSPACED.match(run):
        return [run]
    signs = _THAI_MARKS.sub("", run)
    return [signs[start : start + 2] for start in range(len(signs) - 1)] or [signs][: len(signs)]


def replace_words(text: str, replaced: Mapping[str, str]) -> str:
    """Return the visible text in lower case, with some of its words (as `words` returns them) replaced by others."""
    plain = visible(text).lower().replace("\u2019", "'")
    return _TOKEN.sub(lambda match: replaced.get(_word(match.group()), match.group()), plain)


def query_terms(text: str, language: str = "en") -> dict[str, str]:
    """Return distinct stem -> the query's first word for it, in the query's order, at most QUERY_TERMS. Request words
    ("I need to", "can you help me") say nothing about the service; they are left out if others remain."""
    words = _content_words(text[:QUERY_CHARS], language)
    terms: dict[str, str] = {}
    for word, stem in zip(words, stem_words(words, language), strict=True):
        if len(terms) == QUERY_TERMS:
            break
        terms.setdefault(stem, word)
    return terms


def _content_words(text: str, language: str) -> list[str]:
    """Return the words of a question without its request words, all if nothing else remains. Words of hiragana alone
    are mostly grammar."""
    requests = REQUEST_WORDS_OF.get(language, REQUEST_WORDS)
    asked = UNSPACED_REQUESTS.sub(" ", visible(text)) if language in ("zh", "ja") else text
    tokens = _tokens_of(asked, language)
    content = [token for token in tokens if token not in requests and not _ONLY_HIRAGANA.fullmatch(token)]
    return [_word(token) for token in content] or words_of(text, language)


def directions(text: str, language: str = "en") -> list[tuple[str, str]]:
    """Return (from, to) pairs of terms for each "X to Y", "X into Y" and "Y from X", at most four for each of these.
    Words of grammar and asking are skipped. "Convert an HTML page to PDF": (html, pdf), (page, pdf). None in another
    language than English."""
    tokens = _tokens(text) if language == "en" else []
    marked = [place for place, token in enumerate(tokens) if token in _TOWARDS or token in _AWAY]
    pairs: list[tuple[str, str]] = []
    for place in marked:
        before = _content(tokens[max(0, place - _NEAR) : place])[-_BESIDE:]
        after = _content(tokens[place + 1 : place + 1 + _NEAR])[:_BESIDE]
        sources, targets = (before, after) if tokens[place] in _TOWARDS else (after, before)
        pairs += [(source, target) for source in sources for target in targets if source != target]
    return pairs


def _content(tokens: list[str]) -> list[str]:
    return stem_words([_word(token) for token in tokens if token not in REQUEST_WORDS])


def sentences(text: str, language: str = "en") -> list[str]:
    """Return the parts of a request that may each name a need of their own; the whole text if it has only one part. A
    sentence of few words is read with the one before: mostly it refers to it ("Can you help me find one?"). Blank text
    has no parts."""
    parts: list[str] = []
    is_short = True
    for sentence in _SENTENCE_ENDS.split(" ".join(text[:QUERY_CHARS].split())):
        was_short, is_short = is_short, len(query_terms(sentence, language)) < _SENTENCE_TERMS
        if parts and (was_short or is_short):
            parts[-1] += f" {sentence}"
            is_short = was_short and len(query_terms(parts[-1], language)) < _SENTENCE_TERMS
        elif sentence:
            parts.append(sentence)
    return parts
