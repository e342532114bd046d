"""No sentence that a person or a program reads names what it is about by a placeholder that nothing fills."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.shared import ROOT

INTERFACES = ("registry/api", "registry/cli", "registry/edge", "registry/mcp", "registry/web", "registry/actions")
_QUOTED = re.compile(r"`[^`]*`")  # a template of a path, named as one
_PLACEHOLDER = re.compile(r"\{(capability|domain|host|id|name|token|url)\}")


def sentences(path: Path) -> Iterator[str]:
    """Yield the texts with blanks that are no docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    docstrings = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and " " in node.value and id(node) not in docstrings:
            yield node.value


def unfilled(text: str) -> set[str]:
    return set(_PLACEHOLDER.findall(_QUOTED.sub("", text)))


def test_an_unfilled_placeholder_is_found() -> None:
    assert unfilled("It ends the same way: /api/owner/{domain}/opt-out.") == {"domain"}
    assert unfilled("Send it to `POST /api/verify/{domain}`.") == set()


@pytest.mark.parametrize("folder", INTERFACES)
def test_no_sentence_has_an_unfilled_placeholder(folder: str) -> None:
    found = {}
    for path in sorted((ROOT / folder).rglob("*.py")):
        if names := set().union(*map(unfilled, sentences(path))):
            found[path.name] = names
    assert found == {}
