"""The calls of capabilities, made from what is stored of them: for rows of answers, and for services recorded before
their reach was stored."""

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import orjson

from registry.core.calling.call import call_of
from registry.core.calling.http import Arguments
from registry.core.calling.reach import Reach, reach_of
from registry.core.model.documents import Outcome
from registry.core.model.services import Capability, Service, from_json
from registry.store.cards import StoredCalls
from registry.store.engine import decode
from registry.store.values import key_name

MAX_STORED_BYTES: Final = 1_000_000
"""Bytes of stored services and capabilities that are read for the calls of one answer."""

MAX_CALL_BYTES: Final = 65_536
MAX_CALLS_BYTES: Final = 262_144
"""Bytes of one call, and of all calls in one answer, as JSON."""

_log = logging.getLogger(__name__)

Name = tuple[str, str]
"""Host and name of a capability."""


@dataclass(frozen=True, slots=True)
class RequestedCalls:
    """The capabilities whose calls are wanted, the most important first, and what is stored of them."""

    names: Sequence[Name]
    stored: Sequence[StoredCalls]

    @property
    def size(self) -> int:
        """Return the number of bytes of JSON."""
        return sum(len(one.service) + len(one.capabilities) for one in self.stored)


def make_calls(asked: RequestedCalls) -> dict[Name, dict[str, Any]]:
    """Return the call of each capability that has one, as its record has it. Calls that are too large, alone or
    together, are left out."""
    found = {
        (host, key_name(capability.name)): (service, capability, example)
        for host, service, capability, example, _ in _decoded(_within(asked.stored))
    }
    calls, left = {}, MAX_CALLS_BYTES
    for name in asked.names:
        call = call_of(*found[name]) if name in found else None
        size = MAX_CALLS_BYTES if call is None else len(orjson.dumps(call))
        if call is not None and size <= min(left, MAX_CALL_BYTES):
            calls[name] = call
            left -= size
    return calls


def make_reach(stored: Sequence[StoredCalls]) -> dict[Name, Reach]:
    """Return the reach of each capability."""
    return {
        (host, key_name(capability.name)): reach_of(host, capability, call_of(service, capability, example), answered)
        for host, service, capability, example, answered in _decoded(_within(stored))
    }


def _within(stored: Sequence[StoredCalls]) -> Iterator[StoredCalls]:
    left = MAX_STORED_BYTES
    for one in stored:
        left -= len(one.service) + len(one.capabilities)
        if left < 0:
            return
        yield one


def _decoded(
    stored: Iterator[StoredCalls],
) -> Iterator[tuple[str, Service, Capability, Arguments | None, Outcome | None]]:
    """Yield host, service, capability, arguments of its example, and the outcome of the request for its detail."""
    for one in stored:
        try:
            parts, rows = decode(one.service or None) or {}, decode(one.capabilities or None) or ()
            data = [value | ({} if detail is None else {"detail": detail}) for value, detail, _, _ in rows]
            service = from_json({**parts, "capabilities": data})
            examples = [None if example is None else Arguments.from_json(example) for _, _, example, _ in rows]
            answered = [None if outcome is None else Outcome(outcome) for *_, outcome in rows]
        except (ValueError, TypeError, KeyError):
            _log.error("a part of %s cannot be decoded: rescore rewrites it", one.host)
            continue
        for capability, example, outcome in zip(service.capabilities, examples, answered, strict=True):
            yield one.host, service, capability, example, outcome
