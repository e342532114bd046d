"""The category of a service, by the slugs that clients of ADP registries know, from the service's own words.

No document of the known formats names one of these slugs, so it is derived: from the name, the tags, the first sentence
of the description and the names of the capabilities. Later sentences are left out, because they often name things that
the service does not do or only supports. `other` means that no slug fits clearly.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from registry.core.model.services import Service

OTHER: Final = "other"

TERMS: Final[Mapping[str, str]] = {
    "email": "email; e-mail; mailbox; inbox; newsletter; smtp; transactional mail; subscriber",
    "payments": "payment; payout; invoice; invoicing; billing; bank; banking; accounting; payroll; tax; refund; "
    "direct debit; money; wallet; stablecoin; currency; exchange rate; donation; trading; financial; finance",
    "storage": "storage; file; bucket; backup; blob; database; redis; data store; key-value; archive; cdn",
    "analytics": "analytics; metric; dashboard; insight; heatmap; business intelligence; telemetry; statistic; survey; "
    "data analysis; market data; seo; benchmark; observability",
    "communication": "sms; live chat; messaging; message; voice call; phone; telephony; notification; video call; "
    "webinar; conference; conferencing; communication",
    "productivity": "calendar; scheduling; schedule; appointment; to-do; task management; project management; "
    "work management; form builder; spreadsheet; pdf; signature; esignature; meeting; reminder; document management; "
    "contract; timesheet; collaboration; productivity",
    "developer-tools": "developer; source code; code review; code generation; coding; repository; git; github; deploy; "
    "deployment; ci/cd; container; sdk; debug; error tracking; monitoring; hosting; openapi; schema; validator; dns; "
    "domain name; status page; api catalog; web3; blockchain; devops; programming; url shortener",
    "ai-ml": "machine learning; language model; llm; image generation; speech recognition; text to speech; embedding; "
    "transcription; machine translation; translation; ocr; inference; neural; computer vision; prompt; rag; "
    "document parsing; generative; summarization; sentiment",
    "social": "social; social media; subreddit; follower; tweet; community; dating; influencer",
    "crm": "crm; lead; deal; sales; customer relationship; customer support; customer service; helpdesk; help desk; "
    "support ticket; prospect; sales pipeline",
    "e-commerce": "e-commerce; ecommerce; shop; shopping; store; bookstore; cart; checkout; order; shipping; shipment; "
    "parcel; delivery; merchant; inventory; retail; purchase; product catalog; product catalogue; marketplace; "
    "grocery; buy; auction",
    "location": "geocode; geocoding; map; mapping; location; geolocation; directions; route; coordinate; timezone; "
    "places; gps; weather",
    "authentication": "authentication; identity; sso; single sign-on; oauth; passwordless; mfa; login; "
    "identity provider; credential; verification code; two-factor; password",
}
"""Slug -> words and phrases that speak for it, in the singular."""

NAME_POINTS: Final = 3
TAG_POINTS: Final = 2
SENTENCE_POINTS: Final = 2
CAPABILITY_POINTS: Final = 2
"""For a slug with words in at least a quarter of the capabilities' names."""

SENTENCE_CHARS: Final = 300
MAX_NAMES: Final = 200
MAX_CHARS: Final = 5_000

CATEGORIES: Final = (*TERMS, OTHER)

_WORD: Final = re.compile(r"[a-z0-9]+(?:[-/'][a-z0-9]+)*")
_IDENTIFIER: Final = re.compile(r"[^\s.]+(\.[^\s.]+)+")
"""A host name, or a name in the reverse order of one: its words are of its owner."""

_CAMEL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SENTENCE: Final = re.compile(r"[.!?](?:\s|$)|\n")


def category_of(service: Service) -> str:
    """Return the slug with the most points; of several, the one mentioned first; `other` without any."""
    points: dict[str, int] = {}  # in the order of the first mention
    names = [capability.name for capability in service.capabilities[:MAX_NAMES]]
    for text, weight in (
        ("" if _IDENTIFIER.fullmatch(service.name or "") else service.name or "", NAME_POINTS),
        (_SENTENCE.split((service.description or "").strip()[:SENTENCE_CHARS], maxsplit=1)[0], SENTENCE_POINTS),
        (" , ".join(service.tags[:MAX_NAMES]), TAG_POINTS),
    ):
        for slug in slugs_in(text):
            points[slug] = points.get(slug, 0) + weight
    mentions = Counter(slug for name in names for slug in slugs_in(name))
    for slug, count in mentions.items():
        if 4 * count >= len(names):
            points[slug] = points.get(slug, 0) + CAPABILITY_POINTS
    return max(points, key=points.__getitem__, default=OTHER)


def slugs_in(text: str) -> tuple[str, ...]:
    """Return the slugs with a word or phrase in the text (singular or plural), in order of mention."""
    words = _WORD.findall(_CAMEL.sub(" ", text[:MAX_CHARS].replace("_", " ")).lower())
    return tuple(dict.fromkeys(_SLUG[phrase] for phrase in _phrases(words) if phrase in _SLUG))


def _phrases(words: list[str]) -> Iterable[str]:
    """Yield every one, two and three words in a row, unchanged and with the last word in the singular."""
    for start in range(len(words)):
        for end in range(start + 1, min(start + 3, len(words)) + 1):
            phrase = " ".join(words[start:end])
            yield phrase
            yield _singular(phrase)


def _singular(phrase: str) -> str:
    if phrase.endswith("ies"):
        return phrase[:-3] + "y"
    return phrase[:-1] if phrase.endswith("s") and not phrase.endswith("ss") else phrase


_PHRASES: Final = {phrase: slug for slug, phrases in TERMS.items() for phrase in phrases.split("; ")}
_SLUG: Final = {_singular(phrase): slug for phrase, slug in _PHRASES.items()} | _PHRASES
