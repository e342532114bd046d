"""Count the capabilities of the corpus that can be called from our answers alone, and whose requests are accepted.

    python -m tests.core.calling.accepted [--reasons]

Each document of the corpus stands on its host, with the other documents of that host. A request is made from the JSON
of a record, nothing else, and judged against the original document (`judges.py`).
"""

import argparse
import csv
import itertools
import json
import re
import shlex
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import yaml

from registry.core.assessing.assess import assess_body
from registry.core.formats import FORMAT_BY_SLUG
from registry.core.merging.held import HeldDocument
from registry.core.merging.merge import merge
from registry.core.model.documents import Via
from registry.core.model.services import Service
from tests.core.calling.calls import made_record
from tests.core.calling.judges import Insufficient, by_template, judge_of

NOW = datetime(2026, 3, 1, tzinfo=UTC)
DETAILS = "adp-detail"


@dataclass
class Counts:
    """By format of the document that describes the call; `reasons` says why calls are insufficient or refused."""

    capabilities: Counter[str] = field(default_factory=Counter)
    called: Counter[str] = field(default_factory=Counter)
    accepted: Counter[str] = field(default_factory=Counter)
    insufficient: Counter[str] = field(default_factory=Counter)
    reasons: list[tuple[str, str, str, str]] = field(default_factory=list)

    @property
    def refused(self) -> list[tuple[str, str, str, str]]:
        return [reason for reason in self.reasons if reason[0] == "refused"]

    def table(self) -> str:
        rows = [("format", "capabilities", "called", "accepted", "insufficient", "refused")]
        for slug in [*sorted(self.capabilities), "all"]:
            columns = (self.capabilities, self.called, self.accepted, self.insufficient)
            numbers = [counter.total() if slug == "all" else counter[slug] for counter in columns]
            rows.append((slug, *map(str, numbers), str(numbers[1] - numbers[2] - numbers[3])))
        return "\n".join(" | ".join(cell.ljust(12) for cell in row).rstrip() for row in rows)


def hosts(corpus: Path) -> Iterator[tuple[str, list[tuple[str, str, Path]]]]:
    """Yield each host with its documents: (format folder, path, file)."""
    found: dict[str, list[tuple[str, str, Path]]] = defaultdict(list)
    with (corpus / "INDEX.tsv").open(newline="", encoding="utf-8") as index:
        for row in csv.DictReader(index, delimiter="\t", quoting=csv.QUOTE_NONE):
            form = FORMAT_BY_SLUG.get(row["format"])
            usual = form.paths[0] if form and form.paths else "/document.json"
            if row["file"].endswith((".yaml", ".yml")):
                usual = "/openapi.yaml"
            path = row["served_path"] if row["served_path"].startswith("/") else usual
            for number in itertools.count(1):
                host = _host(row) if number == 1 else _host(row).replace(".", f"-{number}.", 1)
                if path not in {known for _, known, _ in found[host]}:
                    found[host].append((row["format"], path, corpus / row["file"]))
                    break
    yield from found.items()


def _host(row: dict[str, str]) -> str:
    named = re.search(r"https://([a-z0-9.-]+\.[a-z]{2,})", row["note"] or "")
    if named and row["kind"] == "live-capture":
        return named[1]
    if row["format"] in ("adp", DETAILS):
        host = Path(row["file"]).stem.partition("__")[0].partition("_")[0].lower()
        if "." in host:
            return host
    single = row["kind"] in ("catalogue", "spec-example", "registry-capture")
    name = Path(row["file"]).stem if single else row["source"].partition(":")[0]
    return f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')[:50]}.example"


def count(corpus: Path) -> Counts:
    counts = Counts()
    for host, service, bodies in services(corpus):
        _count(counts, host, service, bodies)
    return counts


def services(corpus: Path) -> Iterator[tuple[str, Service, dict[str, bytes]]]:
    """Yield each host with the service that its documents describe, and the documents by their addresses."""
    for host, documents in hosts(corpus):
        bodies: dict[str, bytes] = {}
        held: list[HeldDocument] = []
        for slug, path, file in documents:
            url, raw = f"https://{host}{path}", file.read_bytes()
            bodies[url] = raw
            expected = slug if slug == DETAILS else None
            held.append(
                HeldDocument(url, url, assess_body(raw, url, None, {}, expected=expected), sha256(raw).digest(), NOW)
            )
        service = merge(host, _linked(held)).service
        if service is not None:
            yield host, service, bodies


def _linked(held: list[HeldDocument]) -> list[HeldDocument]:
    """Return the documents; details as if requested by the manifest that names a capability of their name."""
    details = {one.assessment.service.capabilities[0].name: one for one in held if _is_detail(one)}
    linked = [one for one in held if not _is_detail(one)]
    for one in list(linked):
        if one.assessment.service is not None and one.assessment.format == "adp":
            for capability in one.assessment.service.capabilities:
                origin = next((call.origin for call in capability.invocations if call.kind == "pointer"), None)
                if capability.name in details and origin is not None:
                    via = Via(origin.document, f"{origin.pointer}/detail_url", "detail_url", DETAILS)
                    detail = details.pop(capability.name)
                    linked.append(
                        HeldDocument(detail.url, detail.requested, detail.assessment, detail.sha256, NOW, via)
                    )
    return linked


def _is_detail(one: HeldDocument) -> bool:
    return one.assessment.format == DETAILS and one.assessment.service is not None


def _count(counts: Counts, host: str, service: Service, bodies: dict[str, bytes]) -> None:
    for capability in service.capabilities:
        record = json.loads(json.dumps(made_record(service, capability)))
        call = record.get("call")
        ways = record["invocations"]
        source = (call or {}).get("source") or next((way["source"] for way in ways if "source" in way), {})
        slug = source.get("format", "(no call)")
        counts.capabilities[slug] += 1
        if call is None or call["kind"] == "navigation":
            continue
        counts.called[slug] += 1
        try:
            reason = _judged(call, bodies.get(source.get("document", ""), b"{}"))
        except Insufficient as error:
            reason, call["missing"] = str(error), [*call["missing"], {"what": "document", "why": str(error)}]
        if call["missing"]:
            counts.insufficient[slug] += 1
            why = "; ".join(f"{part['what']}: {part['why']}" for part in call["missing"])
            counts.reasons.append(("insufficient", slug, f"{host} {record['name']}", why))
        elif reason is None:
            counts.accepted[slug] += 1
        else:
            counts.reasons.append(("refused", slug, f"{host} {record['name']}", reason))


def _judged(call: dict[str, Any], raw: bytes) -> str | None:
    if "curl" in call and shlex.split(call["curl"])[0] != "curl":
        return "the curl line is not one command"
    document = yaml.safe_load(raw)
    reason = by_template(call) if call["kind"] == "http" else None
    return reason or judge_of(call)(call, document if isinstance(document, dict) else {})


def main(arguments: list[str]) -> int:
    from tests.support.shared import SHARED

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reasons", action="store_true", help="every insufficient or refused call with its reason")
    parser.add_argument("--corpus", type=Path, default=SHARED / "corpus")
    options = parser.parse_args(arguments)
    counts = count(options.corpus)
    shown = counts.reasons if options.reasons else counts.refused
    sys.stdout.write("\n".join([counts.table(), *(" | ".join(reason) for reason in shown), ""]))
    return 1 if counts.refused else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
