"""Every reason code that an answer or a page can show has a sentence, a remedy and an address to read on."""

import ast
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, get_args

import pytest

from crawler import guards, outcomes
from registry.actions import feedback, reports, site_checks
from registry.actions.frontier import recheck, submit
from registry.actions.maintenance import opt_out
from registry.core.access import claims
from registry.core.access.holds import HOLD_KINDS
from registry.core.assessing.firewalls import Firewall, Refusal
from registry.core.calling.reach import WHY_NOT_CALLABLE
from registry.core.evidence import WhyNot
from registry.core.formats import FORMATS
from registry.core.formats.adp.detail_view import NoDetail
from registry.core.merging.trust import REASONS
from registry.core.model.documents import Outcome
from registry.core.names.domains import NAME_FAULTS
from registry.core.reasons import FAMILIES, TEXTS, citation_link, visit_code
from registry.core.scoring.rubric import RUBRIC
from registry.core.visiting.shares import SKIPPED_TEXTS
from registry.web.app import _ROUTES
from registry.web.guides import BY_SLUG
from tests.support.shared import ROOT

FOLDERS = ("registry/core/assessing", "registry/core/visiting", "crawler")
STATES = {"queued", "new", "known", "filed", "repeated", "counted"}
"""States of requests that were not refused."""


def literals(kind: Any) -> set[str]:
    """Return the texts of a Literal, or of a union of them."""
    return {text for part in get_args(kind) for text in ((part,) if isinstance(part, str) else literals(part))}


def in_code() -> Iterator[tuple[Path, str]]:
    """Yield every reason that the code writes as text beside an outcome, in calls, tuples and named constants."""
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*.py")):
            for node in ast.walk(ast.parse(path.read_text())):
                parts: list[ast.expr] = []
                if isinstance(node, ast.Call):
                    parts = node.args
                elif isinstance(node, ast.Tuple):
                    parts = node.elts
                for first, second in pairwise(parts):
                    is_outcome = (
                        isinstance(first, ast.Attribute)
                        and isinstance(first.value, ast.Name)
                        and first.value.id == "Outcome"
                    )
                    if is_outcome and isinstance(second, ast.Constant) and second.value:
                        yield path, str(second.value)
                if isinstance(node, ast.Call):
                    named = [one.value for one in node.keywords if one.arg == "reason"]
                    named += node.args[:1] if isinstance(node.func, ast.Name) and "no_manifest" in node.func.id else []
                    yield from ((path, str(one.value)) for one in named if isinstance(one, ast.Constant) and one.value)


def explained(reason: str) -> bool:
    return visit_code("", reason) != f"visit.{Outcome.SKIPPED}"


def test_the_reasons_that_the_code_writes_are_found() -> None:
    found = {reason for _, reason in in_code()}
    assert {"control_equal", "html", "nothing_asked", "host_deadline", "robots_not_read"} <= found
    assert len(found) > 30


@pytest.mark.parametrize(("path", "reason"), sorted(set(in_code())), ids=lambda one: str(one).rpartition("/")[2])
def test_a_reason_of_an_answer_or_a_visit_is_explained(path: Path, reason: str) -> None:
    assert explained(reason), path


SYSTEM = {*outcomes._SYSTEM.values(), *(reason for _, reason in outcomes._CERTIFICATE), *outcomes.UNUSABLE}
DNS = {*guards._REASONS.values(), "dns_error"}


@pytest.mark.parametrize("reason", sorted(SYSTEM | DNS | set(SKIPPED_TEXTS)))
def test_a_failure_of_the_network_is_explained(reason: str) -> None:
    assert visit_code("unreachable", reason) == f"visit.{reason}"


CODES = [
    *(f"visit.{outcome}" for outcome in Outcome),
    *(f"trust.{code}" for code in REASONS),
    *(f"call.{code}" for code in literals(NoDetail)),
    *(f"hold.{kind}" for kind in HOLD_KINDS),
    *(f"request.{state}" for kind in (recheck.RecheckState, submit.State) for state in literals(kind) - STATES),
    *(f"request.{state}" for kind in (feedback.Refusal, reports.FilingState) for state in literals(kind) - STATES),
    *(f"request.{state}" for state in literals(site_checks.Refusal)),
    *(f"opt_out.{verdict}" for verdict in literals(opt_out.Verdict)),
    *(f"claim.{word}" for word in literals(claims.Answer) | literals(claims.EndReason)),
    *(f"name.{code}" for code in NAME_FAULTS),
    *(f"difference.{code}" for code in literals(WhyNot)),
    *RUBRIC,
]


@pytest.mark.parametrize("code", sorted(set(CODES)))
def test_a_code_has_a_sentence_a_remedy_and_a_link(code: str) -> None:
    text = TEXTS[code]
    for sentence in (text.says, text.fix):
        assert sentence.endswith((".", "?")) and sentence[:1].strip()
    paths = {route.path for route in _ROUTES}
    assert text.link.startswith("https://") or text.link.partition("#")[0] in paths | formats() | guides(), text.link


def formats() -> set[str]:
    return {f"/formats/{form.slug}" for form in FORMATS}


def guides() -> set[str]:
    return {f"/docs/{slug}" for slug in BY_SLUG}


def test_no_text_is_left_over() -> None:
    visits = {code for code in TEXTS if code.startswith("visit.")}
    assert set(TEXTS) - visits <= set(CODES)
    assert {one.family for one in TEXTS.values()} - {rule.partition(".")[0] for rule in RUBRIC} == set(FAMILIES)
    assert not {rule.partition(".")[0] for rule in RUBRIC} & set(FAMILIES)
    assert set(WHY_NOT_CALLABLE) == literals(NoDetail)


@pytest.mark.parametrize(
    ("outcome", "reason", "code"),
    [
        ("absent", "", "visit.absent"),
        ("absent", "status_404", "visit.status"),
        ("disallowed", "robots_503", "visit.robots_unavailable"),
        ("not_a_manifest", "foreign:json-rpc", "visit.foreign"),
        ("not_a_manifest", "only llms-txt, jwks", "visit.only"),
        ("not_a_manifest", "rpc_error_-32601", "visit.rpc_error"),
        ("redirected_away", "to other.example", "visit.redirected_to"),
        ("malformed", "trailing_comma", "document.trailing_comma"),
        ("refused_by_firewall", Firewall("cloudflare", Refusal.CHALLENGE).reason, "visit.challenge"),
        ("too_large", "body:12345", "visit.body"),
        ("refused_address", "Private-Use (10.0.0.0/8)", "visit.refused_address"),
        ("unheard_of", "\x00" * 1_000, "visit.skipped"),
    ],
)
def test_reasons_with_details_find_their_text(outcome: str, reason: str, code: str) -> None:
    assert visit_code(outcome, reason) == code and code in TEXTS


@pytest.mark.parametrize(
    ("spec", "link"),
    [
        ("RFC 9110 section 15.5.5", "https://www.rfc-editor.org/rfc/rfc9110#section-15.5.5"),
        ("A2A 1.0 AgentCard.name; RFC 8615", "https://a2a-protocol.org/latest/specification/"),
        ("a text of nobody", "/rubric"),
    ],
)
def test_a_citation_leads_to_its_specification(spec: str, link: str) -> None:
    assert citation_link(spec) == link


def test_only_rules_without_a_published_text_lead_to_a_page_of_the_registry() -> None:
    own = {code for code in RUBRIC if TEXTS[code].link.startswith("/")}
    assert own <= {rule.code for form in FORMATS if not form.link for rule in form.rules}
