"""The one table: complete, in plain words, pinned to its version, and nothing in it that no code ever says."""

import ast
import re

import pytest

from registry.core.findings import Reason, Severity
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, Rule, fingerprint
from tests.house.tree import modules
from tests.support.shared import ROOT

PINNED = {
    "1": "d8ce582e24ab8b7339b0a56fdefa1c6c42a9549ae447f4b352b151dec3d0c3a0",
}
"""Fingerprints by version. A row changed: a new VERSION, a new line here; lines of released versions never change."""

ROWS = [pytest.param(reason, rule, id=reason.value) for reason, rule in RUBRIC.items()]


def test_every_reason_has_a_row() -> None:
    assert set(RUBRIC) == set(Reason)


def test_no_row_changes_without_a_version() -> None:
    assert PINNED.get(VERSION) == fingerprint(), "the table changed: raise VERSION and pin the new fingerprint here"


@pytest.mark.parametrize(("reason", "rule"), ROWS)
def test_a_rule_has_a_remedy_and_a_reference(reason: Reason, rule: Rule) -> None:
    assert rule.says and rule.fix and rule.spec


@pytest.mark.parametrize(("reason", "rule"), ROWS)
def test_a_rule_speaks_in_plain_sentences(reason: Reason, rule: Rule) -> None:
    """Terminals, pages and models show them as they are: no markup, no line breaks, a full stop at the end."""
    for sentence in (rule.says, rule.fix):
        assert sentence.endswith(".") and sentence == " ".join(sentence.split())
        assert not any(mark in sentence for mark in ("`", "](", "</", "/>", "**"))


@pytest.mark.parametrize(("reason", "rule"), ROWS)
def test_a_price_fits_its_section(reason: Reason, rule: Rule) -> None:
    assert 0 <= rule.points <= SECTION_POINTS[rule.section]


@pytest.mark.parametrize(("reason", "rule"), ROWS)
def test_a_note_is_cheap(reason: Reason, rule: Rule) -> None:
    """What is only a note costs less than any capability that cannot be used."""
    assert rule.severity is not Severity.INFO or rule.points <= 5


def test_reasons_are_named_after_their_codes() -> None:
    families = {reason.value.partition(".")[0] for reason in Reason}
    assert all(reason.value.count(".") == 1 and reason.value == reason.value.lower() for reason in Reason)
    assert not {family for family in families if "-" in family}


def test_every_reason_is_given_somewhere() -> None:
    """A row that no code gives would be a promise: it is shown at /api/rubric."""
    given = {
        node.attr
        for module in modules("registry")
        if not module.name.startswith(("registry/core/scoring/rubric", "registry/core/findings"))
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "Reason"
    }
    assert {reason.name for reason in Reason} - given == set()


def test_every_reason_is_shown_by_a_test() -> None:
    """Named in a test, or given by a fixture: a rule that nobody has ever seen fire is a guess."""
    texts = [module.text for module in modules("tests") if not module.name.startswith("tests/house/")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "formats").rglob("expected.json")]
    whole = "\n".join(texts)
    unseen = [one for one in Reason if not re.search(rf'"{re.escape(one)}"|Reason\.{one.name}\b', whole)]
    assert unseen == []
