"""Remove every address that clients outside must not call from a model: private ones, and ambiguous ones.

A private address in an answer would direct clients at their own networks (docs/safety.md, "Threats and where they
end"). In an ambiguous address two parsers read different hosts. The gate walks all dataclasses, mappings and lists of
the model, so readers, interfaces and new fields need not remember it. It runs twice: after each reader, so that a
merge can choose another document's public address and the finding names the member; and after the merge, for all.

- A value or a key counts as a whole: a sentence that mentions an address is a text, and stays as it is.
- The site that served the document counts as public: the crawler's address checks let the request through.
- A member or an item is left out by itself, with what would be wrong without it: a call without its endpoint, a
  capability without its last call, a command without one of its arguments, an object without its name.
"""

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from functools import cache, lru_cache
from operator import is_
from types import NoneType
from typing import Any, Final, Literal, NamedTuple, get_args, get_origin

from registry.core.format_support import common_rules
from registry.core.format_support.manifest import TEXT_CHARS, Notes
from registry.core.model.documents import Document, Json
from registry.core.model.services import Capability, Identity, Invocation, Origin, Package, Pointer, Service
from registry.core.names.domains import host_of, same_site
from registry.core.names.inside import inside_host
from registry.core.reading.json_pointer import at
from registry.core.reading.plain_text import plain

_GONE: Any = object()
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_ADDRESSES: Final = frozenset(
    ("url", "urls", "uri", "uris", "href", "host", "hosts", "hostname", "hostnames", "domain", "domains", "server",
     "servers", "endpoint", "endpoints", "address", "addresses", "addr", "ip", "origin", "origins", "homepage",
     "website", "proxy", "gateway")
)  # fmt: skip
_COMMAND_LINES: Final = frozenset({"arguments", "runtime_arguments", "args"})
"""Lists that are left out as a whole: without one of its words, a command has another meaning."""
_NEEDED: Final = frozenset(
    ((Invocation, "endpoint"), (Invocation, "name"), (Capability, "invocations"), (Package, "identifier"),
     (Package, "command"), (Package, "arguments"), (Package, "runtime_arguments"))
)  # fmt: skip
"""Optional fields whose removal makes the object useless."""
_NOT_SHOWN: Final = frozenset({(Pointer, "payload"), (Identity, "signed")})
"""Fields that the merge drops: a document inside a document, which is read separately, and a signed text."""

_MAX_NAMED: Final = 1_000  # addresses of one document that are located; a longer list says nothing more
_AUTHORITY = re.compile(rb"//([^/\s\"'`?#<>()\\|,;]+)")
_ODD = re.compile(rb"(?:https?|wss?|ftp):(?!//[^/\\])|//[^/\s\"'?#<>]*\\|/\\|did:web:[^\s\"'/]*[@%]")
"""How addresses begin that parsers read differently; JSON writes a backslash and a tab with backslashes, too."""
_MAY_BE_ODD = (re.compile(rb":(?<=[ps]:)(?!//[^/\\])"), re.compile(rb"/[^/\s\"'?#<>]*\\"), re.compile(rb"did:web:"))
"""_ODD matches only texts that one of these matches. They begin with a literal byte, so searching is much faster."""

_SIGNS: Final = (b"localhost", b".internal", b'"10.', b'"127.', b'"169.254.', b'"192.168.')
"""Beginnings and ends of most addresses that are not URLs."""


class _NamedAddress(NamedTuple):
    """An address that is not public: the text, its host, and the keys that lead to it from the root of the document."""

    text: str
    host: str
    keys: tuple[str | int, ...] = ()


def public_service(service: Service, document: Document, notes: Notes) -> Service:
    """Return the service of a document without addresses that are not public, and note where it names them. What has a
    finding already that says why it is left out gets no second one."""
    gate = _Gate(document.url)
    if not _may_name_private(document.raw, gate):  # guard: reader-gate
        return service
    public: Service = gate.public(service)
    named = gate.named(document.value)
    for address in named:
        pointer = at("", *address.keys)
        if not notes.refuses(pointer, address.text):
            notes.add(common_rules.ADDRESS_NOT_PUBLIC, pointer, address.text)
    located = {address.host for address in named}
    for address in gate.left_out:  # from a text, or joined of several members
        if address.host not in located:
            located.add(address.host)
            notes.add(common_rules.ADDRESS_NOT_PUBLIC, "", address.text)
    return public


def public_merged(service: Service, host: str) -> tuple[Service, tuple[str, ...]]:
    """Return the service of a host without addresses that are not public, and these addresses."""
    gate = _Gate(f"https://{host}/")
    public: Service = gate.public(service)
    return public, tuple(dict.fromkeys(address.text for address in gate.left_out))


def public_json(value: dict[str, Any], url: str) -> dict[str, Any]:
    """Return a JSON object of the document at `url` without addresses that are not public."""
    public: dict[str, Any] = _Gate(url).public(value)
    return public


def private_places(value: Json, url: str) -> list[tuple[str | int, ...]]:
    """Return the keys that lead to each address that is not public, in the JSON value of the document at `url`."""
    return [address.keys for address in _Gate(url).named(value)]


def is_public(text: str, url: str) -> bool:
    """Return whether `text` may be handed out: it is no address, or a public one, or of the site that served `url`."""
    return _Gate(url).inside(text) is None


