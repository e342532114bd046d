"""`python -m tests.search.folding_exchanges`: record how a real Meilisearch answers questions about copies.

Needs MEILI_URL and MEILI_MASTER_KEY of a server that may be written to. The exchanges are written beside this module,
and tests/search/test_meilisearch_calls.py answers from them. Recorded are calls of QUESTIONS to /multi-search, without
the fields that are different each time.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import httpx2

from benchmarks.search.scratch import remove_index
from registry.core.model.listing import Filters
from registry.core.ranking import parse_query
from registry.search.meilisearch.admin import Keys
from registry.search.meilisearch.backend import MeiliBackend
from tests.search.capture import Answer, Call, captured
from tests.search.contract import MAIL, fill
from tests.search.folding_contract import POST, copies_of
from tests.search.listings import listing

RECORDED: Final = Path(__file__).with_suffix(".json")
INDEX: Final = "recorded"
LISTINGS: Final = [*copies_of(POST, 130), POST, MAIL, listing("tariffs.example", "Parcel tariffs")]
QUESTIONS: Final[Mapping[str, tuple[str, Filters]]] = {
    "no copies": ("email", Filters()),
    "words of the copies": ("track parcels", Filters()),
    "blank": ("", Filters()),
    "filtered": ("parcel", Filters(domains=("copy002.example", "copy001.example"))),
    "named": ("copy002.example", Filters()),
    "all copies": ("parcel", Filters(unique=False, domains=("copy002.example", "copy001.example"))),
}
_KEPT: Final = ("hits", "estimatedTotalHits", "semanticHitCount", "facetDistribution")


async def main(url: str, master: str) -> None:
    calls: list[dict[str, Any]] = []

    def forward(call: Call) -> Answer:
        with httpx2.Client(base_url=url, headers={"Authorization": f"Bearer {call.key}"}, timeout=60) as client:
            is_lines = isinstance(call.body, list) and "ndjson" in call.headers.get("content-type", "")
            content = "\n".join(map(json.dumps, call.body)) if is_lines else json.dumps(call.body)
            response = client.request(
                call.method, call.path, params=call.query, content=None if call.body is None else content,
                headers={name: call.headers[name] for name in ("content-type",) if name in call.headers},
            )  # fmt: skip
        body: Any = response.json() if response.content else None
        if call.path == "/multi-search":
            kept = [{name: result[name] for name in _KEPT if name in result} for result in body["results"]]
            calls.append({"request": call.body, "response": {"results": kept}})
        return Answer(response.status_code, body)

    exchanges: dict[str, list[dict[str, Any]]] = {}
    with captured(forward) as server:
        backend = MeiliBackend(server.url, Keys(master, master, master), INDEX)
        await fill(backend, LISTINGS)
        for name, (text, filters) in QUESTIONS.items():
            await backend.candidates(parse_query(text), filters, 100)
            exchanges[name], calls[:] = list(calls), []
        await backend.close()
    remove_index(url, master, INDEX)
    with RECORDED.open("w") as file:
        json.dump(exchanges, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    try:
        asyncio.run(main(os.environ["MEILI_URL"], os.environ["MEILI_MASTER_KEY"]))
    except KeyError as missing:
        sys.exit(f"set {missing.args[0]}")
