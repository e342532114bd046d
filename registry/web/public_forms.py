"""What anyone can request with a form: to list hosts, not to be visited, another visit, a look by the operator."""

import re
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.actions.frontier.recheck import AGAIN_AFTER, MOST_OF_CLIENT_AND_DOMAIN, MOST_OF_DOMAIN
from registry.actions.frontier.submit import MOST_HOSTS
from registry.core.model.reports import CODE_MEANS, REASON_CHARS
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, WORD
from registry.core.visiting.robots import PRODUCT
from registry.edge.responses import REVALIDATE
from registry.web.asking import as_problem, as_written, ask, name_written, number_of, pass_on, sent
from registry.web.rendering import canonical_host, links_of, note_doubt, respond, with_secrets

# --- submit hosts: a form for one or many, and the state of each

SUBMIT: Final = "/submit"
SUBMISSION: Final = "/submissions/{id}"
ROWS: Final = 20
_SUBMIT_BYTES: Final = 262_144
_MAX_OFFSET: Final = 1_000
_SEPARATORS: Final = re.compile(r"[\s,;]+")
_PRIVATE: Final = "private, no-cache"

SETTLED: Final = frozenset({"listed", "not_listed", "opted_out", "dropped"})
"""States of a host that do not change by themselves soon."""


async def submit_form(request: Request) -> Response:
    return _submit_form(request, request.query_params.get("hosts", "")[:300])


async def submit(request: Request) -> Response:
    """Queue the hosts. Anyone may submit any host: the listing contains only what the host itself serves."""
    written = (await sent(request, ("hosts",), _SUBMIT_BYTES))["hosts"]
    hosts = [name for name in _SEPARATORS.split(name_written(written)) if name]
    if not hosts:
        return _submit_form(request, written, "Write the name of at least one host.")
    if len(hosts) > MOST_HOSTS:
        return _submit_form(request, written, f"Write the names of 1 to {MOST_HOSTS} hosts.")
    status, content, _ = await pass_on(request, "/api/submissions", orjson.dumps({"hosts": hosts}))
    if status >= 400:
        return _submit_form(request, written, content["detail"])
    return RedirectResponse(links_of(request).to(SUBMISSION, id=content["data"]["id"]), 303)


def _submit_form(request: Request, written: str, fault: str | None = None) -> Response:
    values = {"written": as_written(written), "fault": fault, "most": MOST_HOSTS}
    return respond(request, "submit.html", values, status=400 if fault else 200)


async def submission(request: Request) -> Response:
    links, list_id, offset = links_of(request), request.path_params["id"], number_of(request, "offset", 0, _MAX_OFFSET)
    query = {"limit": str(ROWS), "offset": str(offset)}
    data: dict[str, Any] = (await ask(request, "/api/submissions/{id}", query, id=list_id))["data"]
    counts, more = data["counts"], data["next_offset"]
    values = {
        "id": list_id,
        "list": data,
        "accepted": sum(count for name, count in counts.items() if name != "refused"),
        "done": sum(count for name, count in counts.items() if name in SETTLED),
        "is_settled": data["is_complete"] and all(name in SETTLED | {"refused"} for name in counts),
        "first": offset + 1,
        "poll": links.to("/api/submissions/{id}", query, id=list_id),
        "before": links.to(SUBMISSION, {"offset": max(0, offset - ROWS)}, id=list_id) if offset else None,
        "next": links.to(SUBMISSION, {"offset": more}, id=list_id) if more else None,
    }
    return respond(request, "submission.html", values, cache=_PRIVATE)


# --- opt out: the two proofs, a form that requests a check, and the state of a host

OPT_OUT: Final = "/opt-out"
OPT_OUT_STATE: Final = "/opt-out/{host}"
_OPT_OUT_BYTES: Final = 8_192
_PROOFS: Final = {"file_path": FILE_PATH, "label": TXT_LABEL, "word": WORD, "product": PRODUCT}


