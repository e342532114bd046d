"""Build the results of one tree: run as a script, with PYTHONPATH set to the tree.

The script must run in trees of different layouts. It therefore finds functions by their names, wherever they are
defined (`Tree.find`), takes classes from their signatures, and uses the test support of the tree itself to walk plans
and to run the demo. It imports nothing of tests.golden.

Facts are what programs depend on. Texts are sentences for readers; they are collected separately.
"""

import argparse
import asyncio
import csv
import importlib
import inspect
import json
import re
import tempfile
import typing
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HOST = "www.shop.com"
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SEEN_AT = NOW
REGISTRY = "https://registry.example/api/services"
SUB_HOSTS = ("docs", "api", "mcp")

_TEXT_KEYS = ("says", "fix", "spec", "why", "what", "title", "description", "summary", "example", "examples")
_TEXT_KEYS += ("detail", "error", "means", "reasons")
_RUN_KEYS = ("instance", "generation", "next_cursor")  # differ in every run, so only their presence is compared
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)|\b20\d\d-\d\d-\d\d\b")
_TYPES = {".json": "application/json", ".txt": "text/plain", ".md": "text/markdown", ".yaml": "application/yaml"}


# --- access to a tree ------------------------------------------------------------------------------------------------


class Tree:
    """The code of one tree, found by the names of its functions."""

    def __init__(self, root: Path) -> None:
        package = importlib.import_module("registry").__path__[0]
        if Path(package).resolve() != (root / "registry").resolve():
            raise SystemExit(f"the code of {package} would be compared instead of that of {root}")
        self._defined: dict[str, list[Path]] = {}
        self._root = root
        for file in sorted((root / "registry" / "core").rglob("*.py")):
            for name in re.findall(r"^(?:def|class) (\w+)|^(?=[A-Z])(\w+)(?::| =)", file.read_text(), re.MULTILINE):
                self._defined.setdefault(name[0] or name[1], []).append(file)

    def find(self, *names: str) -> Any:
        """Return the function, class or constant of the core that has the first of `names` that is defined."""
        for name in names:
            if files := self._defined.get(name):
                if len(files) > 1:
                    raise SystemExit(f"{name} is defined more than once: {', '.join(map(str, files))}")
                module = ".".join(files[0].relative_to(self._root).with_suffix("").parts).removesuffix(".__init__")
                return getattr(importlib.import_module(module), name)
        raise SystemExit(f"none of {', '.join(names)} is defined in the core: name what replaced it in {__file__}")


def parameter_type(function: Callable[..., Any], position: int) -> Any:
    """Return the annotated type of a parameter; of a sequence, the type of its items."""
    name = list(inspect.signature(function).parameters)[position]
    hint = typing.get_type_hints(function)[name]
    return (typing.get_args(hint) or (hint,))[0]


# --- results ---------------------------------------------------------------------------------------------------------


class Results:
    """Facts and texts by kind and item."""

    def __init__(self) -> None:
        self.facts: dict[str, dict[str, Any]] = {}
        self.texts: dict[str, dict[str, Any]] = {}

    def fact(self, kind: str, item: str, value: Any) -> None:
        self.facts.setdefault(kind, {})[item] = value

    def text(self, kind: str, item: str, value: Any) -> None:
        self.texts.setdefault(kind, {})[item] = value

    def split(self, kind: str, item: str, value: Any) -> None:
        """Record a JSON value, with the texts in it taken out."""
        texts: dict[str, Any] = {}
        self.fact(kind, item, _without_texts(value, "", texts))
        if texts:
            self.text(f"texts of {kind}", item, texts)


def _without_texts(value: Any, path: str, texts: dict[str, Any]) -> Any:
    if isinstance(value, dict):
        facts = {}
        for key, inner in value.items():
            if key in _TEXT_KEYS and not isinstance(inner, dict):
                texts[f"{path}/{key}"] = inner
            else:
                facts[key] = inner is not None if key in _RUN_KEYS else _without_texts(inner, f"{path}/{key}", texts)
        return facts
    if isinstance(value, list):
        return [_without_texts(inner, f"{path}/{number}", texts) for number, inner in enumerate(value)]
    return value


