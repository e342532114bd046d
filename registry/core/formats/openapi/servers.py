"""Find the address at which an operation is called (OpenAPI 3.1 sections 4.8.5, 4.8.6; OpenAPI 2.0 `host`).

The order is the one of the specification: variables are replaced by their defaults, then the parts are joined, then the
whole address is judged. So no default and no missing delimiter can lead to another host than the named one.
"""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

from registry.core.format_support import manifest
from registry.core.format_support.endpoints import (
    Endpoint,
    callable_url,
    endpoint,
    lacks_scheme,
    link,
    origin_of,
    with_defaults,
)
from registry.core.format_support.manifest import Notes, Object, list_of, map_of, text_of, texts_of
from registry.core.formats.openapi import rules
from registry.core.model.documents import Document, Json
from registry.core.names.domains import host_of
from registry.core.reading.json_pointer import at

_MAX_SERVERS: Final = 20  # servers of one list that are looked at
_ABSOLUTE: Final = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):/{2,}([^/?#]*)(.*)", re.DOTALL)
_SCHEME_VARIABLE: Final = re.compile(r"\{([^{}/]+)\}(?=://)")
_SCHEMELESS: Final = re.compile(r"/{0,2}([^/?#]*)(.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class BaseAddress:
    """The address that paths are appended to as text, None if clients may not call it; the JSON Pointer of the member
    that states it; and its variables."""

    address: Endpoint | None
    pointer: str
    variables: Object = field(default_factory=dict)


class _Server(NamedTuple):
    """`is_repaired`: it is not written as the specification asks."""

    url: str
    is_repaired: bool
    variables: Object


class Bases:
    """Finds the address of each operation. `root` is the address of the API as a whole: the root of the host where the
    description names none."""

    def __init__(self, value: Object, document: Document, notes: Notes) -> None:
        self._value, self._document, self._notes = value, document, notes
        self._by_schemes: dict[tuple[str, ...], BaseAddress] = {}
        own = text_of(value, "$self")  # OpenAPI 3.2 section 4.1.2.2.1: the base of relative references
        self._base_url = (link(own, document.url) if own else None) or document.url
        self._is_old = "swagger" in value
        self._root_schemes = _schemes_of(value)
        self._secure_hosts = {host_of(document.url) or ""}
        self.root = self._old_base(self._root_schemes) if self._is_old else self._listed(value, "") or self._plain("/")
        if self.root.address is not None:
            self._secure_hosts.add(_split(self.root.address.url)[1])

    def of(self, path_item: Object, operation: Object, item_pointer: str, pointer: str) -> BaseAddress:
        """Return the address of an operation: its own, else that of its path, else `root`."""
        if self._is_old:
            schemes = _schemes_of(operation)
            return self._old_base(schemes) if "https" in schemes and "https" not in self._root_schemes else self.root
        return self._listed(operation, pointer) or self._listed(path_item, item_pointer) or self.root

    def _listed(self, holder: Object, pointer: str) -> BaseAddress | None:
        """Return the first server that clients may call (often not the first: that is its author's machine), else the
        first; None if none is named. `pointer` leads to the holder of the list."""
        if not holder.get("servers"):
            return None
        named = list(_named_servers(holder, pointer))
        if not named:
            self._notes.add(rules.SERVER, at(pointer, "servers"), holder["servers"])
            return None
        found = [_settled(server, self._document, self._secure_hosts) for _, server in named]
        found += [_opened(server) for _, server in named]
        is_callable = partial(callable_url, base=self._base_url, trusted_url=self._document.url)
        index = next((index for index, server in enumerate(found) if is_callable(server.url)), 0)
        at_url, server = named[index % len(named)]
        if found[index].is_repaired or not isinstance(holder["servers"], list):
            self._notes.add(rules.SERVER, at_url, text_of(server, "url"))
        return self._plain(found[index].url, at_url, found[index].variables)

    def _old_base(self, schemes: tuple[str, ...]) -> BaseAddress:
        """Return scheme, `host` and `basePath` of OpenAPI 2.0, joined with the delimiters that they may lack."""
        if schemes not in self._by_schemes:
            self._by_schemes[schemes] = self._joined(schemes)
        return self._by_schemes[schemes]

    def _joined(self, schemes: tuple[str, ...]) -> BaseAddress:
        azure = map_of(self._value, "x-ms-parameterized-host")
        stated_host = text_of(self._value, "host") or text_of(azure, "hostTemplate")
        stated_path = text_of(self._value, "basePath") or ""
        host_scheme, host, host_path = _split(stated_host or "")
        path_scheme, path_host, path = _split(stated_path) if _ABSOLUTE.match(stated_path) else (None, "", stated_path)
        if host_scheme or (host_path.strip("/") and "host" in self._value):
            self._notes.add(rules.SERVER, "/host", stated_host)
        if path_scheme or (path and not path.startswith("/")):
            self._notes.add(rules.SERVER, "/basePath", stated_path)
        own_scheme, own_host, _ = _split(origin_of(self._document.url))
        scheme = "https" if "https" in schemes else next(iter(schemes), host_scheme or path_scheme or own_scheme)
        host = host or path_host or own_host
        if scheme == "http" and host == own_host and own_scheme == "https":
            scheme = own_scheme  # see `_settled`
            self._notes.add(rules.SERVER, "/schemes", "http")
        prefix = host_path.rstrip("/")
        path = f"/{path.lstrip('/')}"  # guard: base-path-delimiter
        if prefix and path != prefix and not path.startswith(f"{prefix}/"):
            path = prefix + path
        pointer = "/host" if stated_host or not path_host else "/basePath"
        described = [item for item in list_of(azure, "parameters")[: manifest.MAX_TEXTS] if isinstance(item, dict)]
        variables: Object = {text_of(item, "name") or "": item for item in described}
        return self._plain(with_defaults(f"{scheme}://{host}{path}", variables), pointer, variables)

    def _plain(self, target: str, pointer: str = "/servers/0/url", variables: Object | None = None) -> BaseAddress:
        if target[:7].lower() == "http://":
            secure = f"https{target[4:]}"
            if callable_url(secure, self._base_url, self._document.url) is not None:
                self._notes.add(rules.PLAIN_HTTP, pointer, target)
                return BaseAddress(None, pointer, variables or {})
        resolved = endpoint(target, self._base_url, self._document, pointer, self._notes)
        address = Endpoint(re.split("[?#]", resolved.url)[0].rstrip("/"), resolved.templated) if resolved else None
        return BaseAddress(address, pointer, variables or {})


def _named_servers(holder: Object, pointer: str) -> Iterator[tuple[str, Object]]:
    """Yield the pointer to the URL of each server that has one, and the server. One object counts as a list of one."""
    held = holder["servers"]
    pointer = at(pointer, "servers")
    servers: list[Json] = held if isinstance(held, list) else [held]
    for index, server in enumerate(servers[:_MAX_SERVERS]):
        if isinstance(server, dict) and isinstance(server.get("url"), str):
            yield at(pointer, index, "url") if isinstance(held, list) else at(pointer, "url"), server


def _settled(server: Object, document: Document, secure_hosts: Collection[str]) -> _Server:
    """Return the address of a server with the defaults of its variables. A host that serves the document, or the API as
    a whole, over https is called by https: behind a proxy, generators write http."""
    written, variables = _with_scheme(server), map_of(server, "variables")
    url = with_defaults(written, variables)
    repaired = f"https://{url}" if lacks_scheme(url, document.url) else url
    scheme, host, rest = _split(repaired)
    repaired = f"https://{host}{rest}" if scheme == "http" and host.lower() in secure_hosts else repaired
    return _Server(repaired, repaired != url or "{" in url, variables)  # each variable shall have a default


def _opened(server: Object) -> _Server:
    """Return the address of a server as a template: for a host of the caller's own, such as `{hostname}` with the
    default HOSTNAME or localhost. Its variables have no defaults."""
    described: Object = {
        name: {key: value for key, value in variable.items() if key != "default"}
        for name, variable in map_of(server, "variables").items()
        if isinstance(variable, dict)
    }
    return _Server(_with_scheme(server), False, described)


def _with_scheme(server: Object) -> str:
    """Return the URL of a server. A variable in the place of the scheme is https if its values allow, else its
    default."""
    url, variables = text_of(server, "url") or "/", map_of(server, "variables")
    scheme = _SCHEME_VARIABLE.match(url)
    if scheme is None:
        return url
    is_free = "https" in (list_of(map_of(variables, scheme[1]), "enum") or ["https"])
    return ("https" if is_free else with_defaults(scheme[0], variables)) + url[scheme.end() :]


def _split(text: str) -> tuple[str | None, str, str]:
    """Return scheme, host with port, and path of a URL that may lack its scheme."""
    match = _ABSOLUTE.fullmatch(text)
    if match:
        return match[1].lower(), match[2], match[3]
    host = _SCHEMELESS.fullmatch(text)
    return (None, host[1], host[2]) if host else (None, "", "")


def _schemes_of(holder: Object) -> tuple[str, ...]:
    named = texts_of(holder, "schemes") or ((text_of(holder, "schemes") or "",) if holder.get("schemes") else ())
    return tuple(scheme.lower() for scheme in named if scheme)
