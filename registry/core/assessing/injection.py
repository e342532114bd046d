"""Look for prompt injection in every text and key of a document, and flag the capabilities that it concerns."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from pydantic import TypeAdapter

from registry.core.assessing.mining import SCANNED_CHARS
from registry.core.format_support.manifest import Notes
from registry.core.model.documents import Document
from registry.core.model.findings import Finding
from registry.core.model.services import Capability, Service
from registry.core.reading.injection import InjectionHit, hits
from registry.core.reading.json_pointer import at

_APART: Final = ".\n"  # put between texts so that no pattern reaches from one to the next

_CAPABILITY: Final[TypeAdapter[Capability]] = TypeAdapter(Capability)


def flag_injections(document: Document, service: Service) -> tuple[Service, tuple[Finding, ...]]:
    """Return the service with flagged capabilities, and the findings, at most a few for each rule.

    A capability is flagged for what its part of the document holds, hidden characters included, and for its texts in
    the model, which may come from other parts (referenced schemas). Of a document without members, such as llms.txt,
    SCANNED_CHARS are read: nothing of what follows them is in the model or in the pointers.
    """
    content = (document.text or "")[:SCANNED_CHARS] if document.value is None else document.value
    distinct: dict[str, None] = {}
    _collect(content, distinct)
    if not hits(_APART.join(distinct)):  # nearly every document: one pass over each text, without pointers
        return service, ()
    notes = Notes()
    codes_below: dict[str, set[str]] = {}
    for pointer, text in _locate_texts(content):
        for hit in hits(text):
            notes.add(hit.rule, pointer, hit.evidence)
            parts = pointer.split("/")
            for count in range(len(parts), 0, -1):  # the text, and the values around it up to the whole document ("")
                codes_below.setdefault("/".join(parts[:count]), set()).add(hit.rule.code)
    known: dict[str, tuple[InjectionHit, ...]] = {}
    capabilities = tuple(_flag_capability(capability, codes_below, known) for capability in service.capabilities)
    return replace(service, capabilities=capabilities), notes.findings()


def _flag_capability(
    capability: Capability, codes_below: Mapping[str, Iterable[str]], known: dict[str, tuple[InjectionHit, ...]]
) -> Capability:
    codes: set[str] = set()
    for call in capability.invocations:
        codes.update(codes_below.get(call.origin.pointer, ()) if call.origin else ())
    for _, text in _locate_texts(_CAPABILITY.dump_python(capability, mode="json", exclude_defaults=True)):
        if text not in known:
            known[text] = hits(text)
        codes.update(hit.rule.code for hit in known[text])
    return replace(capability, injection_flags=tuple(sorted(codes)))


def _collect(value: Any, texts: dict[str, None]) -> None:
    """Add every text and key of a JSON value to `texts`."""
    if isinstance(value, str):
        texts[value] = None
    elif isinstance(value, dict):
        texts.update(dict.fromkeys(value))
        for item in value.values():
            _collect(item, texts)
    elif isinstance(value, list | tuple):
        for item in value:
            _collect(item, texts)


def _locate_texts(value: Any, pointer: str = "") -> Iterator[tuple[str, str]]:
    """Yield every text of a JSON value with its pointer; a key has its member's. The reader limits the depth."""
    if isinstance(value, str):
        yield pointer, value
    elif isinstance(value, dict):
        for key, item in value.items():
            member = at(pointer, key)
            yield member, key
            yield from _locate_texts(item, member)
    elif isinstance(value, list | tuple):
        for index, item in enumerate(value):
            yield from _locate_texts(item, at(pointer, index))
