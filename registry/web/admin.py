"""The area of the registry's operators: what needs them, queue, hosts, reports, holds, jobs, lists, keys, audit log.

A session (`registry.web.sessions`) keeps an API key. The pages show what this key may see, and only the forms for what
it may do; the API decides both. After a decision the browser is redirected to its page, which says what happened; a
refused form is shown again with its words and what was written.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.core.access.audit import ACTOR_KINDS, SUBJECTS
from registry.core.access.tokens import KEY, MOST_NAME_CHARS, SCOPES, Token, parse_token
from registry.core.model.reports import ANSWER_CHARS, CODE_MEANS, OPEN_STATES, STATES
from registry.core.names.domains import InvalidName, host_syntax
from registry.edge.problems import (
    BAD_REQUEST,
    FORBIDDEN,
    INVALID_PARAMETER,
    NOT_FOUND,
    UNAUTHORIZED,
    UNKNOWN_SERVICE,
    Problem,
)
from registry.edge.requests import registry_of
from registry.edge.responses import path_segment
from registry.web.asking import (
    as_problem,
    as_written,
    ask,
    host_written,
    name_written,
    number_of,
    pass_on,
    refusal_words,
    sent,
    try_on,
)
from registry.web.rendering import links_of, respond, with_secrets
from registry.web.sessions import NOT_SIGNED_IN, SECONDS, SIGNED_IN, SIGNED_OUT, Session

AREA: Final = "/admin"
QUEUE: Final = "/admin/queue"
HOSTS: Final = "/admin/hosts"
REPORTS: Final = "/admin/reports"
HOLDS: Final = "/admin/holds"
JOBS: Final = "/admin/jobs"
SEEDS: Final = "/admin/seeds"
KEYS: Final = "/admin/keys"
AUDIT: Final = "/admin/audit"

SESSION: Final = Session("waypost-admin", KEY, AREA)
ROWS: Final = 20
REASON_CHARS: Final = 500

_MAX_BYTES: Final = 16_384
_MAX_PAGE: Final = 10
_REPORTS_COUNTED: Final = 100
_NAVIGATION: Final = (
    (AREA, "Overview", None), (QUEUE, "Queue", "queue"), (HOSTS, "Hosts", None), (REPORTS, "Reports", "reports"),
    (HOLDS, "Holds", "blocks"), (JOBS, "Jobs", "queue"), (SEEDS, "Lists", "queue"), (KEYS, "Keys", "keys"),
    (AUDIT, "Audit log", "audit"),
)  # fmt: skip
"""Path and title of each page, with the scope that shows it; None: every key."""

_FIELDS: Final = (
    "action", "token", "next", "row", "host", "reason", "state", "answer", "name", "days",
    *(f"scope-{scope}" for scope in SCOPES),
)  # fmt: skip
_TEXTS: Final = ("reason", "answer", "name")
SCOPE_MEANS: Final[Mapping[str, str]] = {
    "read": "look at everything, change nothing",
    "queue": "look at the queue, jobs and lists",
    "visits": "have hosts visited next",
    "reports": "read and answer reports",
    "blocks": "block and quarantine hosts",
    "audit": "read the audit log",
    "keys": "make keys and revoke them",
}
_HOST_FORMS: Final = ("visit", "hold")
"""Rows of the page of a host, besides its holds."""

_STATES: Final = {"open": ",".join(OPEN_STATES), "decided": ",".join(sorted(set(STATES) - set(OPEN_STATES)))}
_NOT_VALID: Final = "This key is not valid: it was revoked, or it has expired."
_NO_KEYS: Final = (
    "The admin area is off, because no operator has a valid key. On the registry's machine, the command waypost admin "
    "keys add makes one."
)
_DONE: Final[Mapping[str, str]] = {
    "sign-in": SIGNED_IN,
    "visit": "A visit is queued, before all others. It takes up to a minute.",
    "block": "The block is in effect.",
    "quarantine": "The quarantine is in effect.",
    "unblock": "The block has ended. The host is visited next.",
    "release": "The quarantine has ended.",
    "resolve": "The report is in its new state. Who filed it can read the answer.",
    "revoke-key": "The key is revoked.",
    "unchanged": "It was so before; nothing changed.",
}
_SIGNED_OUT: Final[Mapping[str, str]] = {
    "sign-out": SIGNED_OUT,
    "own-key": "You revoked the key of this session, so you are signed out.",
    "sign-in": NOT_SIGNED_IN,
}


@dataclass(frozen=True, slots=True)
class Operator:
    """Who is signed in: the token, and the key as the API describes it."""

    token: Token
    key: Mapping[str, Any]

    def may(self, scope: str) -> bool:
        return scope in self.key["scopes"]

    def sees(self, scope: str | None) -> bool:
        return scope is None or self.may(scope) or self.may("read")


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a form was refused, with the field `at` which that is said. `row`: which of several forms of a page."""

    at: str
    words: str
    status: int = 400
    row: str = ""
    written: Mapping[str, str] = field(default_factory=dict)


