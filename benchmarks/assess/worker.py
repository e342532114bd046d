"""A process that assesses the documents repeatedly and prints the cost of each: one round per stdin line.

It uses the `registry` that is first on PYTHONPATH, so that two states of the code can take turns.
"""

import csv
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import jiter

from benchmarks.assess.documents import Body, documents
from registry.core.assessing.assess import assess_body

Costs = dict[str, list[float]]  # kind -> CPU milliseconds of each document


def bodies(each: int, shared: str | None) -> list[Body]:
    return documents(each) if shared is None else list(_recorded(Path(shared) / "corpus"))


def assess(body: Body) -> object:
    return assess_body(body.raw, body.url, body.media_type, {}, expected=body.expected)


def parse_strictly(body: Body) -> object:
    return jiter.from_json(body.raw, allow_inf_nan=False, catch_duplicate_keys=True)


def parse(body: Body) -> object:
    return json.loads(body.raw)


ACTS: dict[str, Callable[[Body], object]] = {"assess": assess, "jiter": parse_strictly, "json": parse}


def costs(act: Callable[[Body], object], chosen: list[Body]) -> Costs:
    """Return the CPU milliseconds of `act` on each document, by kind; caches of earlier rounds are cleared."""
    clear_caches()
    spent: Costs = {}
    for body in chosen:
        start = time.process_time_ns()
        with suppress(ValueError):  # text or broken JSON; detecting that is part of the measurement
            act(body)
        spent.setdefault(body.kind, []).append((time.process_time_ns() - start) / 1e6)
    return spent


def clear_caches() -> None:
    """Clear the caches of hosts and URLs, because in a crawl each host is new."""
    for name, module in list(sys.modules.items()):
        if name.startswith("registry.core"):
            for value in list(vars(module).values()):
                if callable(clear := getattr(value, "cache_clear", None)):
                    clear()


def _recorded(corpus: Path) -> Iterator[Body]:
    with (corpus / "INDEX.tsv").open(newline="") as lines:
        for number, row in enumerate(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)):
            kind = row["expect"].partition("/")[0]
            path = row["served_path"] if row["served_path"].startswith("/") else f"/{row['file'].rpartition('/')[2]}"
            yield Body(
                kind, f"https://host-{number}.com{path}", "application/json", (corpus / row["file"]).read_bytes(), kind
            )


def main() -> None:
    """Run the worker. Arguments: documents of each kind, and the folder of the shared test data or "-"."""
    chosen = bodies(int(sys.argv[1]), None if sys.argv[2] == "-" else sys.argv[2])
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for line in sys.stdin:
        answer: dict[str, Any] = {name: costs(ACTS[name], chosen) for name in line.split()}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
