"""The openly licensed texts that the table is fitted on: where they come from, and how to read them.

A source is a folder of files as its project published them. Of each file only two things are taken: requests (what a
person or an agent asked for) and descriptions (what a function, a model or a service does, with its name). Which
files, with their sha256, is in `sources.json`; licences and counts are told in the model card.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """`requests`: keys whose string (or list of strings) is a request. `described`: pairs of keys, name and what it
    does. `inside`: for a key whose text holds the request in the middle of other things, the pattern that finds it.
    """

    folder: str
    requests: frozenset[str] = frozenset()
    described: tuple[tuple[str, str], ...] = ()
    inside: tuple[tuple[str, re.Pattern[str]], ...] = ()


_INSTRUCTION = re.compile(r"(?:###Instruction|'Instruction'): ?(.+?)(?:\n|\\n|', 'Output'|, 'Output')")

SOURCES = (
    Source(
        "gorilla",
        requests=frozenset({"content", "text"}),
        described=(("name", "description"), ("api_name", "functionality"), ("api_name", "description")),
        inside=(("code", _INSTRUCTION),),
    ),
    Source("seal-tools", requests=frozenset({"query"}), described=(("api_name", "api_description"),)),
    Source(
        "self-instruct",
        requests=frozenset({"instruction"}),
    ),
    Source("taskbench", requests=frozenset({"user_request"}), described=(("id", "desc"),)),
    Source(
        "toolalpaca",
        requests=frozenset({"Instructions", "Introduction"}),
        described=(("API", "Description"), ("Name", "Description")),
    ),
)


def read(root: Path, source: Source) -> tuple[list[str], list[tuple[str, str]]]:
    """The requests and the descriptions (name, what it does) of a source, in the order of its files, repeats kept."""
    requests: list[str] = []
    described: list[tuple[str, str]] = []
    for path in sorted((root / source.folder).iterdir()):
        if path.suffix not in {".json", ".jsonl"}:
            continue
        for node in _objects(_values(path.read_text(encoding="utf-8"))):
            requests.extend(_requests(node, source))
            described.extend(
                (node[name], node[what])
                for name, what in source.described
                if isinstance(node.get(name), str) and isinstance(node.get(what), str)
            )
    return requests, described


def _requests(node: dict[str, Any], source: Source) -> Iterator[str]:
    for key, value in node.items():
        if key in source.requests:
            yield from (text for text in (value if isinstance(value, list) else [value]) if isinstance(text, str))
        for name, pattern in source.inside:
            if key == name and isinstance(value, str):
                yield from pattern.findall(value)


def _values(text: str) -> Iterator[Any]:
    """The JSON values of a document or of JSON lines, whichever the file is."""
    decoder, at, end = json.JSONDecoder(), 0, len(text)
    while at < end:
        if text[at].isspace():
            at += 1
            continue
        value, at = decoder.raw_decode(text, at)
        yield value


def _objects(values: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Every JSON object in the values, outermost first."""
    stack = list(values)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(list(node.values())[::-1])
        elif isinstance(node, list):
            stack.extend(node[::-1])