Page = Callable[[Request, Operator], Awaitable[Mapping[str, Any]]]


class Form(NamedTuple):
    """What a form does. `paths`: its pages. `asks`: returns the refusal or the answer of the API."""

    paths: tuple[str, ...]
    scope: str
    asks: "Callable[[Request, Operator, Mapping[str, str]], Awaitable[Refusal | Any]]"


async def show(request: Request) -> Response:
    """Return a page of the area, or the form that signs in. Raise Problem where no key is valid (404)."""
    operator = await _signed_in(request)
    return operator if isinstance(operator, Response) else await _page(request, operator)


async def decide(request: Request) -> Response:
    """Do what a form says: sign in, sign out, or a decision."""
    fields = await sent(request, _FIELDS, _MAX_BYTES)
    fields = {name: value.replace("\0", "\ufffd") for name, value in fields.items()}
    chosen = fields["action"]
    if chosen == "sign-in":
        return await _sign_in(request, fields)
    if chosen == "sign-out":
        return SESSION.end(request, _see(request, AREA, {"done": "sign-out"}))
    form = _FORMS.get(chosen)
    if form is None or request.scope["path"] not in form.paths:
        raise Problem(BAD_REQUEST, "An operator cannot choose that.")
    written = next((fields[name] for name in _TEXTS if fields[name]), "")
    operator = await _signed_in(request, written)
    if isinstance(operator, Response):
        return operator
    if not operator.may(form.scope):
        refusal = Refusal("", f"Your key may not do this: it lacks the scope “{form.scope}”.", FORBIDDEN.status)
        return await _page(request, operator, refusal)
    found = await form.asks(request, operator, fields)
    if isinstance(found, Refusal):
        refused = Refusal(found.at, found.words, found.status, fields["row"], fields)
        return await _page(request, operator, refused)
    if chosen == "make-key":  # not by a redirect: the key is given out once
        return await _page(request, operator, made=found)
    if chosen == "revoke-key" and found["id"] == operator.key["id"]:
        return SESSION.end(request, _see(request, AREA, {"done": "own-key"}))
    done = chosen if found.get("changed", True) else "unchanged"
    kept = {name: request.query_params[name] for name in ("host", "state") if name in request.query_params}
    return _see(request, request.scope["path"], {**kept, "done": done})


# --- signing in


async def _signed_in(request: Request, written: str = "") -> Operator | Response:
    """Return who is signed in, or the page to answer with. Raise Problem."""
    token = SESSION.token(request)
    if token is None:
        return await _signed_out(request, _SIGNED_OUT.get(request.query_params.get("done", ""), ""), written=written)
    status, content, _ = await pass_on(request, "/api/admin/key", b"", method="GET", token=token.text)
    if status == UNAUTHORIZED.status:
        return SESSION.end(request, await _signed_out(request, _NOT_VALID, written=written))
    if status >= 400:
        raise as_problem(content)
    return Operator(token, content["data"])


