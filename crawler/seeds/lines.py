"""Plain lists: a name on each line."""

import re
from collections.abc import Iterator
from typing import Final

from crawler.seeds.opened import Opened
from crawler.seeds.source import Source
from registry.core.domains import host_of
from registry.core.seeds import Refusal, Seed

FILE: Final = Source("file", "a file or standard input with a name on each line", "the name of the file")

NO_HOST: Final = "no_host"
NO_HOST_SAYS: Final = "there is no host name in this URL"

_COMMENT = re.compile(r"(?:^|\s+)#.*", re.DOTALL)


def names(source: Opened, *, urls: bool = False, called: str | None = None) -> Iterator[Seed | Refusal]:
    """The names as they stand there; blank lines and comments (`#`, behind a name after a space) are left out.

    `urls`: of a URL its host is taken; without, it is refused like everything that is no bare name. `called`: what is
    kept as referrer instead of the name of the file.
    """
    referrer = called or source.name
    for line in source.lines():
        if isinstance(line, Refusal):
            yield line
            continue
        number, text = line
        if "#" in text and not (text := _COMMENT.sub("", text)):
            continue
        yield seed(text, referrer, number, urls=urls)


def seed(text: str, referrer: str, place: int, *, urls: bool) -> Seed | Refusal:
    """The name that a text is, or, with `urls`, that it holds."""
    if not urls or "://" not in text:
        return Seed(text, referrer, place)
    host = host_of(text)
    return Refusal(text, NO_HOST, NO_HOST_SAYS, referrer, place) if host is None else Seed(host, referrer, place)
