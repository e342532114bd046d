"""Where the tools read: the registry's HTTP API, that of this process or that of a remote registry.

The tools are a translation of the public API, so that an answer over MCP and one over HTTP cannot differ, whichever
registry it comes from. `own_api` and `remote_api` are the two sources. This module and all that a server over stdio
loads before its first answer do without the web framework and the database driver, which take a second to import.
"""

from collections.abc import Callable, Mapping, MutableMapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import orjson

if TYPE_CHECKING:
    from registry.edge.costs import Spending

T = TypeVar("T")


class Refused(Exception):
    """The API refused a request. `slug`: type of the problem. `detail` is safe to show, `members` as in the API."""

    def __init__(self, slug: str, detail: str, members: Mapping[str, Any] | None = None) -> None:
        super().__init__(detail)
        self.slug = slug
        self.detail = detail
        self.members = members or {}


@dataclass(slots=True)
class Caller:
    """Who calls a tool. `scope`: the HTTP request that brought the call; None over stdio."""

    scope: MutableMapping[str, Any] | None = None
    asked: int = 0

    @property
    def spending(self) -> "Spending | None":
        return None if self.scope is None else self.scope.get("waypost.spending")

    def let_others_go(self) -> None:
        """Give the client's turn back before a wait: others of its requests may be worked on meanwhile."""
        if self.scope is not None and (turn := self.scope.get("waypost.turn")):
            turn.close()


@dataclass(frozen=True, slots=True)
class Answer:
    """`body` is JSON."""

    status: int
    body: bytes

    def content(self) -> dict[str, Any]:
        """Raise Refused when the request was refused."""
        content = content_of(self.body)
        if self.status >= 400:
            raise refusal(content)
        return content


def refusal(problem: Mapping[str, Any]) -> Refused:
    slug = str(problem.get("type", "")).rpartition("/")[2]
    return Refused(slug, str(problem.get("detail", "The registry refused the request.")), problem)


def content_of(body: bytes) -> dict[str, Any]:
    try:
        content = orjson.loads(body)
    except ValueError:
        content = None
    if not isinstance(content, dict):
        raise Refused("unavailable", "The registry answered with something else than a JSON object.")
    return content


class Source(Protocol):
    """`url`: address of the registry without a trailing slash."""

    url: str

    async def ask(
        self, caller: Caller, path: str, query: Mapping[str, str] | None = None, *, body: bytes | None = None
    ) -> Answer:
        """Return the answer to a GET, or with a body to a POST. `path` is not encoded yet."""

    async def worked(self, caller: Caller, size: int, function: Callable[..., T], *arguments: Any) -> T:
        """Return `function(*arguments)`, elsewhere when `size` bytes are too many for this process."""