async def _sign_in(request: Request, fields: Mapping[str, str]) -> Response:
    token = parse_token(fields["token"].strip(), KEY)
    if token is None:
        return await _signed_out(request, "", "This is no key of an operator. One begins with wp_key_.")
    status, content, _ = await pass_on(request, "/api/admin/key", b"", method="GET", token=token.text)
    if status == UNAUTHORIZED.status:
        return await _signed_out(request, "", _NOT_VALID)
    if status >= 400:
        raise as_problem(content)
    path = fields["next"] if fields["next"] in _PAGES else AREA
    return SESSION.begin(request, token, links_of(request).to(path, {"done": "sign-in"}))


async def _signed_out(request: Request, said: str, fault: str | None = None, *, written: str = "") -> Response:
    """Return the form that signs in. `written`: what was not saved. Raise Problem where no key is valid."""
    if not await registry_of(request).access.has_keys():  # guard: admin-off
        raise Problem(NOT_FOUND, _NO_KEYS)
    path = request.scope["path"]
    values = {
        "said": said, "fault": fault, "written": as_written(written), "hours": SECONDS // 3_600,
        "next": path if path in _PAGES else AREA,
    }  # fmt: skip
    return with_secrets(respond(request, "admin_sign_in.html", values, status=400 if fault else 200))


# --- the frame of all pages


async def _page(
    request: Request, operator: Operator, refusal: Refusal | None = None, *, made: Mapping[str, Any] | None = None
) -> Response:
    """Return the page of the address. `made`: a key that was just made."""
    path = request.scope["path"]
    template, scope, page = _PAGES[path]
    if is_denied := not operator.sees(scope):
        template, refusal = "admin_denied.html", None
    shown: Mapping[str, Any] = {"scope": scope} if is_denied else await page(request, operator)
    written = refusal.written if refusal else {}
    query = {name: value for name, value in request.query_params.items() if name != "done"}
    is_stray = refusal is not None and (not refusal.at or (refusal.row and refusal.row not in shown.get("ids", ())))
    status = FORBIDDEN.status if is_denied else refusal.status if refusal else 400 if shown.get("fault") else 200
    values = {
        **shown,
        "operator": operator.key,
        "may": operator.may,
        "tabs": [(address, title) for address, title, needed in _NAVIGATION if operator.sees(needed)],
        "here": links_of(request).to(path) + (f"?{urlencode(query)}" if query else ""),
        "said": "" if refusal else _DONE.get(request.query_params.get("done", ""), ""),
        "refusal": refusal,
        "stray": refusal.words if refusal and is_stray else "",
        "row": refusal.row if refusal else "",
        "written": {name: as_written(written.get(name, "")) for name in _FIELDS if name != "token"},
        "made": made,
        "is_first": "cursor" not in query and "page" not in query,
        "first": links_of(request).to(path, {name: query[name] for name in query if name not in ("cursor", "page")}),
        "reason_chars": REASON_CHARS,
    }
    return with_secrets(respond(request, template, values, status=status))


def _see(request: Request, path: str, query: Mapping[str, str]) -> Response:
    return with_secrets(RedirectResponse(links_of(request).to(path, query), 303))


async def _get(request: Request, operator: Operator, path: str, query: Mapping[str, str] | None = None) -> Any:
    """Return what the API shows the key. Raise Problem."""
    status, content, _ = await pass_on(request, path, b"", query, method="GET", token=operator.token.text)
    if status == UNAUTHORIZED.status:
        raise Problem(UNAUTHORIZED, _NOT_VALID)
    if status >= 400:
        raise as_problem(content)
    return content["data"]


def _following(request: Request, cursor: str | None, **query: str) -> str | None:
    """Return the link to the next page of a list; None if this is the last one."""
    return None if cursor is None else links_of(request).to(request.scope["path"], {**query, "cursor": cursor})


