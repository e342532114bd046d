"""The templates of pages: nothing is printed without escaping, and nothing runs or styles from within a page."""

import re
from pathlib import Path

import pytest

from tests.support.shared import ROOT

FOLDER = ROOT / "registry" / "web" / "templates"
TEMPLATES = sorted(path for path in FOLDER.rglob("*") if path.is_file())

FORBIDDEN = {
    "prints text without escaping": r"\|\s*safe\b|autoescape|Markup",
    "holds a script": r"<script(?![^>]*\s(?:src=|type=\"application/ld\+json\"))",
    "holds a style": r"<style|\sstyle\s*=",
    "handles an event": r"<[^>]*\son[a-z]+\s*=",
    "loads or links to another host": r"(?:src|href|action)\s*=\s*[\"'](?:[a-z]+:|//)",
    "has a value without quotes": r"<[a-z][^<>]*\s[a-z-]+=\{\{",
}


def test_there_are_templates() -> None:
    assert len(TEMPLATES) > 3


@pytest.mark.parametrize("template", TEMPLATES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_a_template_cannot_run_foreign_text(template: Path) -> None:
    text = template.read_text()
    assert {what for what, pattern in FORBIDDEN.items() if re.search(pattern, text)} == set()


def test_the_script_makes_no_markup_of_text() -> None:
    script = (ROOT / "registry" / "web" / "static" / "waypost.js").read_text()
    assert re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(|Function\(", script) is None
