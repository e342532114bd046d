"""The addresses of pages. Hosts, names and queries are encoded here and nowhere else."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from registry.edge.responses import path_segment
from registry.web.assets import ADDRESSES


@dataclass(frozen=True, slots=True)
class Links:
    """`base`: the URL of this registry without a trailing slash. `root`: the path in it, empty at the root of a host.

    `known`: paths of the pages that exist, as templates such as `/s/{host}`.
    """

    base: str
    root: str
    known: frozenset[str]

    def has(self, path: str) -> bool:
        """True if there is a page at this template of a path. A page that does not exist is not linked to."""
        return path in self.known

    def to(self, path: str, query: Mapping[str, Any] | None = None, /, **values: str) -> str:
        """Return the link to a template of a path, with its values encoded, and the parameters that are not None.

        Raise KeyError when a value is missing.
        """
        filled = path.format_map({name: path_segment(value) for name, value in values.items()})
        sent = {name: value for name, value in (query or {}).items() if value is not None}
        return self.root + filled + (f"?{urlencode(sent)}" if sent else "")

    def absolute(self, path: str, query: Mapping[str, Any] | None = None, /, **values: str) -> str:
        """Return the same with the origin, for what leaves the page."""
        return self.base + self.to(path, query, **values).removeprefix(self.root)

    def asset(self, name: str) -> str:
        return self.root + ADDRESSES[name]

    def service(self, host: str) -> str:
        return self.to("/s/{host}", host=host)

    def capability(self, host: str, name: str) -> str:
        return self.to("/s/{host}/c/{name}", host=host, name=name)

    def search(self, **query: Any) -> str:
        return self.to("/search", query)
