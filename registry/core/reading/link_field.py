"""Read links in the notation of the `Link` header field (RFC 8288 section 3), also of linksets in text (RFC 9264
section 4.1). Input may be hostile: the patterns never step back, so the work is linear."""

import re
from collections.abc import Iterator
from typing import Final

# RFC 8288 appendix B
_PARAM_VALUE: Final = r"""(?:"((?:[^"\\]++|\\.)*+)(?:"|\\?\Z)|([^;,]*+))"""
_LINK_VALUE: Final = re.compile(
    rf"""<([^<>]{{0,2000}})>((?:\s*+;\s*+(?:[^\s;,="<>]++\s*+(?:=\s*+{_PARAM_VALUE})?+)?+)*+)""", re.DOTALL
)
_PARAM: Final = re.compile(rf""";\s*+([^\s;,="<>]++)\s*+(?:=\s*+{_PARAM_VALUE})?+""", re.DOTALL)
_QUOTED_PAIR: Final = re.compile(r"\\(.)", re.DOTALL)


def links_of(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the target of each link, and its parameters by name in lower case; the first of several equal names
    counts."""
    for value in _LINK_VALUE.finditer(text):
        found = reversed(_PARAM.findall(value[2]))
        params = {name.lower(): _QUOTED_PAIR.sub(r"\1", quoted) or bare.strip() for name, quoted, bare in found}
        if target := value[1].strip():
            yield target, params