def _may_name_private(raw: bytes, gate: "_Gate") -> bool:
    """Return whether a document has to be walked: one scan of its bytes decides for nearly all documents. Addresses
    that the scan cannot see (escapes, hidden characters) are removed after the merge."""
    text = raw.lower().replace(b"\\/", b"/")
    if any(sign in text for sign in _SIGNS):
        return True
    if any(part.search(text) for part in _MAY_BE_ODD) and _ODD.search(text):
        return True
    hosts = {*_AUTHORITY.findall(text)} - {gate.host.encode()}
    return any(gate.inside(f"https://{host.decode('utf-8', 'replace')}") for host in hosts)


class _Gate:
    """Judges addresses for one document. `left_out` are the addresses that `public` removed."""

    __slots__ = ("_own", "_room", "host", "left_out")

    def __init__(self, url: str) -> None:
        self.host = host_of(url) or ""
        self._own = f"https://{self.host}/"
        self._room = _MAX_NAMED
        self.left_out: list[_NamedAddress] = []

    def inside(self, text: str, is_address: bool = False) -> str | None:
        """Return the host of an address that is not public, None for everything else."""
        if text.startswith(self._own):
            return None
        host = inside_host(text, is_address=is_address)
        return None if host is None or (self.host and same_site(host, self.host)) else host

    def public(self, value: Any, is_address: bool = False) -> Any:
        """Return a value of the model or of JSON without addresses that are not public; _GONE if nothing remains. An
        unchanged value is returned as the same object."""
        kind = type(value)
        if isinstance(value, str):
            host = self.inside(value, is_address)
            if host is None:
                return value
            self.left_out.append(_NamedAddress(value, host))
            return _GONE
        if value is None or kind is bool or kind is int or kind is float:
            return value
        if isinstance(value, tuple | list):
            return self._items(value, is_address)
        if isinstance(value, Mapping):
            return self._members(value)
        return self._fields(value)

    def _items(self, items: Any, is_address: bool, is_whole: bool = False) -> Any:
        """Return a list or tuple. `is_whole`: its items mean nothing without one of them."""
        public = [
            self._items(item, is_address, is_whole=True) if type(item) is tuple else self.public(item, is_address)
            for item in items
        ]
        kept = [item for item in public if item is not _GONE]
        if len(kept) < len(items):
            return _GONE if is_whole or not kept else type(items)(kept)
        return items if all(map(is_, public, items)) else type(items)(public)

    def _members(self, members: Mapping[str, Any]) -> Any:
        changed: dict[str, Any] = {}
        for key, item in members.items():
            if isinstance(item, tuple | list):
                public = self._items(item, is_address_key(key), key in _COMMAND_LINES)
            else:
                public = self.public(item, is_address_key(key))
            if self.public(key) is _GONE:
                public = _GONE
            if public is not item:
                changed[key] = public
        if not changed:
            return members
        return {key: item for key, old in members.items() if (item := changed.get(key, old)) is not _GONE}

    def _fields(self, holder: Any) -> Any:
        changed: dict[str, Any] = {}
        kind: Any = type(holder)
        for name, is_address, absent, is_whole in _plan(kind):
            value = getattr(holder, name)
            if not value:
                continue
            public = self._items(value, is_address, is_whole=True) if is_whole else self.public(value, is_address)
            if public is value:
                continue
            changed[name] = absent if public is _GONE else public
            if changed[name] is _GONE:
                return _GONE
        return replace(holder, **changed) if changed else holder

    def named(self, value: Json, is_address: bool = False) -> list[_NamedAddress]:
        """Return the first _MAX_NAMED addresses in a JSON value that are not public, keys of objects included."""
        if self._room <= 0:
            return []
        if isinstance(value, str):
            text = value if value.isprintable() else plain(value, TEXT_CHARS)
            host = self.inside(text, is_address)
            self._room -= host is not None
            return [_NamedAddress(text, host)] if host is not None else []
        found: list[_NamedAddress] = []
        if isinstance(value, dict):
            for key, item in value.items():
                found += _below(key, self.named(key))
                if isinstance(item, str | dict | list):
                    found += _below(key, self.named(item, is_address_key(key)))
        elif isinstance(value, list):
            for index, item in enumerate(value):
                if isinstance(item, str | dict | list):
                    found += _below(index, self.named(item, is_address))
        return found


def _below(key: str | int, found: list[_NamedAddress]) -> list[_NamedAddress]:
    return [one._replace(keys=(key, *one.keys)) for one in found] if found else found


@lru_cache(maxsize=8_192)
def is_address_key(key: str) -> bool:
    """Return whether a member of this name holds an address: `host`, `baseUrl`, `detail_url`."""
    words = _WORD.findall(key)
    return bool(words) and words[-1].lower() in _ADDRESSES


class _Field(NamedTuple):
    """A field that may hold a text, and the value that replaces a removed one; _GONE: the object is removed as well."""

    name: str
    is_address: bool
    absent: Any
    is_whole: bool


@cache
def _plan(kind: type) -> tuple[_Field, ...]:
    plan = []
    for field in fields(kind):
        if (kind, field.name) in _NOT_SHOWN or not _may_hold_text(field.type):
            continue
        absent = field.default
        if absent is MISSING:
            absent = None if NoneType in get_args(field.type) else _GONE
        if (kind, field.name) in _NEEDED:
            absent = _GONE
        plan.append(_Field(field.name, is_address_key(field.name), absent, field.name in _COMMAND_LINES))
    return tuple(plan)


def _may_hold_text(annotation: Any) -> bool:
    """Return whether a value of this type may hold a text of a site. Origins are the registry's own."""
    if is_dataclass(annotation):
        return annotation is not Origin and any(_may_hold_text(field.type) for field in fields(annotation))
    if get_origin(annotation) is Literal:
        return False
    parts = get_args(annotation)
    return annotation in (str, Any) or (Origin not in parts and any(map(_may_hold_text, parts)))
