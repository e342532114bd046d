"""What anyone can request with a form: to list hosts, not to be visited, another visit, a look by the operator."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.actions.frontier.recheck import AGAIN_AFTER, MOST_OF_CLIENT_AND_DOMAIN, MOST_OF_DOMAIN
from registry.actions.frontier.submit import MOST_HOSTS
from registry.core.model.reports import CODE_MEANS, REASON_CHARS
from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, WORD
from registry.core.visiting.robots import PRODUCT
from registry.edge.problems import Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import as_problem, as_written, ask, name_written, number_of, pass_on, sent
from registry.web.rendering import canonical_host, links_of, note_doubt, respond, with_secrets
from registry.web.text import plural

# --- submit hosts: a form for one or many, and the state of each

SUBMIT: Final = "/submit"
SUBMISSION: Final = "/submissions/{id}"
ROWS: Final = 20
WAITING: Final = frozenset({"waiting", "visiting"})
"""States of a host whose visit is not finished."""

_SUBMIT_BYTES: Final = 262_144
_MAX_OFFSET: Final = 1_000
_ENTRY: Final = re.compile(r"[^\s,;]+")
_MAX_SHOWN: Final = 100
_PRIVATE: Final = "private, no-cache"


async def submit_form(request: Request) -> Response:
    return _submit_form(request, request.query_params.get("hosts", "")[:300])


async def submit(request: Request) -> Response:
    """Queue the hosts. Anyone may submit any host: the listing contains only what the host itself serves.

    Refused entries stay in the form, each with what is wrong; the accepted ones are queued.
    """
    written = (await sent(request, ("hosts",), _SUBMIT_BYTES))["hosts"]
    entries = _entries(written.replace("\0", "\ufffd"))
    if not entries:
        return _submit_form(request, written, "Write the name of at least one host.")
    if len(entries) > MOST_HOSTS:
        detail = f"These are {len(entries)} names. Write at most {MOST_HOSTS}, and submit the rest as another list."
        return _submit_form(request, written, detail)
    names = [name for _, name in entries]
    status, content, _ = await pass_on(request, "/api/submissions", orjson.dumps({"hosts": names}))
    if status >= 400:
        return _submit_form(request, written, content["detail"])
    page = links_of(request).to(SUBMISSION, id=content["data"]["id"])
    refused = {one["index"]: one for one in content["data"]["refused"]}
    faults = [index for index, one in refused.items() if one["code"] != "repeated"]
    if not faults:
        return RedirectResponse(page, 303)
    accepted = [name for index, name in enumerate(names) if index not in refused]
    if accepted:  # the form keeps the others, so that the accepted ones are not sent again
        written, lines = "\n".join(names[index] for index in faults), list(range(1, len(faults) + 1))
    else:
        lines = [entries[index][0] for index in faults]
    marked = [refused[index] | {"line": line, "name": names[index]} for index, line in zip(faults, lines, strict=True)]
    fault = f"{plural(len(marked), 'name')} cannot be accepted. Each is explained below."
    return _submit_form(request, written, fault, marked, accepted, page)


def _entries(written: str) -> list[tuple[int, str]]:
    """Return the names, each with the number of its line."""
    lines = enumerate(written.split("\n"), 1)
    return [(number, found[0]) for number, line in lines for found in _ENTRY.finditer(line)]


def _submit_form(
    request: Request,
    written: str,
    fault: str | None = None,
    marked: Sequence[Mapping[str, Any]] = (),
    accepted: Sequence[str] = (),
    page: str | None = None,
) -> Response:
    """`marked`: refused entries. `accepted`: the others, whose states are shown at `page`."""
    values = {
        "written": as_written(written), "fault": fault, "most": MOST_HOSTS, "marked": marked, "accepted": accepted,
        "page": page, "most_shown": _MAX_SHOWN,
    }  # fmt: skip
    return respond(request, "submit.html", values, status=400 if fault else 200)


async def submission(request: Request) -> Response:
    links, list_id, offset = links_of(request), request.path_params["id"], number_of(request, "offset", 0, _MAX_OFFSET)
    query = {"limit": str(ROWS), "offset": str(offset)}
    data: dict[str, Any] = (await ask(request, "/api/submissions/{id}", query, id=list_id))["data"]
    counts, more = data["counts"], data["next_offset"]
    accepted = sum(count for name, count in counts.items() if name != "refused")
    values = {
        "id": list_id,
        "list": data,
        "accepted": accepted,
        "is_settled": data["is_complete"] and not (counts.keys() & WAITING),
        "all_good": accepted == data["done"] == counts.get("listed", 0) and not data["refused"],
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
    """Request a check of the opt-out, or of its end. Anyone may: only what the site itself declares has an effect.

    To opt out, the name is written twice, because everything stored about the host is deleted.
    """
    fields = await sent(request, ("host", "confirm", "undo"), _OPT_OUT_BYTES)
    undo, host, again = fields["undo"] == "yes", name_written(fields["host"]), name_written(fields["confirm"])
    wanted = {"domain": host, "undo": undo} if undo else {"domain": host, "undo": undo, "confirm": again}
    status, content, _ = await pass_on(request, "/api/opt-outs", orjson.dumps(wanted))
    if status < 400:
        return RedirectResponse(links_of(request).to(OPT_OUT_STATE, host=content["data"]["domain"]), 303)
    if content.get("code") != "not_confirmed":
        return _opt_out_form(request, fields["host"], content["detail"], "return" if undo else "host")
    detail = "Write the same name as above once more. Nothing was changed." if host else "Write the name of your host."
    return _opt_out_form(request, fields["host"], detail, "confirm" if host else "host")


def _opt_out_form(request: Request, host: str, fault: str | None = None, field: str = "host") -> Response:
    """`field`: the field with the fault."""
    values = {"written": as_written(host), "fault": fault, "faults": {field: fault}, **_PROOFS}
    return respond(request, "opt_out.html", values, status=400 if fault else 200)


async def opt_out_state(request: Request, host: str) -> Response:
    answer = await ask(request, "/api/opt-outs/{host}", host=host)
    poll = links_of(request).to("/api/opt-outs/{host}", host=host)
    return respond(request, "opt_out_state.html", {"state": answer["data"], "poll": poll, **_PROOFS}, cache=REVALIDATE)


# --- another visit to a known host

RECHECK: Final = "/s/{host}/recheck"
_FORM_BYTES: Final = 16_384
_LIST_ID: Final = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")


async def recheck_form(request: Request, host: str) -> Response:
    """Return the page that shows whether a visit is queued, with the button that requests one."""
    return await _recheck_form(request, host)


async def _recheck_form(request: Request, host: str, refusal: Problem | None = None) -> Response:
    status = (await ask(request, "/api/services/{host}/status", host=host))["data"]
    values = {
        "host": host, "host_status": status, "most_of_client": MOST_OF_CLIENT_AND_DOMAIN,
        "most_of_domain": MOST_OF_DOMAIN, "least_seconds": round(AGAIN_AFTER.total_seconds()),
        "fault": refusal and refusal.detail, "wait": refusal and refusal.headers.get("retry-after"),
    }  # fmt: skip
    if refusal is None:
        return respond(request, "recheck.html", values, cache=REVALIDATE)
    return respond(request, "recheck.html", values, status=refusal.kind.status, headers=refusal.headers)


async def recheck(request: Request) -> Response:
    """Queue a visit without waiting for it. When it is too early for another visit, say until when."""
    host = canonical_host(request)
    fields = await sent(request, ("list",), _FORM_BYTES)
    try:
        status, content, _ = await pass_on(request, f"/api/verify/{host}", b"", {"wait": "0"})
    except Problem as problem:
        if "code" not in problem.members:  # the limit of requests, not one of visits
            raise
        return await _recheck_form(request, host, problem)
    if status >= 400:
        raise as_problem(content)
    if _LIST_ID.fullmatch(fields["list"]):
        return RedirectResponse(links_of(request).to(SUBMISSION, id=fields["list"]), 303)
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
