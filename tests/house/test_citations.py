"""Every citation in the code and in the documentation leads to something that is in the repository."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.house.tree import modules
from tests.support.shared import ROOT

CODE = ("registry", "crawler", "migrations", "tests", "benchmarks")
DOCS = ROOT / "docs"
FOLDERS = (ROOT, DOCS, DOCS / "adr", ROOT / "registry" / "search" / "model")
"""Folders in which a cited page may be."""
PAGES = sorted([*DOCS.rglob("*.md"), *ROOT.glob("*.md")])

EXAMPLES = ("planted", "tally", "page.md", "categories.py", "service_versions.py", "versions_of_services.py")
"""Names of files that tests and pages write themselves."""

PUBLISHED_BY_SITES = frozenset({"auth.md", "pricing.md", "AGENTS.md", "SKILL.md", "agents.md", "skill.md"})
"""Files that sites publish and the crawler reads; they are not pages of this repository."""

_PAGE = re.compile(r"(?<![\w./*-])((?:\.\./)*(?:docs/)?(?:adr/)?[A-Za-z][\w-]*\.md)\b")
_HEADING = re.compile(r'docs/([\w/-]+\.md),\s+"([^"\n]+)"')
_WRAP = re.compile(r"\s*\n\s*(?:#\s)?")
"""The end of a line inside a sentence, in a docstring or in comments."""
_SECTION = re.compile(r"\b[\w-]+\.md,?\s+(?:sections?|§)\s*\d|\b[Rr]egistry contract, section|probe-plan \d")
_FILE = re.compile(
    r"(?<![\w/.])((?:registry|crawler|tests|benchmarks|migrations|deploy)/[\w/.-]+\.(?:py|md|json|toml|yml))\b"
)
_MODULE = re.compile(r"(?<![\w/.\"'])((?:registry|crawler)(?:\.[a-z_]\w*)+)\b")


def test_every_cited_page_exists() -> None:
    assert {place: missing for place, text in _texts() if (missing := sorted(set(_missing_pages(text))))} == {}


def test_every_cited_heading_exists() -> None:
    assert {place: missing for place, text in _texts() if (missing := sorted(set(_missing_headings(text))))} == {}


def test_pages_are_cited_by_their_headings() -> None:
    """Pages of this repository have no numbered sections; a number would cite another document of the same name."""
    assert {place: found for place, text in _texts() if (found := _SECTION.findall(text))} == {}


def test_every_cited_file_exists() -> None:
    assert {place: missing for place, text in _texts() if (missing := sorted(set(_missing_files(text))))} == {}


def test_every_cited_module_exists() -> None:
    texts = [(place, text) for place, text in _texts() if place.endswith(".md")]
    assert {place: missing for place, text in texts if (missing := sorted(set(_missing_modules(text))))} == {}


def test_a_broken_citation_is_noticed() -> None:
    assert list(_missing_pages("See nowhere.md and docs/glossary.md, and AGENTS.md of a site.")) == ["nowhere.md"]
    assert list(_missing_headings('docs/glossary.md, "No such\n    # heading"')) == ['glossary.md, "No such heading"']
    assert len(_SECTION.findall("formats.md section 4; registry contract, section 9")) == 2
    assert list(_missing_files("registry/core/nowhere.py, registry/settings.py")) == ["registry/core/nowhere.py"]
    assert list(_missing_modules("registry.core.nowhere and registry.settings")) == ["registry.core.nowhere"]


def _texts() -> Iterator[tuple[str, str]]:
    """Yield the path and the text of every module and page; this test, which holds broken citations, is left out."""
    for module in modules(*CODE):
        if module.path != Path(__file__).resolve():
            yield module.name, module.text
    for page in PAGES:
        if page.name != "CHANGELOG.md":  # it names files of earlier versions
            yield page.relative_to(ROOT).as_posix(), page.read_text(encoding="utf-8")


def _missing_pages(text: str) -> Iterator[str]:
    for name in _PAGE.findall(text):
        bare = name.replace("../", "").removeprefix("docs/")
        if bare not in (*PUBLISHED_BY_SITES, *EXAMPLES) and not any((folder / bare).exists() for folder in FOLDERS):
            yield name


def _missing_headings(text: str) -> Iterator[str]:
    for page, heading in _HEADING.findall(_WRAP.sub(" ", text)):
        path = DOCS / page
        if not path.exists() or not re.search(rf"^#+ {re.escape(heading)}$", path.read_text(encoding="utf-8"), re.M):
            yield f'{page}, "{heading}"'


def _missing_files(text: str) -> Iterator[str]:
    for name in _FILE.findall(text):
        is_example = any(example in name for example in EXAMPLES)
        if not is_example and not (ROOT / name).exists() and not (ROOT / "tests" / name).exists():
            yield name


def _missing_modules(text: str) -> Iterator[str]:
    for name in _MODULE.findall(text):
        if any(example in name for example in EXAMPLES) or name.endswith(".md"):
            continue
        path = ROOT / name.replace(".", "/")
        is_module = path.with_suffix(".py").exists() or (path / "__init__.py").exists()
        if not is_module and not _defines(path.parent, path.name):
            yield name


def _defines(module: Path, name: str) -> bool:
    """True when the module or package holds the name: `registry.core.formats.FORMATS`."""
    sources = (module.with_suffix(".py"), module / "__init__.py")
    return any(source.exists() and re.search(rf"\b{name}\b", source.read_text(encoding="utf-8")) for source in sources)