def plain(value: Any) -> Any:
    """Return a JSON-ready copy of any value."""
    return json.loads(json.dumps(value, default=lambda item: getattr(item, "value", None) or str(item)))


# --- documents -------------------------------------------------------------------------------------------------------


@dataclass
class Case:
    """A document, the URL it is served at, and the response around it."""

    name: str
    raw: bytes
    url: str
    headers: Mapping[str, str]
    expected: str | None = None


def corpus_cases(folder: Path, tree: Tree) -> Iterator[Case]:
    """Yield every document of the corpus, served where the index says, or else at the first path of its format."""
    index = folder / "INDEX.tsv"
    if not index.exists():
        return
    paths = {slug: form.paths for slug, form in tree.find("FORMAT_BY_SLUG").items()}
    with index.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE):
            path = row["served_path"]
            if path == "-":
                path = (paths.get(row["format"]) or ["/document.json"])[0]
                path = "/openapi.yaml" if row["file"].endswith(".yaml") else path
            expected = row["format"] if row["format"] == "adp-detail" else None
            raw = (folder / row["file"]).read_bytes()
            yield Case(f"corpus/{row['file']}", raw, f"https://{HOST}{path}", {}, expected)


def fixture_cases(folder: Path) -> Iterator[Case]:
    """Yield the cases of tests/formats of the base commit."""
    for file in sorted(folder.glob("*/*/response.json")):
        response = json.loads(file.read_text())
        name = f"fixture/{file.parent.relative_to(folder)}"
        raw = file.with_name("body").read_bytes()
        yield Case(name, raw, response["url"], response["headers"], response.get("expected"))


class Judge:
    """Assess, merge, score, list and translate documents with the code of one tree."""

    def __init__(self, tree: Tree, results: Results) -> None:
        self.results = results
        self.assess_body = tree.find("assess_body")
        self.merge = tree.find("merge")
        self.score = tree.find("score")
        self.to_json = tree.find("to_json")
        self.make_listing = tree.find("make_listing")
        self.translate = tree.find("translate")
        self.targets = sorted(tree.find("TARGETS"))
        self.adp_manifest = tree.find("adp_manifest")
        self.adp_detail = tree.find("adp_detail")
        self.held = parameter_type(self.merge, 1)
        self.trust = parameter_type(self.make_listing, 4)

    def document(self, case: Case) -> None:
        media_type = case.headers.get("content-type", "").partition(";")[0].strip().lower() or None
        assessment = self.assess_body(case.raw, case.url, media_type, case.headers, expected=case.expected)
        self.results.fact("assessments", case.name, self.assessment(assessment))
        host = case.url.split("/", 3)[2]
        self.host(case.name, host, [self.held(case.url, case.url, assessment, b"", NOW)])

    def assessment(self, assessment: Any) -> Any:
        return {
            "outcome": plain(assessment.outcome),
            "reason": assessment.reason,
            "format": assessment.format,
            "dialect": assessment.dialect,
            "service": self.to_json(assessment.service) if assessment.service else None,
            "findings": [finding_fields(finding) for finding in assessment.findings],
            "pointers": [
                [pointer.url, pointer.rel, pointer.pointer, pointer.expected] for pointer in assessment.pointers
            ],
        }

    def host(self, name: str, host: str, documents: list[Any]) -> None:
        """Record everything that follows from the documents of one host."""
        merged = self.merge(host, documents)
        service = merged.service
        self.results.fact(
            "merged services",
            name,
            {
                "service": self.to_json(service) if service else None,
                "findings": [[located.document, finding_fields(located.finding)] for located in merged.findings],
                "formats": list(merged.formats),
            },
        )
        if service is None:
            return
        graded = self.score(service, merged.findings)
        score = plain(graded.to_json())
        self.results.text("rubric version", "version", score.pop("version"))
        self.results.split("scores", name, score)
        for trust in self.trust:
            listing = self.make_listing(host, host, service, graded.value, trust, merged.formats, NOW.date())
            self.results.fact("listings", f"{name} {trust.value}", plain(asdict(listing)))
        self.adp(name, host, service)
        for target in self.targets:
            self.translation(name, host, service, graded.value, target)

    def adp(self, name: str, host: str, service: Any) -> None:
        """Record the ADP shapes in which the API presents every service."""
        details = [self.adp_detail(host, service, capability) for capability in service.capabilities]
        manifest = self.adp_manifest(host, service, detail_url)
        self.results.fact("ADP shapes", name, {"manifest": plain(manifest), "details": plain(details)})

    def translation(self, name: str, host: str, service: Any, score: int, target: str) -> None:
        translation = self.translate(service, target, host=host, seen_at=SEEN_AT, score=score, detail_url=detail_url)
        document = getattr(translation, "document", None)
        item = f"{name} -> {target}"
        fact = {"document": document, "losses": [loss.pointer for loss in translation.losses]}
        if document is not None:
            fact |= {"media_type": translation.media_type, "path": translation.path}
        self.results.fact("translations", item, plain(fact))
        texts = [[loss.what, loss.why] for loss in translation.losses]
        self.results.text(
            "texts of translations", item, {"losses": texts, "reasons": list(getattr(translation, "reasons", ()))}
        )


