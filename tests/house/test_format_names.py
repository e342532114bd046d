"""Code about one format belongs in the folder of that format. ALLOWED lists the exceptions."""

import ast
from collections.abc import Iterator

from registry.core.formats import FORMAT_BY_SLUG
from tests.house.tree import Module, modules

_FORMATS = "registry.core.formats"
_EXAMPLES = "an example value in the schema of an answer"

ALLOWED = {
    "registry/actions/mirroring/received.py": "makes the answers that ADP defines, as recording does",
    "registry/actions/recording/present.py": "makes the answers that ADP defines",
    "registry/api/discover.py": "answers in the shape of the ADP registry",
    "registry/api/manifests.py": _EXAMPLES,
    "registry/api/schemas/base.py": _EXAMPLES,
    "registry/api/schemas/service.py": _EXAMPLES,
    "registry/api/schemas/evidence.py": _EXAMPLES,
    "registry/api/schemas/monitoring.py": _EXAMPLES,
    "registry/api/schemas/submission.py": _EXAMPLES,
    "registry/api/services.py": "serves the capability details that ADP defines",
    "registry/api/validate.py": _EXAMPLES,
    "registry/ard/app.py": "the document that describes the interface",
    "registry/core/assessing/drafts.py": "documents that are found at paths of their publisher's own choice",
    "registry/core/assessing/recognise.py": "the ordered table by which content is told apart",
    "registry/core/calling/a2a.py": "the protocol's identifier, which other formats can carry",
    "registry/core/calling/call.py": "protocols' identifiers; describes the call that the ADP detail describes",
    "registry/core/calling/credentials.py": "`did` is also a way to authenticate",
    "registry/core/calling/reach.py": "says why there is no call, as for the ADP detail",
    "registry/core/calling/record.py": "shows the call that the ADP detail describes",
    "registry/core/format_support/artifact_types.py": "the table of the types by which catalogues name formats",
    "registry/core/calling/server_records/record.py": "two formats of MCP servers state a status",
    "registry/core/format_support/loose.py": "`x402` is also a word for a pricing model",
    "registry/core/format_support/loose_card.py": "`x402` is also a member that states prices",
    "registry/core/format_support/mcp_parts.py": "shared by the three formats of MCP: an endpoint points to its card",
    "registry/core/format_support/named_addresses.py": "cards of many formats name protocols and documents of others",
    "registry/core/format_support/oauth.py": "shared by the two formats of OAuth metadata: one points to the other",
    "registry/core/format_support/vocabulary.py": "`did` and `x402` are also ways to authenticate",
    "registry/core/format_support/writing/calls.py": "WoA's protocol identifier, which other formats can carry",
    "registry/core/merging/access.py": "OAuth metadata completes the authentication that other documents declare",
    "registry/core/merging/details.py": "joins the two documents of ADP",
    "registry/core/merging/held.py": "ADP capability details count only through their manifest",
    "registry/core/merging/listing.py": "a listing carries the answers that ADP defines",
    "registry/core/merging/referrals.py": "link relations of catalogues, and documents of ADP and MCP that are gone",
    "registry/core/model/services.py": "`did` is also a way to authenticate",
    "registry/core/translating/compare.py": "reads an ADP manifest back together with its details",
    "registry/core/translating/translation.py": "AWP defines the marks of synthetic documents",
    "registry/core/visiting/call_checks.py": "checks the address of the call that the ADP detail describes",
    "registry/core/visiting/robots.py": "two formats define fields of robots.txt",
    "registry/core/visiting/summary.py": "identifiers of RPC protocols, one of which is spelled like its format",
    "registry/core/visiting/tool_lists.py": "cards of MCP servers name the endpoints that are asked for their tools",
    "registry/self_description/capabilities.py": _EXAMPLES,
    "registry/self_description/documents.py": "which documents this registry serves about itself",
    "registry/self_description/service.py": "offers its capabilities in WoA's envelope, and keeps ADP's ids",
    "registry/core/search_filters.py": "an example value of a parameter",
}
"""Modules outside the folders of formats that name a format, and why."""


def test_no_other_module_names_a_format() -> None:
    assert {module.name: names for module, names in _modules_that_name_formats() if module.name not in ALLOWED} == {}


def test_every_exception_is_needed() -> None:
    assert sorted(set(ALLOWED) - {module.name for module, _ in _modules_that_name_formats()}) == []


def test_a_name_is_noticed() -> None:
    tree = ast.parse("from registry.core.formats.adp import FORMAT\nfrom registry.core.formats import awp\nx = 'woa'")
    assert sorted(_names(tree)) == ["adp", "awp", "woa"]
    assert list(_names(ast.parse("from registry.core.formats import FORMATS"))) == []


def _modules_that_name_formats() -> Iterator[tuple[Module, list[str]]]:
    for module in modules("registry", "crawler"):
        names = sorted(set(_names(module.tree)))
        if names and not module.name.startswith("registry/core/formats/"):
            yield module, names


def _names(tree: ast.AST) -> Iterator[str]:
    """Yield the formats that are imported, and the strings that are the slug of one."""
    folders = {slug.replace("-", "_") for slug in FORMAT_BY_SLUG}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in FORMAT_BY_SLUG:
            yield node.value
        elif isinstance(node, ast.ImportFrom) and node.module == _FORMATS:
            yield from (alias.name for alias in node.names if alias.name in folders)
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(f"{_FORMATS}."):
            yield node.module.removeprefix(f"{_FORMATS}.").partition(".")[0]