def _paged(request: Request, **query: str) -> dict[str, str]:
    """Return the parameters of a page of a list, with its cursor if the address has one."""
    cursor = request.query_params.get("cursor")
    return {"limit": str(ROWS), **query, **({} if cursor is None else {"cursor": cursor})}


def _pages(request: Request, rows: list[Any], **query: str) -> Mapping[str, Any]:
    """Return one page of a short list, with the link to the next."""
    page = number_of(request, "page", 1, _MAX_PAGE)
    more = {**query, "page": page + 1} if len(rows) > page * ROWS else None
    following = None if more is None else links_of(request).to(request.scope["path"], more)
    return {"rows": rows[(page - 1) * ROWS : page * ROWS], "next": following}


def _choice(request: Request, name: str, allowed: "Mapping[str, Any] | tuple[str, ...]", default: str) -> str:
    """Return a value of the address. Raise Problem for another one than those allowed."""
    chosen = request.query_params.get(name) or default
    if chosen not in allowed and chosen != default:
        raise Problem(INVALID_PARAMETER, "There is no such choice on this page.")
    return chosen


# --- what the pages show


async def _overview(request: Request, operator: Operator) -> Mapping[str, Any]:
    operation, counted = await asyncio.gather(ask(request, "/api/stats/operation"), ask(request, "/api/stats"))
    load, filed = None, None
    if operator.sees("queue"):
        load = await _get(request, operator, "/api/admin/queue")
    if operator.sees("reports"):
        filed = await _get(request, operator, "/api/admin/reports", {"limit": str(_REPORTS_COUNTED)})
    return {
        "state": operation["data"],
        "services": counted["data"]["services"],
        "visited": sum(operation["data"]["visited_last_day"].values()),
        "load": load,
        "reports": None if filed is None else len(filed["reports"]),
        "more_reports": filed is not None and filed["cursor"] is not None,
    }


async def _queue(request: Request, operator: Operator) -> Mapping[str, Any]:
    chosen = _choice(request, "list", ("due", "leased", "failing"), "due")
    load = await _get(request, operator, "/api/admin/queue")
    if chosen == "failing":
        found = (await _get(request, operator, "/api/admin/queue/failing"))["hosts"]
        return {"load": load, "chosen": chosen, **_pages(request, found, list=chosen)}
    data = await _get(request, operator, "/api/admin/queue/domains", _paged(request, state=chosen))
    following = _following(request, data["cursor"], list=chosen)
    return {"load": load, "chosen": chosen, "rows": data["domains"], "next": following}


async def _hosts(request: Request, operator: Operator) -> Mapping[str, Any]:
    asked = request.query_params.get("host", "").strip()[:300]
    values: dict[str, Any] = {
        "asked": as_written(asked),
        "host": None,
        "fault": "",
        "ledger": None,
        "holds": [],
        "ids": {*_HOST_FORMS},
    }
    if not asked:
        return values
    try:
        host = host_written(asked)
    except InvalidName as refusal:
        return {**values, "fault": f"This is no host name: {refusal}."}
    try:
        ledger = (await ask(request, "/api/services/{host}/crawl", {"visits": "5"}, host=host))["data"]
    except Problem as problem:
        if problem.kind.status != NOT_FOUND.status:
            raise
        ledger = None
    if operator.sees("blocks"):
        values["holds"] = (await _get(request, operator, "/api/admin/blocks", {"host": host}))["blocks"]
        values["ids"] |= _hold_ids(values["holds"])
    return {**values, "host": host, "ledger": ledger}


async def _reports(request: Request, operator: Operator) -> Mapping[str, Any]:
    chosen = _choice(request, "state", _STATES, "open")
    data = await _get(request, operator, "/api/admin/reports", _paged(request, state=_STATES[chosen]))
    return {
        "reports": data["reports"],
        "ids": {one["id"] for one in data["reports"]},
        "chosen": chosen,
        "next": _following(request, data["cursor"], state=chosen),
        "codes": CODE_MEANS,
        "answer_chars": ANSWER_CHARS,
    }