def detail_url(name: str) -> str:
    return f"{REGISTRY}/detail/{name}"


def finding_fields(finding: Any) -> list[Any]:
    """Return code, pointer, evidence and count; the code is a member of an enumeration or an attribute of a rule."""
    rule = finding.reason if hasattr(finding, "reason") else finding.rule
    return [
        getattr(rule, "code", None) or getattr(rule, "value", None) or str(rule),
        finding.pointer,
        finding.evidence,
        finding.count,
    ]


# --- visits ----------------------------------------------------------------------------------------------------------


class Visits:
    """Walk the probe plan over scripted hosts, with the test support of the tree."""

    def __init__(self, tree: Tree, judge: Judge) -> None:
        self.web = importlib.import_module("tests.support.web")
        self.job = tree.find("HostJob")
        self.held_from = tree.find("held_from")
        self.judge = judge

    def visit(self, name: str, host: str, site: Any, *, short: bool = False) -> Any:
        """Record the requests and the outcome of one visit, and return it."""
        web = self.web.Web({host: site})
        visit = self.web.visit(web, host, job=self.job(host, whole_plan=True, short=short))
        answers = [
            [answer.probe.url, answer.probe.accept, answer.probe.cap, plain(answer.assessment.outcome)]
            for answer in visit.answers
        ]
        fact = {"asked": web.asked, "answers": answers, "outcome": plain(visit.outcome), "reason": visit.reason}
        self.judge.results.fact("visits", name, fact)
        return visit

    def scripted(self) -> None:
        page = self.web.page
        awp = {"awp_version": "0.2", "domain": "shop.example", "intent": "Sell tools to gardeners"}
        awp["actions"] = [{"id": "buy", "description": "Buy a tool", "endpoint": "/api/buy", "method": "POST"}]
        words = "MCP x402 USDC shop cdn.shopify.com skills /auth.md /pricing.md openapi"
        everything = {"/agent.json": page(json.dumps({**awp, "description": words}))}
        sites = {
            "nothing": {},
            "only refusals": lambda path: page("no", "text/plain", 404 if path == "/robots.txt" else 403),
            "rate limited": lambda path: page("later", "text/plain", 429),
            "answers everything": lambda path: page("<html>home</html>", "text/html"),
            "echoes JSON": lambda path: page(json.dumps({**awp, "path": path})),
            "robots.txt forbids all": {"/robots.txt": page("User-agent: *\nDisallow: /\n", "text/plain")},
            "everything is named": everything,
        }
        for name, site in sites.items():
            self.visit(name, "shop.example", site)
            for label in SUB_HOSTS:
                self.visit(f"{name}, {label}", f"{label}.shop.example", site)
                self.visit(f"{name}, {label}, short", f"{label}.shop.example", site, short=True)

    def documents(self, cases: list[Case]) -> None:
        """Visit one host for each document at its own path, and one that serves the first document of each path."""
        page = self.web.page
        served: dict[str, Any] = {}
        for case in cases:
            path = "/" + case.url.split("/", 3)[3]
            kind = _TYPES.get(Path(path).suffix, "application/octet-stream")
            headers = {name.replace("-", "_"): value for name, value in case.headers.items() if name != "content-type"}
            answer = page(case.raw, case.headers.get("content-type") or kind, **headers)
            served.setdefault(path, answer)
            self.visit(case.name, "shop.example", {path: answer})
        self.visit("every path", "shop.example", served)

    def folders(self, root: Path) -> None:
        """Visit hosts with several documents: the sample web of the base commit, without its special behaviour."""
        for folder in sorted(entry for entry in root.glob("*") if entry.is_dir()):
            site = {}
            for file in sorted(entry for entry in folder.rglob("*") if entry.is_file() and entry.name != "_site.json"):
                path = "/" + file.relative_to(folder).as_posix()
                path = path.removesuffix("_index").rstrip("/") or "/" if file.name == "_index" else path
                kind = "text/html" if path == "/" else _TYPES.get(file.suffix, "application/octet-stream")
                site[path] = self.web.page(file.read_bytes(), kind)
            visit = self.visit(f"site/{folder.name}", folder.name, site)
            self.judge.host(f"site/{folder.name}", folder.name, [self.held_from(answer) for answer in visit.answers])


