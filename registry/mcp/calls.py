"""Calls of tools: read the arguments, ask the API, make the result."""

from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import quote, urlsplit

import orjson

from registry.core.names.domains import InvalidName, host_syntax
from registry.mcp import results
from registry.mcp.result_schemas import DEFAULT_BYTES, DEFAULT_ROWS, MAX_ROWS, MAX_WITH_CALLS
from registry.mcp.results import Json, Result
from registry.mcp.source import ApiRefusal, ApiSource, Caller, refusal
from registry.mcp.tools import FILTER_NAMES, TOOLS, ArgumentsOf, BadArguments, with_listed_values

_ELSEWHERE: Final = "discover_services finds other services."
_LATER: Final = "Ask again in a minute."
_HINTS: Final[Mapping[str, str]] = {
    "unknown-service": "discover_services finds listed ones; submit_service has a host visited.",
    "unknown-capability": "get_service lists the capabilities of a service.",
    "invalid-name": "Pass the name of a public host, such as api.pigeonpost.example.",
    "blocked": _ELSEWHERE,
    "opted-out": _ELSEWHERE,
    "gone": _ELSEWHERE,
    "mirrored": "Submit the host there.",
    "body-too-large": "Send the document to POST /api/validate of this registry.",
    "unknown-parameter": "This registry is of another version; install that version of `waypost`, or use its HTTP API.",
    "request-timeout": _LATER,
    "busy": _LATER,
    "unavailable": _LATER,
    "internal-error": f"{_LATER} If it fails again, go on without this registry.",
}
"""Slug of a problem -> what a model can do about it, unless the problem itself says that."""


class UnknownTool(LookupError):
    pass


