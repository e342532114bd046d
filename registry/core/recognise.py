"""THE ordered table: which test answers first says what a document is (formats.md section 1).

Content decides. Only the weak rows at the end look at the path, or at what the pointer that led here promised.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType

from registry.core import foreign, negative
from registry.core.documents import Document, Json
from registry.core.format import Dialect, Format
from registry.core.formats import (
    a2a,
    acp,
    adp,
    adp_detail,
    agent_permissions,
    agent_skills_index,
    agents_json,
    ai_catalog,
    ai_plugin,
    aid,
    anp,
    api_catalog,
    atp,
    awas,
    awp,
    identity,
    llms_txt,
    mcp_json,
    mcp_server_card,
    mcp_server_json,
    oasf,
    oauth,
    openapi,
    texts,
    ucp,
    woa,
    x402,
)
from registry.core.yaml_reader import read_yaml


@dataclass(frozen=True, slots=True)
class Foreign:
    """Another scheme: not a manifest here, but known by name."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """A file that says a protocol is absent; `format` is its slug where the file tells."""

    format: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """One test. `only_at` (searched in the URL's path) makes it weak: it counts at its own paths, or where the
    pointer that led to the document promised this very format. `text` rows see texts, all others JSON objects.
    `promised` rows count only where the pointer promised the format, wherever the document lies. `typed` (searched in
    the media type) is as good as the path. `reader` reads the text of a row that is written in another notation than
    JSON; it raises Unreadable."""

    test: Dialect
    what: Format | Foreign | Negative
    only_at: re.Pattern[str] | None = None
    text: bool = False
    promised: bool = False
    typed: re.Pattern[str] | None = None
    reader: Callable[[str], Json] | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """`dialect` is "" for formats that have only one. `reader`: see Row."""

    what: Format | Foreign | Negative
    dialect: str
    reader: Callable[[str], Json] | None = None


def _named(form: Format) -> re.Pattern[str]:
    """The last segment of the format's preferred path, in any folder."""
    return re.compile(re.escape("/" + form.paths[0].rpartition("/")[2]) + "$")


ROWS: tuple[Row, ...] = (
    # --- strong rows, numbered as in formats.md section 1
    Row(negative.stated_absence, Negative()),  # 1
    Row(foreign.json_rpc, Foreign("json-rpc")),  # 2
    Row(awp.dialect, awp.FORMAT),  # 3
    Row(awp.legacy_dialect, awp.FORMAT),  # 4
    Row(atp.dialect, atp.FORMAT),  # 5
    Row(woa.dialect, woa.FORMAT),  # 6
    Row(ucp.dialect, ucp.FORMAT),  # 7
    Row(api_catalog.dialect, api_catalog.FORMAT),  # 8
    Row(ai_catalog.dialect, ai_catalog.FORMAT),  # 9
    Row(acp.dialect, acp.FORMAT),  # 10
    Row(openapi.dialect, openapi.FORMAT),  # 11
    Row(ai_plugin.dialect, ai_plugin.FORMAT),  # 12
    Row(agents_json.dialect, agents_json.FORMAT),  # 13
    Row(anp.dialect, anp.FORMAT),  # 14
    Row(x402.dialect, x402.FORMAT),  # 15
    Row(agent_skills_index.dialect, agent_skills_index.FORMAT),  # 16
    Row(oauth.resource, oauth.RESOURCE),  # 17
    Row(oauth.server, oauth.SERVER),
    Row(identity.jwks, identity.JWKS),  # 18
    Row(identity.did, identity.DID),
    Row(aid.dialect, aid.FORMAT),  # 19
    Row(agent_permissions.dialect, agent_permissions.FORMAT),  # 20
    Row(adp.dialect, adp.FORMAT),  # 21
    Row(foreign.ahp, Foreign("ahp")),  # 22
    Row(foreign.frans, Foreign("frans")),
    Row(foreign.agent_discovery, Foreign("agent-discovery")),
    Row(foreign.facts, Foreign("facts")),
    Row(foreign.aid_like, Foreign("aid-like")),
    Row(foreign.workstate, Foreign("workstate")),
    Row(oasf.dialect, oasf.FORMAT),  # 23
    Row(mcp_server_card.by_schema, mcp_server_card.FORMAT),  # 24
    Row(mcp_server_json.dialect, mcp_server_json.FORMAT),  # 25
    Row(mcp_server_card.by_remotes, mcp_server_card.FORMAT),  # 26
    Row(mcp_server_card.by_server_info, mcp_server_card.FORMAT),  # 27
    Row(a2a.dialect, a2a.FORMAT),  # 28, 29
    Row(mcp_json.dialect, mcp_json.FORMAT),  # 30
    Row(atp.lax_dialect, atp.FORMAT),  # 31
    # --- weak rows: only at their own paths
    Row(awas.weak_dialect, awas.FORMAT, only_at=awas.OWN_PATHS),
    Row(a2a.without_skills, a2a.FORMAT, only_at=re.compile(r"/agent(-card)?\.json$")),
    Row(mcp_json.at_mcp_path, mcp_json.FORMAT, only_at=re.compile(r"mcp")),
    Row(agent_skills_index.at_own_path, agent_skills_index.FORMAT, only_at=re.compile(r"/(agent-)?skills/")),
    Row(x402.at_own_path, x402.FORMAT, only_at=re.compile(r"x402")),
    Row(ai_catalog.at_own_path, ai_catalog.FORMAT, only_at=re.compile(r"/(ard|ai-catalog)\.json$")),
    Row(ucp.at_own_path, ucp.FORMAT, only_at=re.compile(r"^/\.well-known/ucp(/|$)")),
    Row(api_catalog.at_own_path, api_catalog.FORMAT, only_at=re.compile(r"^/\.well-known/api-catalog$")),
    # --- only where a pointer promised the format
    Row(adp_detail.dialect, adp_detail.FORMAT, promised=True),
    # --- texts: only at their own paths
    Row(
        openapi.yaml,
        openapi.FORMAT,
        only_at=re.compile(r"(openapi|swagger)[^/]*\.ya?ml$|/openapi$"),
        text=True,
        typed=re.compile(r"yaml|vnd\.oai\.openapi$"),
        reader=read_yaml,
    ),
    Row(llms_txt.dialect, llms_txt.FORMAT, only_at=re.compile(r"/llms\.txt$"), text=True),
    Row(foreign.agents_md, Foreign("agents-md"), only_at=re.compile(r"/AGENTS\.md$"), text=True),
    *(Row(texts.text, form, only_at=_named(form), text=True) for form in texts.FORMATS),
)

FORMATS: tuple[Format, ...] = tuple({row.what.slug: row.what for row in ROWS if isinstance(row.what, Format)}.values())
FORMAT_BY_SLUG = MappingProxyType({form.slug: form for form in FORMATS})


def recognise(document: Document, expected: str | None = None) -> Match | None:
    """The first row that answers. `expected`: the format slug that a pointer promised. Total: never raises."""
    is_text = document.value is None and document.text is not None
    if not is_text and not isinstance(document.value, dict):
        return None
    path = _path(document.url)
    for row in ROWS:
        if row.text is not is_text or not _counts(row, path, document.media_type, expected):
            continue
        dialect = row.test(document)
        if dialect is None:
            continue
        if isinstance(row.what, Negative):
            return Match(Negative(dialect or _absent_format(document, path)), "")
        return Match(row.what, dialect, row.reader)
    return None


def _counts(row: Row, path: str, media_type: str | None, expected: str | None) -> bool:
    promised = expected is not None and isinstance(row.what, Format) and row.what.slug == expected
    if row.promised:
        return promised
    typed = row.typed is not None and row.typed.search(media_type or "") is not None
    return row.only_at is None or promised or typed or row.only_at.search(path) is not None


def _absent_format(document: Document, path: str) -> str | None:
    """Which format a file would be if it did not deny it; else the one whose path it occupies."""
    for row in ROWS:
        strong = row.only_at is None and not row.text and not row.promised
        if strong and isinstance(row.what, Format) and row.test(document) is not None:
            return row.what.slug
    return next((form.slug for form in FORMATS if path in form.paths), None)


def _path(url: str) -> str:
    return "/" + re.split(r"[?#]", url.partition("://")[2].partition("/")[2], maxsplit=1)[0]
