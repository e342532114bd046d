"""`python -m benchmarks.mcp.tokens`: tokens of the list of tools, of rows, answers and capabilities.

Counted with o200k_base (GPT-4o and later), over the sample web or recorded sites. Tokenizers of other vendors need up
to a third more for such text. Every capability is asked for by its own description, so that the answers are of all
kinds; those of many services are drawn at random, always the same.
"""

import argparse
import asyncio
import json
import random
import re
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from statistics import median
from typing import Any, Final

import bpe_openai
import mcp_types as types
from rich.console import Console

from benchmarks.crawl.report import table
from registry.api import app
from registry.demo.sites import SAMPLE_WEB
from registry.demo.tour import crawled, demo_settings
from registry.mcp.calls import ToolCalls
from registry.mcp.source import Caller, OwnApi
from registry.mcp.tools import TOOLS_BY_PROFILE
from registry.settings import Settings
from registry.wiring import Waypost

_ROW: Final = re.compile(r"\d+\. ")
_OF_THE_CALL: Final = (
    "side effects", "start", "before", "request", "next", "fill in", "made up", "missing", "takes", "credentials",
)  # fmt: skip
_ENCODING: Final = bpe_openai.get_encoding("o200k_base")

Json = dict[str, Any]
Row = tuple[str, ...]


def tokens_of(value: Any) -> int:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return len(_ENCODING.encode(text))


def list_rows() -> list[Row]:
    rows: list[Row] = [("list of tools", "tokens", "bytes")]
    for profile, tools in TOOLS_BY_PROFILE.items():
        listed = types.ListToolsResult(tools=list(tools)).model_dump_json(by_alias=True, exclude_none=True)
        rows.append((profile, f"{tokens_of(listed):,}", f"{len(listed):,}"))
    return rows


async def result_rows(waypost: Waypost, most: int) -> list[Row]:
    interface = app.interface(waypost, waypost.settings)
    source = OwnApi(interface.app, interface.rules.submissions, waypost, waypost.settings)
    tools, caller = ToolCalls(source), Caller()
    counts: dict[str, list[int]] = {}

    def count(kind: str, text: str, content: Json) -> None:
        counts.setdefault(f"{kind}, text", []).append(tokens_of(text))
        counts.setdefault(f"{kind}, structured", []).append(tokens_of(content))

    for host, capability in await _capabilities(source, caller, most):
        shown = await tools.call("get_capability", {"domain": host, "name": capability["name"]}, caller)
        count("capability", shown.text, shown.content)
        question = (capability["description"] or capability["name"])[:80]
        found = await tools.call("discover_services", {"q": question}, caller)
        count("answer", found.text, found.content)
        texts = [*_texts_of_rows(found.text.splitlines())]
        for text, row in zip(texts, found.content["services"], strict=True):
            matching = row["capability"] and {key: value for key, value in row["capability"].items() if key != "call"}
            count("row without its call", text, {**row, "capability": matching})
    return [
        ("tokens", "median", "most", "number"),
        *((kind, f"{median(of):,.0f}", f"{max(of):,}", f"{len(of):,}") for kind, of in counts.items()),
    ]


async def _capabilities(source: OwnApi, caller: Caller, most: int) -> Sequence[tuple[str, Json]]:
    listed = (await source.ask(caller, "/api/services", {"limit": "1000", "include_unverified": "true"})).content()
    found: list[tuple[str, Json]] = []
    for row in listed["data"]:
        data = (await source.ask(caller, f"/api/services/{row['domain']}")).content()["data"]
        found += [(row["domain"], capability) for capability in data["manifest"]["capabilities"]]
    return found if len(found) <= most else random.Random(7).sample(found, most)


def _texts_of_rows(lines: Iterable[str]) -> Iterable[str]:
    row: list[str] = []
    for line in lines:
        if _ROW.match(line):
            if row:
                yield "\n".join(row)
            row = [line]
        elif row and line.startswith("   ") and line.strip().partition(": ")[0] not in _OF_THE_CALL:
            row.append(line)
    if row:
        yield "\n".join(row)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mcp.tokens", description=__doc__)
    parser.add_argument("--sites", type=Path, default=SAMPLE_WEB, help="recorded sites instead of the sample web")
    parser.add_argument("--most", type=int, default=300, help="capabilities to ask for (300)")
    options = parser.parse_args()
    print(table(list_rows(), markdown=False), end="\n\n", flush=True)
    with tempfile.TemporaryDirectory(prefix="waypost-bench-") as scratch:
        Path(scratch).chmod(0o755)  # the account that runs the database must reach its folder
        settings = demo_settings(Path(scratch), 8000)
        print(table(asyncio.run(_crawled_rows(settings, options.sites, options.most)), markdown=False))


async def _crawled_rows(settings: Settings, sites: Path, most: int) -> list[Row]:
    async with crawled(settings, sites, Console(stderr=True)) as demo:
        return await result_rows(demo.waypost, most)


if __name__ == "__main__":
    main()