async def _holds(request: Request, operator: Operator) -> Mapping[str, Any]:
    data = await _get(request, operator, "/api/admin/blocks", _paged(request))
    return {"holds": data["blocks"], "ids": _hold_ids(data["blocks"]), "next": _following(request, data["cursor"])}


def _hold_ids(holds: list[Any]) -> set[str]:
    return {f"{one['kind']}-{one['domain']}" for one in holds}


async def _jobs(request: Request, operator: Operator) -> Mapping[str, Any]:
    return {"jobs": await _get(request, operator, "/api/admin/jobs")}


async def _seeds(request: Request, operator: Operator) -> Mapping[str, Any]:
    return _pages(request, (await _get(request, operator, "/api/admin/seeds"))["lists"])


async def _keys(request: Request, operator: Operator) -> Mapping[str, Any]:
    data = await _get(request, operator, "/api/admin/keys", _paged(request))
    return {
        "keys": data["keys"],
        "ids": {one["id"] for one in data["keys"]},
        "next": _following(request, data["cursor"]),
        "scopes": [(scope, means) for scope, means in SCOPE_MEANS.items() if operator.may(scope)],
        "name_chars": MOST_NAME_CHARS,
    }


async def _audit(request: Request, operator: Operator) -> Mapping[str, Any]:
    given = {name: request.query_params.get(name, "").strip()[:300] for name in ("host", "subject", "actor")}
    query = {name: value for name, value in given.items() if value}
    values: dict[str, Any] = {
        "asked": {name: as_written(value) for name, value in given.items()}, "fault": "", "entries": [], "next": None,
        "subjects": SUBJECTS, "actors": list(dict.fromkeys([*ACTOR_KINDS, *filter(None, [given["actor"]])])),
    }  # fmt: skip
    try:
        data = await _get(request, operator, "/api/admin/audit", _paged(request, **query))
    except Problem as problem:
        if problem.kind is not UNKNOWN_SERVICE:
            raise
        return {**values, "fault": "This is no host name."}
    return {**values, "entries": data["entries"], "next": _following(request, data["cursor"], **query)}


_PAGES: Final[Mapping[str, tuple[str, str | None, Page]]] = {
    AREA: ("admin.html", None, _overview),
    QUEUE: ("admin_queue.html", "queue", _queue),
    HOSTS: ("admin_hosts.html", None, _hosts),
    REPORTS: ("admin_reports.html", "reports", _reports),
    HOLDS: ("admin_holds.html", "blocks", _holds),
    JOBS: ("admin_jobs.html", "queue", _jobs),
    SEEDS: ("admin_seeds.html", "queue", _seeds),
    KEYS: ("admin_keys.html", "keys", _keys),
    AUDIT: ("admin_audit.html", "audit", _audit),
}
PATHS: Final = tuple(_PAGES)
DECIDING: Final = (AREA, HOSTS, REPORTS, HOLDS, KEYS)
"""Pages with forms."""


# --- what the forms do


async def _do(
    request: Request, operator: Operator, first: str, path: str, body: Mapping[str, Any] | None = None,
    query: Mapping[str, str] | None = None, *, method: str = "POST",
) -> Any:  # fmt: skip
    """Return what the API answers, or the refusal at the field that it names, by default at the `first`."""
    raw = b"" if body is None else orjson.dumps(body)
    status, content = await try_on(request, path, raw, query, method=method, token=operator.token.text)
    if status < 400:
        return content["data"]
    words = refusal_words(content)
    named, _, rest = words.partition(": ")
    if named in _FIELDS and rest:
        return Refusal(named, f"{rest[:1].upper()}{rest[1:]}", status)
    return Refusal(first, words, status)


