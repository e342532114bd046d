"""The rubric is complete, in plain words, pinned to its version, and holds no rule that no code reports."""

import ast
import importlib
from collections.abc import Iterator

import pytest

from registry.core.model.findings import Rule, Severity
from registry.core.scoring.rubric import RUBRIC, SECTION_POINTS, VERSION, fingerprint
from registry.core.scoring.rules import ADVICE
from tests.house.tree import Module, modules
from tests.support.shared import ROOT


def _defined() -> Iterator[tuple[tuple[str, str], Rule]]:
    """Yield every rule that a module of the core defines, by module and name."""
    for module in modules("registry/core"):
        if "Rule(" in module.text:
            name = module.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
            targets = (target for node in module.tree.body for target in _targets(node))
            values = vars(importlib.import_module(name))
            yield from (((name, key), values[key]) for key in targets if isinstance(values.get(key), Rule))


def _targets(node: ast.stmt) -> list[str]:
    """Return the names that a statement assigns."""
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [target.id for target in targets if isinstance(target, ast.Name)]


DEFINED = dict(_defined())

PINNED = {
    "1": "d8ce582e24ab8b7339b0a56fdefa1c6c42a9549ae447f4b352b151dec3d0c3a0",
    "2": "de633acbbb94806919f3538534f6773971cff815dcb112fe84ad8f494246e588",
    "3": "051025606656e738a8a984cf79d4e85f6ca893b4d878abd52c28d8c4c90ff6c8",
    "4": "6d5234ef9705836921653a942386a50d2a83d8ed126d6fec887ed5da5f4b957d",
    "5": "34dcd50a6f733a88808ec6977738f3e1449696e2c52705c83acb11a3b98596d8",
    "6": "646e796c8ec75223a8bb2c64edd724a9b2d767c7ba1fd3562e00b644f2004da2",
    "7": "af19e5e58b596dd9f222222fac9fda089d8ec8675dcc8a27efe0f32b9adfc8ca",
    "8": "da7acaf9896f231a0084eada1e54fa01f5f8bdada5c3908d5407b692465fb1b5",
}
"""Fingerprints by version. A changed rule needs a new VERSION and a new line; released lines never change."""


def test_a_rule_has_one_code_and_a_code_one_rule() -> None:
    """Each rule is defined once, in a module of rules, and listed by a format; notes are made of rules."""
    assert DEFINED and [rule.code for rule in DEFINED.values() if RUBRIC.get(rule.code) is not rule] == []
    assert len(DEFINED) + len(ADVICE) == len(RUBRIC)


def test_no_rule_changes_without_a_version() -> None:
    assert PINNED.get(VERSION) == fingerprint(), "a rule changed: raise VERSION and pin the new fingerprint here"


def test_a_rule_has_a_remedy_and_a_reference() -> None:
    assert [rule.code for rule in RUBRIC.values() if not (rule.says and rule.fix and rule.spec)] == []


def test_texts_of_a_rule_are_plain_sentences() -> None:
    """Terminals, pages and models show the texts unchanged: no markup, no line breaks, a full stop at the end."""
    for rule in RUBRIC.values():
        for sentence in (rule.says, rule.fix):
            assert sentence.endswith(".") and sentence == " ".join(sentence.split()), rule.code
            assert not any(mark in sentence for mark in ("`", "](", "</", "/>", "**")), rule.code


def test_points_of_a_rule_fit_its_section() -> None:
    assert [rule.code for rule in RUBRIC.values() if not 0 <= rule.points <= SECTION_POINTS[rule.section]] == []


def test_an_info_rule_costs_few_points() -> None:
    """An INFO rule costs at most 5 points, less than any capability that cannot be used."""
    assert [r.code for r in RUBRIC.values() if r.severity is Severity.INFO and r.points > 5] == []


def test_codes_name_a_family_and_a_rule() -> None:
    families = {code.partition(".")[0] for code in RUBRIC}
    assert all(code.count(".") == 1 and code == code.lower() for code in RUBRIC)
    assert not {family for family in families if "-" in family}


def test_every_rule_is_reported_somewhere() -> None:
    """/api/rubric shows every rule, so one that no code reports would be misleading."""
    readers = [module for module in modules("registry") if not module.name.endswith("/requirements.py")]
    used = {used for module in readers for used in _rules_used(module)}
    assert {f"{place}:{name}" for place, name in DEFINED} - used == set()


@pytest.mark.slow
def test_every_rule_is_shown_by_a_test() -> None:
    """A test names each rule or a fixture breaks it, so that each has been reported at least once."""
    used = {used for module in modules("tests") for used in _rules_used(module)}
    texts = [module.text for module in modules("tests") if not module.name.startswith("tests/house/")]
    texts += [path.read_text(encoding="utf-8") for path in (ROOT / "tests" / "formats").rglob("expected.json")]
    text = "\n".join(texts)
    unseen = [
        rule.code
        for (place, name), rule in DEFINED.items()
        if f'"{rule.code}"' not in text and f"{place}:{name}" not in used
    ]
    assert unseen == []


def _rules_used(module: Module) -> Iterator[str]:
    """Yield `module:NAME` of each rule that is reached through an imported module of rules, or in its own module."""
    place = module.name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    imported = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
            yield f"{imported[node.value.id]}:{node.attr}"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield f"{place}:{node.id}"
