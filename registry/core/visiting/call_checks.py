"""Stage S7: ask whether addresses that documents name for calls still answer (docs/crawler.md, "Calls").

No call is made: no parameters, no credentials, no body. An address gets OPTIONS, which implies no action (RFC 9110
section 9.3.7). HEAD follows only if documents call the address with GET, whose answer it is (section 9.3.2), and
OPTIONS said no: many servers route only the methods of their operations.
"""

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, NamedTuple, TypeAlias

from registry.core.formats.adp.detail_view import method_of, preferred_call
from registry.core.model.documents import FetchResult, Outcome, Probe, Purpose
from registry.core.model.services import Capability
from registry.core.names.domains import host_of, parse_https, same_site

CallChecks = Literal["off", "owned", "all"]

MAX_ADDRESSES: Final = 5  # of one host and visit
MAX_REQUESTS: Final = 2 * MAX_ADDRESSES
AGAIN_AFTER: Final = timedelta(days=1)  # between two checks of an address
BODY_CAP: Final = 1024  # the status says everything

Method = Literal["OPTIONS", "HEAD"]

_READS: Final = frozenset({"GET", "HEAD"})
_PLACEHOLDER: Final = re.compile(r"[{}]|%7[bd]", re.IGNORECASE)
_NOT_FOUND: Final = 404
_TOO_MANY: Final = 429
_UNKNOWN_METHOD: Final = 501  # RFC 9110 section 15.6.2: the server does not know OPTIONS, for any address
_MISSING: Final = frozenset({_NOT_FOUND, 410})
_SILENT: Final = frozenset({Outcome.UNREACHABLE, Outcome.TLS_ERROR})


class CallAddress(NamedTuple):
    """`url`: canonical https, without query. `is_read`: documents call it with GET or HEAD and state no side effects.
    `needs_values`: they do so with required parameters only, which a check does not send."""

    url: str
    is_read: bool
    needs_values: bool = False


class CallCheck(NamedTuple):
    """Result of one check. `answers`: None where nothing is known: robots.txt forbids the request, or the status says
    nothing about the address. `status`: None without an answer. `reason`: why `answers` is not True."""

    url: str
    method: Method
    answers: bool | None
    status: int | None
    reason: str
    checked_at: datetime


def call_address(host: str, capability: Capability) -> CallAddress | None:
    """Return the address to check for a capability of this host; None without one. Templates are never filled in, and
    addresses outside of the host's registrable domain belong to strangers."""
    call = preferred_call(capability)
    if call is None or call.endpoint is None or call.templated or _PLACEHOLDER.search(call.endpoint):
        return None
    url = parse_https(re.split(r"[?#]", call.endpoint, maxsplit=1)[0])
    server = host_of(url or "")
    if url is None or server is None or not same_site(server, host):  # guard: call-check-same-site
        return None
    is_read = method_of(call) in _READS and not capability.side_effects
    return CallAddress(url, is_read, is_read and bool((capability.params or {}).get("required")))


def choose_addresses(
    host: str, capabilities: Iterable[Capability], checked: Mapping[str, datetime], now: datetime
) -> tuple[CallAddress, ...]:
    """Return the addresses of a host that are due, at most MAX_ADDRESSES: never checked ones first, then the longest
    ago. `checked`: time of the last check by URL."""
    named: dict[str, CallAddress] = {}
    for capability in capabilities:
        if (address := call_address(host, capability)) is not None:
            known = named.get(address.url)
            # the most telling of its calls: a read without required parameters, else a read
            named[address.url] = max(known or address, address, key=lambda one: (one.is_read, not one.needs_values))
    due = [address for address in named.values() if _is_due(checked.get(address.url), now)]  # guard: call-check-daily
    due.sort(key=lambda address: (address.url in checked, checked.get(address.url, now)))
    return tuple(due[:MAX_ADDRESSES])  # guard: call-check-count


def _is_due(checked_at: datetime | None, now: datetime) -> bool:
    return checked_at is None or now - checked_at >= AGAIN_AFTER


Exchange: TypeAlias = Callable[[Probe], Generator[Probe, FetchResult, FetchResult | None]]
"""Makes one request, as a generator that yields it for its answer; it returns None if the request may not be made."""


def check_calls(
    addresses: Sequence[CallAddress], exchange: Exchange
) -> Generator[Probe, FetchResult, tuple[CallCheck, ...]]:
    """Check the addresses one after another. A host that does not answer, or asks for patience, is left alone."""
    checks: list[CallCheck] = []
    left_alone: set[str | None] = set()
    for address in addresses:
        if host_of(address.url) in left_alone:
            continue
        fetched = yield from exchange(_probe(address.url, "OPTIONS"))
        if fetched is None:
            break
        check = _judge(address.url, "OPTIONS", fetched)
        if fetched.failure in _SILENT or fetched.status == _TOO_MANY:
            left_alone.add(host_of(address.url))
        elif address.is_read and fetched.status is not None and not check.answers:
            fetched = yield from exchange(_probe(address.url, "HEAD"))
            check = check if fetched is None else _judge(address.url, "HEAD", fetched)
            if address.needs_values and check.method == "HEAD" and check.status == _NOT_FOUND:
                check = check._replace(answers=None, reason="needs_values")  # 404 may be about the missing value
        checks.append(check)
    return tuple(_weigh(checks))


def _probe(url: str, method: Method) -> Probe:
    return Probe(url, Purpose.CALL, "S7", "*/*", BODY_CAP, method=method)


def _judge(url: str, method: Method, fetched: FetchResult) -> CallCheck:
    status = fetched.status
    if fetched.failure is not None or status is None:
        answers, reason = (False if fetched.failure in _SILENT else None), fetched.reason
    elif status == _UNKNOWN_METHOD:
        answers, reason = None, "method_not_known"
    elif status in _MISSING or status >= 500:
        answers, reason = False, f"status_{status}"
    else:
        answers, reason = True, ""
    return CallCheck(url, method, answers, status, reason, fetched.at)


def _weigh(checks: Collection[CallCheck]) -> Iterable[CallCheck]:
    """Yield the checks. 404 to OPTIONS proves an absence only where the same host routes OPTIONS: Fastify, Gin, Hono
    and Rails answer so for each path that has no OPTIONS route, and the path may take POST."""
    routing = {
        host_of(check.url) for check in checks if check.method == "OPTIONS" and check.status not in (None, _NOT_FOUND)
    }
    for check in checks:
        is_doubtful = check.method == "OPTIONS" and check.status == _NOT_FOUND and host_of(check.url) not in routing
        yield check._replace(answers=None, reason="options_not_routed") if is_doubtful else check