# --- the API ---------------------------------------------------------------------------------------------------------


def openapi(root: Path, results: Results) -> None:
    results.split("operations of the API", "openapi.json", json.loads((root / "docs" / "openapi.json").read_bytes()))


async def demo(tree: Tree, results: Results) -> None:
    """Run `waypost demo` and ask the API over its database for everything it serves about the sample sites."""
    support = importlib.import_module("tests.support.demo")
    with tempfile.TemporaryDirectory(prefix="waypost-golden-demo-") as folder:
        run = support.run_demo(Path(folder))
        try:
            async with run.client() as client:
                await _ask_api(client, sorted(run.report["hosts"]), sorted(tree.find("TARGETS")), results)
        finally:
            run.forget()
        results.split("demo: report", "report", run.report)


async def _ask_api(client: Any, hosts: list[str], targets: list[str], results: Results) -> None:
    async def get(path: str) -> Any:
        response = await client.get(path)
        value = response.json() if "json" in response.headers.get("content-type", "") else response.text
        kind = "demo: " + re.sub(r"^/api/|[^/]*\.example|[?].*", "", path).strip("/").replace("//", "/*/")
        value = json.loads(_TIME.sub("(time)", json.dumps(value)))
        results.split(re.sub(r"capabilities/.+", "capabilities", kind), path, [response.status_code, value])
        return value

    questions = (
        "send an email",
        "book a doctor's appointment",
        "buy groceries",
        "weather tomorrow",
        "translate a text",
    )
    for question in questions:
        await get(f"/api/discover?q={question.replace(' ', '+')}&limit=20")
        await get(f"/api/discover?q={question.replace(' ', '+')}&explain=true&include_unverified=true")
    for path in ("/api/services?limit=100&sort=name", "/api/rubric", "/api/problems", "/api/discover?q=x&limit=0"):
        await get(path)
    for host in hosts:
        service = await get(f"/api/services/{host}?include_details=true")
        await get(f"/api/services/{host}/status")
        if "data" not in service:
            continue
        for target in targets:
            await get(f"/api/services/{host}/manifest/{target}")
        for capability in service["data"]["manifest"]["capabilities"]:
            await get(f"/api/services/{host}/capabilities/{capability['name']}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("tree", type=Path)
    parser.add_argument("out", type=Path)
    for name in ("corpus", "fixtures", "sites"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--demo", action="store_true")
    options = parser.parse_args()
    tree, results = Tree(options.tree), Results()
    judge = Judge(tree, results)
    cases = [*corpus_cases(options.corpus, tree), *fixture_cases(options.fixtures)]
    for case in cases:
        judge.document(case)
    visits = Visits(tree, judge)
    visits.scripted()
    visits.documents(cases)
    visits.folders(options.sites)
    openapi(options.tree, results)
    if options.demo:
        asyncio.run(demo(tree, results))
    options.out.write_text(json.dumps({"facts": results.facts, "texts": results.texts}))


if __name__ == "__main__":
    main()
