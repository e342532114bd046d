"""The openly licensed texts that the table is fitted on, and how to read them.

A source is a folder of files as its project published them. Two things are read from each file: requests (what a person
or an agent asked for) and descriptions (what a function, a model or a service does, with its name). `sources.json`
lists the files with their sha256; the model card lists licences and counts.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class Source:
    """`requests`: keys whose string (or list of strings) is a request. `described`: pairs of keys (name, description).
    `inside`: pairs of a key whose text contains a request among other things, and the pattern that finds it.
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
    """Return the requests and the pairs (name, description) of a source, in file order, with duplicates."""
    requests: list[str] = []
    described: list[tuple[str, str]] = []
    for path in sorted((root / source.folder).iterdir()):
        if path.suffix not in {".json", ".jsonl"}:
            continue
        for node in _objects(_values(path.read_text(encoding="utf-8"))):
            requests.extend(_requests(node, source))
            described.extend(
                (node[name], node[description])
                for name, description in source.described
                if isinstance(node.get(name), str) and isinstance(node.get(description), str)
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
    """Yield the JSON values of a JSON document or of JSON lines."""
    decoder, position, end = json.JSONDecoder(), 0, len(text)
    while position < end:
        if text[position].isspace():
            position += 1
            continue
        value, position = decoder.raw_decode(text, position)
        yield value


def _objects(values: Iterator[Any]) -> Iterator[dict[str, Any]]:
    """Yield every JSON object in the values, outer objects before inner ones."""
    stack = list(values)[::-1]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            yield node
            stack.extend(list(node.values())[::-1])
        elif isinstance(node, list):
            stack.extend(node[::-1])
