"""The registry's documents about itself, and the calls that they advertise, as an HTTP interface."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from fastapi import FastAPI, Request, Response
from starlette.types import ASGIApp

from registry.edge import problems
from registry.edge.interfaces import Interface
from registry.edge.middleware import Rules
from registry.edge.responses import PAGE, encoded_response
from registry.edge.routing import NO_TELEMETRY, strict_router
from registry.self_description.capabilities import CAPABILITIES
from registry.self_description.documents import API_CATALOG, SelfDocuments, start_links
from registry.self_description.service import McpServer
from registry.self_description.woa import Invocations
from registry.settings import Settings

_ROOT: Final = "/woa"
_OPEN: Final = (
    "/.well-known/",
    "/agent.json",
    "/llms.txt",
    "/robots.txt",
    "/terms",
    "/openapi.json",
    "/mcp/server-card",
    "/woa/",
)


def interface(
    settings: Settings,
    version: str,
    api: ASGIApp,
    openapi: Callable[[], Mapping[str, Any]],
    mcp: McpServer | None = None,
    ard: str | None = None,
) -> Interface:
    """Return the interface. `api` answers the calls that the documents describe; `openapi` returns its description.

    `mcp` and `ard` are other interfaces of this process; None is not advertised.
    """
    documents = SelfDocuments(settings, version, openapi, mcp, ard)
    return Interface(_application(documents, api), _rules(), roots=(_ROOT,), paths=documents.paths)


def _rules() -> Rules:
    """Return the rules: an invocation has the bounds of the call that it stands for."""
    return Rules(
        open=_OPEN,
        # guard: invocation-limits
        submissions=frozenset(one.woa_path for one in CAPABILITIES if one.limit == "submissions"),
        searches=frozenset(one.woa_path for one in CAPABILITIES if one.method == "GET"),
    )


def _application(documents: SelfDocuments, api: ASGIApp) -> FastAPI:
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None, redirect_slashes=False, telemetry=NO_TELEMETRY)
    problems.install(app)
    invocations = Invocations(api)

    links = {"/": start_links(documents.base), API_CATALOG: f'<{documents.base}{API_CATALOG}>; rel="api-catalog"'}

    async def document(request: Request) -> Response:
        """Return a document. Query parameters are ignored, as for a file: some clients add some."""
        path = request.scope["path"]
        text, media_type = documents.by_path[path]
        headers = {"Link": links[path]} if path in links else {}
        return encoded_response(request, text.encode(), cache=PAGE, media_type=media_type, headers=headers)

    async def invoke(request: Request, agent_id: str) -> Response:
        return await invocations(request, agent_id)

    for path in documents.paths:
        app.add_api_route(path, document, methods=["GET"])
    operations = strict_router()
    operations.add_api_route(f"{_ROOT}/{{agent_id}}", invoke, methods=["POST"])
    app.include_router(operations)
    return app
