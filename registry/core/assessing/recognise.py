"""The recognition table: the first matching row decides the format of a document.

Content decides. Only the weak rows at the end also consider the path, the media type, or the format that the pointer to
the document promised.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from registry.core import formats
from registry.core.format_support.format import Dialect, Format
from registry.core.format_support.shapes import any_text
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Finding
from registry.core.reading.yaml_reader import read_yaml

Reader = Callable[[str, list[Finding]], Json]
"""Reads a text; adds a finding to the list for each part over a cap. Raises Unreadable."""


@dataclass(frozen=True, slots=True)
class Foreign:
    """A scheme that is known by name but not read: not a manifest here."""

    name: str


@dataclass(frozen=True, slots=True)
class Negative:
    """A file that states that a protocol is not offered, published because scanners ask for the path. `format` is its
    slug if the file reveals it."""

    format: str | None = None


@dataclass(frozen=True, slots=True)
class RecognitionRow:
    """One test.

    `only_at` (searched in the URL's path) makes the row weak: it counts only at those paths, or if the pointer to the
    document promised this very format. `typed` (searched in the media type) counts like the path. `promised` rows count
    only if the pointer promised the format, at any path. `text` rows test texts, all others JSON objects. `reader`
    reads the text of a row in another notation than JSON; it raises Unreadable.
    """

    test: Dialect
    result: Format | Foreign | Negative
    only_at: re.Pattern[str] | None = None
    text: bool = False
    promised: bool = False
    typed: re.Pattern[str] | None = None
    reader: Reader | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """`dialect` is "" for formats that have only one. `reader`: see RecognitionRow."""

    result: Format | Foreign | Negative
    dialect: str
    reader: Reader | None = None


def _has(*members: str) -> Dialect:
    """Return a test for a JSON object with all these members."""
    wanted = frozenset(members)
    return lambda document: "" if wanted <= document.members.keys() else None


_ABSENCE_MEMBERS: Final = (
    *((form.absence_member, form.slug) for form in formats.FORMATS if form.absence_member is not None),
    ("protocol", ""),
)


def _stated_absence(document: Document) -> str | None:
    """Return the slug of the format declared absent, "" if only other parts of the file can tell, else None."""
    value = document.members
    for key, slug in _ABSENCE_MEMBERS:
        member = value.get(key)
        if isinstance(member, dict) and member.get("available") is False:
            return slug
    return "" if value.get("available") is False else None


def _aid_like(document: Document) -> str | None:
    """Recognise AID's members without AID's version."""
    value = document.members
    return "" if value.keys() >= {"v", "p", "u"} and not re.fullmatch(r"aid\d+", str(value["v"])) else None


def _last_segment_pattern(form: Format) -> re.Pattern[str]:
    """Return a pattern for the last segment of the format's preferred path, in any folder."""
    return re.compile(re.escape("/" + form.paths[0].rpartition("/")[2]) + "$")


_OTHER_DESCRIPTIONS: Final = (
    ("asyncapi", "asyncapi", "info"), ("arazzo", "arazzo", "info"), ("openapi-overlay", "overlay", "info"),
    ("openrpc", "openrpc", "info"), ("swagger-1", "swaggerVersion"),
)  # fmt: skip
"""Names and members of descriptions that are not read. They share members, such as `servers`, with formats that are."""

_DISTINCT: Final = (
    formats.atp, formats.woa, formats.ucp, formats.api_catalog, formats.ai_catalog, formats.acp, formats.openapi,
    formats.ai_plugin, formats.agents_json, formats.anp, formats.x402, formats.agent_skills_index,
    formats.oauth_protected_resource, formats.oauth_authorization_server, formats.jwks, formats.did, formats.erc_8004,
    formats.aid,
    formats.agent_permissions, formats.adp, formats.agent_json,
)  # fmt: skip

_WEAK: Final = (
    (formats.a2a.without_skills, formats.a2a.FORMAT, r"/agent(-card)?\.json$"),
    (formats.mcp_json.at_mcp_path, formats.mcp_json.FORMAT, r"mcp"),
    (formats.agent_skills_index.at_own_path, formats.agent_skills_index.FORMAT, r"/(agent-)?skills/"),
    (formats.x402.at_own_path, formats.x402.FORMAT, r"x402"),
    (formats.ai_catalog.at_own_path, formats.ai_catalog.FORMAT, r"/(ard|ai-catalog)\.json$"),
    (formats.acp.at_own_path, formats.acp.FORMAT, r"^/\.well-known/acp(\.json)?$"),
    (formats.ucp.at_own_path, formats.ucp.FORMAT, r"^/\.well-known/ucp(/|$)"),
    (formats.api_catalog.at_own_path, formats.api_catalog.FORMAT, r"^/\.well-known/api-catalog$"),
    (
        formats.agent_json.at_card_path,
        formats.agent_json.FORMAT,
        r"/(ai-)?agents?(-(card|manifest|marketplace|services?|profile|info))?(\.json)?$",
    ),
)

ROWS: tuple[RecognitionRow, ...] = (
    # --- strong rows: content alone decides
    RecognitionRow(_stated_absence, Negative()),
    RecognitionRow(_has("jsonrpc"), Foreign("json-rpc")),
    *(RecognitionRow(_has(*members), Foreign(name)) for name, *members in _OTHER_DESCRIPTIONS),
    RecognitionRow(formats.awp.dialect, formats.awp.FORMAT),
    RecognitionRow(formats.awp.legacy_dialect, formats.awp.FORMAT),
    *(RecognitionRow(module.dialect, module.FORMAT) for module in _DISTINCT),
    RecognitionRow(_has("ahp"), Foreign("ahp")),
    RecognitionRow(_has("arazzo", "workflows"), Foreign("arazzo")),
    RecognitionRow(_has("agent_discovery_version"), Foreign("agent-discovery")),
    RecognitionRow(_has("subject", "facts"), Foreign("facts")),
    RecognitionRow(_has("agent_name", "label", "endpoints"), Foreign("agent-facts")),
    RecognitionRow(formats.agent_json.wrapped, formats.agent_json.FORMAT),
    RecognitionRow(_aid_like, Foreign("aid-like")),
    RecognitionRow(_has("awp_version", "workstate_id"), Foreign("workstate")),
    RecognitionRow(_has("awp_version", "modules"), Foreign("workstate")),
    RecognitionRow(formats.oasf.dialect, formats.oasf.FORMAT),
    RecognitionRow(formats.mcp_server_card.by_schema, formats.mcp_server_card.FORMAT),
    RecognitionRow(formats.mcp_server_json.dialect, formats.mcp_server_json.FORMAT),
    RecognitionRow(formats.mcp_server_card.by_remotes, formats.mcp_server_card.FORMAT),
    RecognitionRow(formats.mcp_server_card.by_server_info, formats.mcp_server_card.FORMAT),
    RecognitionRow(formats.a2a.dialect, formats.a2a.FORMAT),
    RecognitionRow(formats.mcp_json.dialect, formats.mcp_json.FORMAT),
    RecognitionRow(formats.atp.lax_dialect, formats.atp.FORMAT),
    # --- weak rows: only at their own paths
    RecognitionRow(formats.awas.weak_dialect, formats.awas.FORMAT, only_at=formats.awas.OWN_PATHS),
    *(RecognitionRow(test, form, only_at=re.compile(paths)) for test, form, paths in _WEAK),
    # --- only where a pointer promised the format
    RecognitionRow(formats.adp_detail.dialect, formats.adp_detail.FORMAT, promised=True),
    RecognitionRow(formats.mcp_tools_list.dialect, formats.mcp_tools_list.FORMAT, promised=True),
    RecognitionRow(formats.webmcp_forms.dialect, formats.webmcp_forms.FORMAT, promised=True),
    # --- texts: only at their own paths
    RecognitionRow(
        formats.openapi.yaml,
        formats.openapi.FORMAT,
        only_at=re.compile(r"(openapi|swagger)[^/]*\.ya?ml$|/openapi$"),
        text=True,
        typed=re.compile(r"yaml|vnd\.oai\.openapi$"),
        reader=read_yaml,
    ),
    RecognitionRow(
        formats.api_catalog.as_links,
        formats.api_catalog.FORMAT,
        only_at=re.compile(r"^/\.well-known/api-catalog$"),
        text=True,
        typed=re.compile(r"^application/linkset$"),
        reader=formats.api_catalog.read_links,
    ),
    RecognitionRow(any_text, formats.llms_txt.FORMAT, only_at=re.compile(r"/llms\.txt$"), text=True),
    RecognitionRow(any_text, Foreign("agents-md"), only_at=re.compile(r"/AGENTS\.md$"), text=True),
    *(
        RecognitionRow(any_text, module.FORMAT, only_at=_last_segment_pattern(module.FORMAT), text=True)
        for module in (formats.auth_md, formats.pricing_md, formats.ai_txt, formats.agents_txt, formats.llms_full_txt)
    ),
)


def recognise(document: Document, expected: str | None = None) -> Match | None:
    """Return the match of the first row that applies. `expected`: the slug that a pointer promised. Never raises."""
    is_text = document.value is None and document.text is not None
    if not is_text and not isinstance(document.value, dict):
        return None
    path = _path(document.url)
    for row in ROWS:
        if row.text is not is_text or not _applies(row, path, document.media_type, expected):
            continue
        dialect = row.test(document)
        if dialect is None:
            continue
        if isinstance(row.result, Negative):
            return Match(Negative(dialect or _absent_format(document, path)), "")
        return Match(row.result, dialect, row.reader)
    return None


def _applies(row: RecognitionRow, path: str, media_type: str | None, expected: str | None) -> bool:
    is_promised = expected is not None and isinstance(row.result, Format) and row.result.slug == expected
    if row.promised:
        return is_promised
    has_media_type = row.typed is not None and row.typed.search(media_type or "") is not None
    return row.only_at is None or is_promised or has_media_type or row.only_at.search(path) is not None


def _absent_format(document: Document, path: str) -> str | None:
    """Return the format of the file without its denial, else the format that owns the path."""
    for row in ROWS:
        is_strong = row.only_at is None and not row.text and not row.promised
        if is_strong and isinstance(row.result, Format) and row.test(document) is not None:
            return row.result.slug
    return next((form.slug for form in formats.FORMATS if path in form.paths), None)


def _path(url: str) -> str:
    return "/" + re.split(r"[?#]", url.partition("://")[2].partition("/")[2], maxsplit=1)[0]
