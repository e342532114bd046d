"""Reads plain lists with a name on each line."""

import re
from collections.abc import Iterator
from typing import Final

from crawler.seeds.opened import OpenList
from crawler.seeds.source import SeedSource
from registry.core.names.domains import MAX_URL_CHARS, host_of
from registry.core.names.seeds import Refusal, Seed

FILE: Final = SeedSource("file", "a file or standard input with a name on each line", "the name of the file")

NO_HOST: Final = "no_host"
NO_HOST_SAYS: Final = "there is no host name in this URL"

_COMMENT = re.compile(r"(?:^|\s+)#.*", re.DOTALL)


def names(source: OpenList, *, urls: bool = False, list_name: str | None = None) -> Iterator[Seed | Refusal]:
    """Yield the names unchanged, without blank lines and comments (`#`; after a name only behind a space).

    `urls`: take the host of a URL; otherwise URLs are refused later, like everything that is not a bare name.
    `list_name`: the stored referrer, instead of the name of the file.
    """
    referrer = list_name or source.name
    for line in source.lines():
        if isinstance(line, Refusal):
            yield line
            continue
        number, text = line
        if "#" in text and not (text := _COMMENT.sub("", text)):
            continue
        yield seed(text, referrer, number, urls=urls)


def seed(text: str, referrer: str, line_number: int, *, urls: bool) -> Seed | Refusal:
    """Return the text as a name or, with `urls`, the host of a URL. Cut long ones, because thousands wait in memory."""
    text = text[:MAX_URL_CHARS]
    if not urls or "://" not in text:
        return Seed(text, referrer, line_number)
    host = host_of(text)
    return (
        Refusal(text, NO_HOST, NO_HOST_SAYS, referrer, line_number)
        if host is None
        else Seed(host, referrer, line_number)
    )
