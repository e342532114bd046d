"""Texts read as English, not as a translation: phrases and class names that once filled the house do not come back."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator

from tests.house.tree import Module, modules
from tests.support.shared import ROOT

PHRASE = re.compile(
    r"\b(?:of (?:which|whom)|whom|anew|whatever|is that of|that of a|those that|of its own|nobody|somebody|anybody|"
    r"ones? that|it is one|is none|are none|as it comes|but for|told|tells of|by hand of|what (?:it|they) (?:is|are)|"
    r"how (?:it|they) stands?)\b",
    re.IGNORECASE,
)
MAX_IN_CODE = 45
MAX_IN_DOCS = 30
"""Some are words of an attack, of a question or of a specification; a few more may be right in their place."""

PARTICIPLE = re.compile(r"^_?[A-Z][a-z]*(?:ed|en)$|(?:Asked|Found|Held|Kept|Made|Read|Said|Sent|Shown|Then|Told)$")
NOUNS = frozenset({"Feed", "Seed", "Token", "_Open"})
TOLERATED = frozenset({"Pinned", "Spoken"})
PUBLISHED = "registry/api/schemas/"
"""Names of classes there are names of schemas in the OpenAPI document, on which clients depend."""


def phrases(text: str) -> list[str]:
    """Return the phrases in the comments and strings of a module."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    texts = (token.string for token in tokens if token.type in (tokenize.COMMENT, tokenize.STRING))
    return [phrase for text in texts for phrase in PHRASE.findall(text)]


def participles(module: Module) -> Iterator[str]:
    """Yield the classes that are named by a participle instead of a noun."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.ClassDef) and PARTICIPLE.search(node.name) and node.name not in NOUNS | TOLERATED:
            yield node.name


def test_the_code_has_few_phrases_that_read_as_translated() -> None:
    found = {module.name: here for module in modules("registry", "crawler") if (here := phrases(module.text))}
    assert sum(map(len, found.values())) <= MAX_IN_CODE, found


def test_the_pages_have_few_phrases_that_read_as_translated() -> None:
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "docs").rglob("*.md")}
    written = {name: text for name, text in texts.items() if not text.startswith("<!--")}  # not by `make docs`
    found = {name: here for name, text in written.items() if (here := PHRASE.findall(text))}
    assert sum(map(len, found.values())) <= MAX_IN_DOCS, found


def test_a_class_is_named_by_a_noun() -> None:
    own = [module for module in modules("registry", "crawler") if not module.name.startswith(PUBLISHED)]
    assert {module.name: names for module in own if (names := list(participles(module)))} == {}


def test_planted_words_are_found() -> None:
    assert phrases("x = 1  # a host of which nobody was told\n") == ["of which", "nobody", "told"]
    assert phrases('"""Return the hosts that answer."""\n') == []
    module = Module(ROOT / "tests/house/tree.py", "")
    assert list(participles(module)) == []
    names = ("Stored", "_Hidden", "ThingsAsked", "ServiceSnapshot", "OptOutStatus")
    assert [bool(PARTICIPLE.search(name)) for name in names] == [True, True, True, False, False]
