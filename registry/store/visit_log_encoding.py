"""Encoding of a visit's vector (its requests and answers) as one small column that stays readable.

Nearly every visit makes the same twenty requests and gets the same answer to all. As JSON with named members that is
4 KB, which the database would compress and parse for nothing, because no query reads it. Packed it is some 130 bytes:
consecutive answers that differ only in path, size and time share one head, and deflate knows the usual words.

JSON: `[[stage, purpose, outcome, reason, status, type, [[path, size, ms], ...]], ...]`, in request order. `path` is
the URL without `https://<host>`, or a whole URL. Other facts about an answer form a fourth element, an object.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

import orjson

from registry.core.visiting.visits import ProbeResult
from registry.store.values import REASON_CHARS, clean, clean_json

HASH_CHARS: Final = 16  # hexadecimal digits kept of a body's SHA-256: enough to see that two are the same
MAX_BYTES: Final = 4 << 20  # A vector that unpacks to more was not written by `pack`
_TYPE_CHARS: Final = 100
_LEVEL: Final = 1
_WINDOW: Final = 12  # 4 KB: initialised in a tenth of the time of the default
_MEMORY: Final = 4

# The first byte of a packed vector names its dictionary. Never change a dictionary: vectors packed with it would become
# unreadable. A better one gets the next number.
_FORMAT: Final = b"\x01"
_DICTIONARY: Final = (
    b'"format":"","dialect":"","sha256":"","final_url":"https://","hops":["via":{"document":"","pointer":"","rel":"'
    b'"expected":"application/xml text/markdown application/octet-stream found malformed gone skipped unreachable '
    b"redirected_away refused rate_limited server_error tls_error too_large disallowed not_a_manifest negative "
    b'"text/html",[["/"text/plain",[["application/json",[["application/problem+json",[["status_400status_401status_403'
    b"status_405status_410status_429status_500status_502status_503no_such_hostconnect_timeoutcertificate_unknown"
    b'/mcp"/openapi.json"/skill.md"/auth.md"/pricing.md"/a2a"/api-docs/llms-full.txt"/agents.txt"/agents.json"'
    b'/.well-known/acp.json"/.well-known/jwks.json"/.well-known/did.json"/.well-known/x402"/.well-known/openapi.json"'
    b'/.well-known/agents.json"/.well-known/agents.txt"/.well-known/oauth-protected-resource"'
    b'/.well-known/oauth-authorization-server"/.well-known/ai-plugin.json"/.well-known/agent-permissions.json"'
    b'["S5","detail","found","",200,"application/json",[["/capabilities/["S4","pointer","absent","status_404",404,'
    b'["S1","manifest","found","",200,"application/json",[["/.well-known/not_a_manifest","html",200,"text/html",[['
    b'[["S0","robots","absent","status_404",404,"text/html",[["/robots.txt",149,37]]],'
    b'["S0","home","absent","status_404",404,"text/html",[["/",149,37]]],["S0","home","absent","home",200,"text/html"'
    b'["S0","control","absent","status_404",404,"text/html",[["/.well-known/'
    b'.json",149,37]]],["S1","manifest","absent","status_404",404,"text/html",[["/.well-known/ard.json",149,37],'
    b'["/.well-known/ai-catalog.json",149,37],["/.well-known/api-catalog",149,37],["/llms.txt",149,37]]],'
    b'["S2","manifest","absent","status_404",404,"text/html",[["/agent.json",149,37],'
    b'["/.well-known/agent.json",149,37],["/.well-known/agent",149,37],["/.well-known/woa.json",149,37],'
    b'["/.well-known/ai-actions.json",149,37],["/.well-known/mcp-manifest.json",149,37],'
    b'["/.well-known/a2a-manifest.json",149,37],["/.well-known/awas.json",149,37]]],'
    b'["S3","manifest","absent","status_404",404,"text/html",[["/.well-known/agent-card.json",149,37],'
    b'["/.well-known/mcp/server-card.json",149,37],["/.well-known/mcp.json",149,37],'
    b'["/.well-known/agent-skills/index.json",149,37],["/.well-known/ucp",149,37]]]]'
)


def pack(host: str, answers: Sequence[ProbeResult]) -> bytes:
    """Return the packed answers of a visit of `host`, empty if it has no answers. Cut and clean texts; never raise."""
    if not answers:
        return b""
    prefix = f"https://{host}/"
    prefix_length = len(prefix) - 1
    runs: list[list[Any]] = []
    last: tuple[Any, ...] | None = None
    group: list[list[Any]] = []
    for answer in answers:
        probe, fetched, assessment = answer.probe, answer.fetched, answer.assessment
        served_as = fetched.headers.get("content-type")
        head = (probe.stage, probe.purpose, assessment.outcome, assessment.reason, fetched.status, served_as)
        if head != last:
            last, group = head, []
            runs.append([*head[:3], clean(head[3], REASON_CHARS), head[4], media_type(served_as), group])
        path = probe.url[prefix_length:] if probe.url.startswith(prefix) else probe.url
        entry = [path, fetched.size, fetched.elapsed_ms]
        if assessment.format or probe.via or fetched.hops or fetched.status == 200 or fetched.final_url != probe.url:
            entry[0] = clean(path)
            entry.append(_details(answer))
        group.append(entry)
    try:
        plain = orjson.dumps(runs)
    except TypeError:  # a lone surrogate in a path
        plain = orjson.dumps(clean_json(runs))
    return _deflated(plain)


def unpack(host: str, packed: bytes) -> list[dict[str, Any]]:
    """Return one object per answer, without absent members. Raise ValueError for bytes that `pack` did not write.
    Members: url, stage, purpose, outcome, reason, format, dialect, status, type, size, sha256 (its start), ms,
    final_url, hops, via, rpc (the method of a message)."""
    if not packed:
        return []
    if packed[:1] == b"[":  # written before vectors were packed: plain JSON
        old: list[dict[str, Any]] = orjson.loads(packed)
        return old
    entries = []
    try:
        for *head, group in orjson.loads(_inflated(packed)):
            shared = dict(zip(("stage", "purpose", "outcome", "reason", "status", "type"), head, strict=True))
            for path, size, ms, *details in group:
                url = f"https://{host}{path}" if path.startswith("/") else path
                entry = {"url": url, **shared, "size": size, "ms": ms, **(details[0] if details else {})}
                entries.append({key: value for key, value in entry.items() if value is not None and value != ""})
    except (TypeError, AttributeError) as error:
        raise ValueError("not a vector") from error
    return entries


def media_type(content_type: str | None) -> str | None:
    """Return the media type in lower case, without parameters, or None."""
    if not content_type:
        return None
    return clean(content_type[:_TYPE_CHARS].partition(";")[0].strip().lower()) or None


def _details(answer: ProbeResult) -> Mapping[str, Any]:
    probe, fetched, assessment = answer.probe, answer.fetched, answer.assessment
    details = {
        "format": assessment.format,
        "dialect": assessment.dialect,
        "sha256": fetched.sha256.hex()[:HASH_CHARS] if fetched.size else None,
        "final_url": fetched.final_url if fetched.final_url != probe.url else None,
        "hops": list(fetched.hops) or None,
        "via": asdict(probe.via) if probe.via else None,
        "rpc": probe.post.method if probe.post else None,
    }
    cleaned: dict[str, Any] = clean_json({key: value for key, value in details.items() if value is not None})
    return cleaned


def _deflated(plain: bytes) -> bytes:
    compressor = zlib.compressobj(_LEVEL, zlib.DEFLATED, -_WINDOW, _MEMORY, zlib.Z_DEFAULT_STRATEGY, _DICTIONARY)
    return _FORMAT + compressor.compress(plain) + compressor.flush()


def _inflated(packed: bytes) -> bytes:
    if packed[:1] != _FORMAT:
        raise ValueError("a vector of another version")
    decompressor = zlib.decompressobj(-_WINDOW, _DICTIONARY)
    try:
        plain = decompressor.decompress(packed[1:], MAX_BYTES)
    except zlib.error as error:
        raise ValueError("not a vector") from error
    if not decompressor.eof:
        raise ValueError("a vector that is cut off, or too long")
    return plain