class ToolCalls:
    """The tools over one source."""

    def __init__(self, source: ApiSource) -> None:
        self.source = source
        self._arguments = {tool.name: ArgumentsOf(tool.input_schema) for tool in TOOLS}
        self._calls: Mapping[str, Callable[[Caller, Json], Awaitable[Result]]] = {
            "discover_services": self._discover,
            "get_service": self._service,
            "get_capability": self._capability,
            "check_manifest": self._check,
            "compare_services": self._compare,
            "registry_status": self._status,
            "submit_service": self._submit,
        }

    async def call(self, name: str, arguments: Json, caller: Caller) -> Result:
        """Return the result of a tool. Raise UnknownTool, BadArguments or ApiRefusal, each with a message to show."""
        call = self._calls.get(name)
        if call is None:
            raise UnknownTool(f"Unknown tool; there are {', '.join(self._calls)}.")
        if isinstance(filters := arguments.get("filters"), dict):
            arguments = {**arguments, "filters": with_listed_values(filters)}
        self._arguments[name].check(arguments)
        try:
            return await call(caller, {"max_bytes": DEFAULT_BYTES, "detail": "low", **arguments})
        except ApiRefusal as refused:
            if refused.slug == "invalid-parameter":
                raise BadArguments(_as_arguments(refused)) from None
            hint = _HINTS.get(refused.slug, "")
            raise ApiRefusal(refused.slug, f"{refused.detail} {hint}".rstrip(), refused.members) from None

    async def _discover(self, caller: Caller, asked: Json) -> Result:
        query = {"q": asked["q"], "limit": str(asked.get("limit", DEFAULT_ROWS))}
        for name, value in asked.get("filters", {}).items():
            query[name] = ",".join(map(str, dict.fromkeys(value))) if isinstance(value, list) else str(value)
        query |= {key: asked[key] for key in ("cursor", "sort") if key in asked}
        if asked["detail"] == "low":
            query["view"] = "brief"
        if int(query["limit"]) <= MAX_WITH_CALLS:
            query["include"] = "call"
        try:
            answer = (await self.source.ask(caller, "/api/discover", query)).content()
        except ApiRefusal as refused:
            if refused.slug != "busy" or query.pop("include", None) is None:
                raise
            answer = (await self.source.ask(caller, "/api/discover", query)).content()  # rows without calls can be had
        if not answer["data"] and not answer["confident"] and await self._is_empty(caller):
            return results.of_empty_registry(answer)
        result, rows = results.discovered(answer, asked["detail"], asked["max_bytes"])
        cursor = answer["next_cursor"] if answer["confident"] else None
        if answer["confident"] and 0 < rows < len(answer["data"]):  # continue after the last row that is shown
            shorter = await self.source.ask(caller, "/api/discover", {**query, "limit": str(rows)})
            cursor = shorter.content()["next_cursor"]
        return results.with_cursor(result, cursor)

    async def _is_empty(self, caller: Caller) -> bool:
        """Return whether the registry lists nothing at all. Asked for only where an answer has no row."""
        query = {"limit": "1", "include_unverified": "true"}
        listed = (await self.source.ask(caller, "/api/services", query)).content()
        return bool(listed["total"] == 0)

    async def _service(self, caller: Caller, asked: Json) -> Result:
        body = await self._service_body(caller, _host(asked["domain"]))
        start = int(asked.get("cursor", "0"))
        result: Result = await self._worked(caller, results.service, body, asked["detail"], start, asked["max_bytes"])
        return result

    async def _service_body(self, caller: Caller, host: str) -> bytes:
        answer = await self.source.ask(caller, f"/api/services/{host}")
        if answer.status != 200:
            answer.content()
        return answer.body

    async def _worked(self, caller: Caller, function: Callable[..., Any], body: bytes, *arguments: Any) -> Any:
        return await self.source.worked(caller, len(body), function, body, self.source.url, *arguments)

    async def _capability(self, caller: Caller, asked: Json) -> Result:
        shown = (asked["detail"], asked["max_bytes"])
        if "domain" in asked:
            return await self._capability_of(caller, _host(asked["domain"]), asked["name"], *shown)
        question = " ".join(asked["name"].split())[:400] or "-"
        query = {"q": question, "limit": str(MAX_ROWS), "unique": "false"}
        answer = await self.source.ask(caller, "/api/discover", query)
        found = list(_named(answer.content(), asked["name"]))
        if not found:
            raise ApiRefusal(
                "unknown-name",
                "No service found has a capability of exactly this name. Ask discover_services in plain words.",
            )
        if len(found) > 1:
            return results.candidates(found, asked["max_bytes"])
        return await self._capability_of(caller, found[0][0], asked["name"], *shown)

    async def _capability_of(self, caller: Caller, host: str, name: str, detail: str, max_bytes: int) -> Result:
        answer = await self.source.ask(caller, f"/api/services/{host}/capabilities/{name}")
        if answer.status != 200:
            raise refusal(orjson.loads(answer.body))
        url = f"{self.source.url}/api/services/{host}/capabilities/{quote(name, safe='')}"
        arguments = (answer.body, host, url, detail, max_bytes)
        return await self.source.worked(caller, len(answer.body), results.capability, *arguments)

    async def _check(self, caller: Caller, asked: Json) -> Result:
        if ("text" in asked) == ("url" in asked):
            raise BadArguments("either text or url is required")
        if "url" in asked:
            return await self._check_stored(caller, asked["url"], asked["max_bytes"])
        query = {key: asked[name] for key, name in (("at", "path"), ("format", "format")) if name in asked}
        answer = await self.source.ask(caller, "/api/validate", query, body=asked["text"].encode())
        if answer.status != 200 and refusal(orjson.loads(answer.body)).slug != "unreadable-body":
            answer.content()
        return await self.source.worked(caller, len(answer.body), results.checked, answer.body, asked["max_bytes"])

    async def _check_stored(self, caller: Caller, url: str, max_bytes: int) -> Result:
        try:
            body = await self._service_body(caller, _host(urlsplit(url).hostname or ""))
        except (ApiRefusal, ValueError) as refused:
            if isinstance(refused, ApiRefusal) and refused.slug not in ("unknown-service", "gone", "invalid-name"):
                raise
            body = b""
        seen = await self.source.worked(caller, len(body), results.seen, body, url, max_bytes) if body else None
        if seen is None:
            raise ApiRefusal(
                "unknown-document",
                "This registry has seen no document there, and fetches nothing for a check: pass the document as "
                "`text`, or have its host visited with submit_service.",
            )
        return seen

    async def _compare(self, caller: Caller, asked: Json) -> Result:
        hosts = list(dict.fromkeys(map(_host, asked["domains"])))
        columns, missing = [], []
        for host in hosts:
            answer = await self.source.ask(caller, f"/api/services/{host}")
            if answer.status in (404, 410):
                missing.append(host)
                continue
            if answer.status != 200:
                answer.content()
            most = asked["max_bytes"] * 3 // 4 // len(hosts)
            columns.append(await self._worked(caller, results.side_by_side, answer.body, most))
        return results.compared(columns, missing, asked["max_bytes"])

    async def _status(self, caller: Caller, _: Json) -> Result:
        ready = await self.source.ask(caller, "/readyz")
        health = (await self.source.ask(caller, "/api/health")).content()
        return results.status(orjson.loads(ready.body), health, self.source.url)

    async def _submit(self, caller: Caller, asked: Json) -> Result:
        caller.let_others_go()
        answer = await self.source.ask(caller, "/api/services", body=orjson.dumps({"domain": asked["domain"]}))
        if answer.status < 300:
            return results.submitted(answer.content(), None)
        refused = refusal(orjson.loads(answer.body))
        if refused.slug not in results.SUBMISSION_PROBLEMS:
            raise refused
        return results.submitted(refused.members, refused.slug)


def _as_arguments(refused: ApiRefusal) -> str:
    """Return the faults that the API found in parameters as faults of the arguments from which they were made."""
    faults = refused.members.get("errors") or [refused.detail]
    said = [f"filters.{fault}" if str(fault).partition(":")[0] in FILTER_NAMES else str(fault) for fault in faults]
    return "; ".join(said).replace(", separated by commas", "")


def _host(name: str) -> str:
    """Return the canonical spelling of a host. Raise ApiRefusal for an invalid name."""
    try:
        return host_syntax(name)
    except InvalidName:
        raise ApiRefusal("invalid-name", "No service can be listed under this host: it is no public name.") from None


def _named(answer: Json, name: str) -> Iterator[tuple[str, Json]]:
    """Yield host and capability of each row that has a capability of exactly this name."""
    for row in answer["data"]:
        for capability in row["matching_capabilities"]:
            if capability["name"] == name:
                yield row["service"]["domain"], capability
                break