async def opt_out_form(request: Request) -> Response:
    return _opt_out_form(request, request.query_params.get("host", "")[:300])


async def opt_out(request: Request) -> Response:
    """Request a check of the opt-out, or of its end. Anyone may: only what the site itself declares has an effect."""
    fields = await sent(request, ("host", "undo"), _OPT_OUT_BYTES)
    body = orjson.dumps({"domain": name_written(fields["host"]), "undo": fields["undo"] == "yes"})
    status, content, _ = await pass_on(request, "/api/opt-outs", body)
    if status >= 400:
        return _opt_out_form(request, fields["host"], content["detail"])
    return RedirectResponse(links_of(request).to(OPT_OUT_STATE, host=content["data"]["domain"]), 303)


def _opt_out_form(request: Request, host: str, fault: str | None = None) -> Response:
    values = {"written": as_written(host), "fault": fault, **_PROOFS}
    return respond(request, "opt_out.html", values, status=400 if fault else 200)


async def opt_out_state(request: Request, host: str) -> Response:
    answer = await ask(request, "/api/opt-outs/{host}", host=host)
    return respond(request, "opt_out_state.html", {"state": answer["data"], **_PROOFS}, cache=REVALIDATE)


# --- another visit to a listed host

RECHECK: Final = "/s/{host}/recheck"
_FORM_BYTES: Final = 16_384


async def recheck_form(request: Request, host: str) -> Response:
    """Return the page that shows whether a visit is queued, with the button that requests one."""
    status = (await ask(request, "/api/services/{host}/status", host=host))["data"]
    values = {
        "host": host, "host_status": status, "most_of_client": MOST_OF_CLIENT_AND_DOMAIN,
        "most_of_domain": MOST_OF_DOMAIN, "least_seconds": round(AGAIN_AFTER.total_seconds()),
    }  # fmt: skip
    return respond(request, "recheck.html", values, cache=REVALIDATE)


async def recheck(request: Request) -> Response:
    """Queue a visit without waiting for it. Raise Problem, also when it is too early for another visit."""
    host = canonical_host(request)
    await sent(request, (), _FORM_BYTES)
    status, content, _ = await pass_on(request, f"/api/verify/{host}", b"", {"wait": "0"})
    if status >= 400:
        raise as_problem(content)
    return RedirectResponse(links_of(request).to(RECHECK, host=host), 303)


# --- a report about a listed host


async def report_form(request: Request, host: str) -> Response:
    await ask(request, "/api/services/{host}/status", host=host)  # unknown hosts have no such page
    return _report_form(request, host, "", "other")


async def report(request: Request) -> Response:
    """File the report, and show the secret address of its answer once."""
    host = canonical_host(request)
    fields = await sent(request, ("code", "reason"), _FORM_BYTES)
    body = orjson.dumps({"domain": host, "code": fields["code"] or "other", "reason": fields["reason"]})
    status, content, _ = await pass_on(request, "/api/reports", body)
    if status == 404:
        raise as_problem(content)
    if status >= 400:
        return _report_form(request, host, fields["reason"], fields["code"], content["detail"])
    url = content["data"]["status_url"]
    token = None if url is None else url.rpartition("/")[2]
    values = {"host": host, "token": token, "message": content["data"]["message"]}
    return with_secrets(respond(request, "reported.html", values))


def _report_form(request: Request, host: str, written: str, code: str, fault: str | None = None) -> Response:
    values = {
        "host": host, "written": as_written(written), "code": code, "codes": CODE_MEANS, "most": REASON_CHARS,
        "fault": fault,
    }  # fmt: skip
    return respond(request, "report.html", values, status=400 if fault else 200)


async def report_state(request: Request) -> Response:
    """Return the page about a report, for everyone who has its address."""
    answer = await ask(request, "/api/reports/{token}", token=request.path_params["token"])
    await note_doubt(request, answer["data"]["domain"])
    return with_secrets(respond(request, "report_state.html", {"report": answer["data"], "means": CODE_MEANS}))
