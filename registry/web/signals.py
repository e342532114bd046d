"""What anyone can request for a listed host: another visit, or a look by the registry's operator (a report)."""

from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registry.actions.frontier.recheck import AGAIN_AFTER, MOST_OF_CLIENT_AND_DOMAIN, MOST_OF_DOMAIN
from registry.core.model.reports import CODE_MEANS, REASON_CHARS
from registry.edge.responses import REVALIDATE
from registry.web.asking import as_problem, ask
from registry.web.forms import as_written, pass_on, sent
from registry.web.rendering import about_host, canonical_host, pages_of, with_secrets

_RECHECK: Final = "/s/{host}/recheck"
_REPORT: Final = "/s/{host}/report"
_STATE: Final = "/reports/{token}"
_MAX_BYTES: Final = 16_384


@about_host(_RECHECK)
async def recheck(request: Request, host: str) -> Response:
    """Return the page that shows whether a visit is queued, with the button that requests one."""
    status = (await ask(request, "/api/services/{host}/status", host=host))["data"]
    values = {
        "host": host, "host_status": status, "most_of_client": MOST_OF_CLIENT_AND_DOMAIN,
        "most_of_domain": MOST_OF_DOMAIN, "least_seconds": round(AGAIN_AFTER.total_seconds()),
    }  # fmt: skip
    return pages_of(request).respond(request, "recheck.html", values, cache=REVALIDATE)


async def ask_for_visit(request: Request) -> Response:
    """Queue a visit without waiting for it. Raise Problem, also when it is too early for another visit."""
    host = canonical_host(request.path_params["host"])
    await sent(request, (), _MAX_BYTES)
    status, content, _ = await pass_on(request, f"/api/verify/{host}", b"", {"wait": "0"})
    if status >= 400:
        raise as_problem(content, {})
    return RedirectResponse(pages_of(request).links.to(_RECHECK, host=host), 303)


@about_host(_REPORT)
async def report(request: Request, host: str) -> Response:
    await ask(request, "/api/services/{host}/status", host=host)  # unknown hosts have no such page
    return _form(request, host, "", "other")


async def file(request: Request) -> Response:
    """File the report, and show the secret address of its answer once."""
    host = canonical_host(request.path_params["host"])
    fields = await sent(request, ("code", "reason"), _MAX_BYTES)
    body = orjson.dumps({"domain": host, "code": fields["code"] or "other", "reason": fields["reason"]})
    status, content, _ = await pass_on(request, "/api/reports", body)
    if status == 404:
        raise as_problem(content, {})
    if status >= 400:
        return _form(request, host, fields["reason"], fields["code"], content["detail"])
    url = content["data"]["status_url"]
    token = None if url is None else url.rpartition("/")[2]
    values = {"host": host, "token": token, "message": content["data"]["message"]}
    return with_secrets(pages_of(request).respond(request, "reported.html", values))


async def state(request: Request) -> Response:
    """Return the page about a report, for everyone who has its address."""
    answer = await ask(request, "/api/reports/{token}", token=request.path_params["token"])
    values = {"report": answer["data"], "means": CODE_MEANS}
    return with_secrets(pages_of(request).respond(request, "report_state.html", values))


def _form(request: Request, host: str, written: str, code: str, fault: str | None = None) -> Response:
    values = {
        "host": host, "written": as_written(written), "code": code, "codes": CODE_MEANS, "most": REASON_CHARS,
        "fault": fault,
    }  # fmt: skip
    return pages_of(request).respond(request, "report.html", values, status=400 if fault else 200)


ROUTES: Final = (
    Route(_RECHECK, recheck),
    Route(_RECHECK, ask_for_visit, methods=["POST"]),
    Route(_REPORT, report),
    Route(_REPORT, file, methods=["POST"]),
    Route(_STATE, state),
)
