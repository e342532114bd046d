"""Read the languages of a document from Content-Language (RFC 9110 section 8.5); they are never guessed."""

import re
from collections.abc import Mapping
from typing import Final

MAX_LANGUAGES: Final = 10
TAG: Final = re.compile(r"[a-z]{2,3}(-[a-z0-9]{1,8}){0,6}")  # RFC 5646


def declared_languages(headers: Mapping[str, str]) -> tuple[str, ...]:
    """Return valid tags in lower case, each followed by its primary language (`de-at`, `de`)."""
    header = headers.get("content-language", "")[:500].lower()
    tags = [tag for part in header.split(",") if TAG.fullmatch(tag := part.strip())]
    return tuple(dict.fromkeys(name for tag in tags[:MAX_LANGUAGES] for name in (tag, tag.partition("-")[0])))