def _unexplained(fields: Mapping[str, str], name: str = "reason", most: int = REASON_CHARS) -> Refusal | None:
    """Return the refusal of a decision without a reason, or with a reason that is too long."""
    text = fields[name].strip()
    if not text:  # guard: admin-reason
        return Refusal(name, "Write why: the audit log keeps it." if name == "reason" else "Write an answer.")
    if len(text) > most:
        return Refusal(name, f"At most {most} characters; these are {len(text)}.")
    return None


def _host_and_reason(fields: Mapping[str, str]) -> tuple[str, str] | Refusal:
    try:
        host = host_syntax(name_written(fields["host"])[:300])
    except InvalidName as refusal:
        return Refusal("host", f"This is no host name: {refusal}." if fields["host"].strip() else "Write a host.")
    return _unexplained(fields) or (host, fields["reason"].strip())


async def _visit(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    if isinstance(given := _host_and_reason(fields), Refusal):
        return given
    body = {"domain": given[0], "reason": given[1]}
    return await _do(request, operator, "reason", "/api/admin/visits", body)


async def _hold(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    if isinstance(given := _host_and_reason(fields), Refusal):
        return given
    body = {"domain": given[0], "kind": fields["action"], "reason": given[1]}
    return await _do(request, operator, "host", "/api/admin/blocks", body)


async def _lift(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    if isinstance(given := _host_and_reason(fields), Refusal):
        return given
    query = {"kind": "block" if fields["action"] == "unblock" else "quarantine", "reason": given[1]}
    path = f"/api/admin/blocks/{path_segment(given[0])}"
    return await _do(request, operator, "reason", path, None, query, method="DELETE")


async def _resolve(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    state, answer = fields["state"], fields["answer"].strip()
    if state not in STATES:
        return Refusal("state", "Choose what becomes of the report.")
    if (refusal := _unexplained(fields, "answer", ANSWER_CHARS)) and (answer or state not in OPEN_STATES):
        return refusal
    path = f"/api/admin/reports/{path_segment(fields['row'])}"
    return await _do(request, operator, "answer", path, {"state": state, "answer": answer})


async def _make_key(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    days, scopes = fields["days"].strip(), [scope for scope in SCOPES if fields[f"scope-{scope}"]]
    if not fields["name"].strip():
        return Refusal("name", "Write whose key it is, or what for.")
    if not scopes:
        return Refusal("scopes", "Choose what the key may do.")
    if days and not (days.isascii() and days.isdigit() and 0 < int(days[:9]) <= 3_650):
        return Refusal("days", "Write a number of days, 1 to 3650, or nothing.")
    if refusal := _unexplained(fields):
        return refusal
    body: dict[str, Any] = {"name": fields["name"].strip(), "scopes": scopes, "reason": fields["reason"].strip()}
    found = await _do(request, operator, "name", "/api/admin/keys", body | ({"days": int(days)} if days else {}))
    if isinstance(found, Refusal) and found.status == FORBIDDEN.status:  # it can do, or lasts, more than this one
        return Refusal("days" if "expires" in found.words else "scopes", found.words, found.status)
    return found


async def _revoke_key(request: Request, operator: Operator, fields: Mapping[str, str]) -> Any:
    if refusal := _unexplained(fields):
        return refusal
    path = f"/api/admin/keys/{path_segment(fields['row'])}"
    return await _do(request, operator, "reason", path, None, {"reason": fields["reason"].strip()}, method="DELETE")


_FORMS: Final[Mapping[str, Form]] = {
    "visit": Form((HOSTS,), "visits", _visit),
    "block": Form((HOLDS, HOSTS), "blocks", _hold),
    "quarantine": Form((HOLDS, HOSTS), "blocks", _hold),
    "unblock": Form((HOLDS, HOSTS), "blocks", _lift),
    "release": Form((HOLDS, HOSTS), "blocks", _lift),
    "resolve": Form((REPORTS,), "reports", _resolve),
    "make-key": Form((KEYS,), "keys", _make_key),
    "revoke-key": Form((KEYS,), "keys", _revoke_key),
}
