"""The page of an owner: the state of the entry, and one small form for each decision.

A session (`registry.web.sessions`) keeps the owner's token. After a decision the browser is redirected to the page,
which says in one line what happened; a refused form is shown again with its words and what was written.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.actions.ownership.owning import NOTE_CHARS
from registry.core.access.claims import OWNER
from registry.core.access.tokens import Token, parse_token
from registry.core.changes.kinds import PATTERNS
from registry.core.names.domains import is_spelling
from registry.core.webhooks import EVENTS
from registry.edge.problems import BAD_REQUEST, FORBIDDEN, RATE_LIMITED, UNAUTHORIZED, Problem
from registry.web import text
from registry.web.asking import as_problem, as_written, ask, ask_about, name_written, refusal_words, sent, try_on
from registry.web.rendering import canonical_host, links_of, respond, with_secrets
from registry.web.sessions import NOT_SIGNED_IN, SECONDS, SIGNED_IN, SIGNED_OUT, Session
from registry.wiring import utc_now

PATH: Final = "/owner/{host}"
OWNER_PAGE: Final = Session("waypost-owner", OWNER, PATH)
TEST_SECONDS: Final = 8
"""How long a page waits until a worker has sent a test message."""

_MAX_BYTES: Final = 16_384
_FIELDS: Final = ("action", "token", "note", "canonical", "consent", "url", "types", "receiver_token", "confirm")
_TEXTS: Final = ("note", "canonical", "url")
_EVERY_EVENT: Final = "all"
_RECENT: Final = timedelta(minutes=2)  # an older test message was requested before


class Decision(NamedTuple):
    """What an owner can choose. `done`: the line after it, empty where the page makes one from the state. `fields`: of
    its form; a refusal is shown at the first."""

    method: str
    path: str
    done: str
    fields: tuple[str, ...] = ()


_DECISIONS: Final[Mapping[str, Decision]] = {
    "recheck": Decision("POST", "/recheck", "A visit is queued. It takes up to a minute."),
    "hide": Decision("POST", "/hide", "It is hidden: visited as before, and in no answer."),
    "show": Decision("POST", "/show", "It is not hidden any more."),
    "note": Decision("PUT", "/note", "", ("note",)),
    "canonical": Decision("PUT", "/canonical", "", ("canonical", "consent")),
    "webhook": Decision("PUT", "/webhook", "", ("url", "types", "receiver_token")),
    "test": Decision("POST", "/webhook/test", ""),
    "no-webhook": Decision("DELETE", "/webhook", "The webhook is deleted. Nothing more is sent."),
    "no-calls": Decision("DELETE", "/call-checks", "Its addresses for calls are not checked any more."),
    "calls": Decision("POST", "/call-checks", "Its addresses for calls are checked with the next visits."),
    "rotate": Decision("POST", "/token", "The token was replaced. The old one is no longer valid. Keep the new one:"),
    "give-up": Decision("DELETE", "/token", "You gave the ownership up, and what you had set has ended."),
    "opt-out": Decision("POST", "/opt-out", "", ("confirm",)),
    "list-again": Decision("POST", "/opt-out", "The opt-out has ended. A visit is queued; it takes up to a minute."),
}
_LEAVING: Final = ("give-up", "opt-out")
_NOT_VALID: Final = "This token is not valid: it was replaced, or the ownership has ended."
_NOT_OWNER: Final = (UNAUTHORIZED.status, FORBIDDEN.status)


async def owner(request: Request, host: str) -> Response:
    """Return the page of the owner who is signed in, or the form that signs in."""
    done, token = request.query_params.get("done", ""), OWNER_PAGE.token(request)
    if token is None:
        return await _signed_out(request, host, _said_without_session(done))
    status, content = await _answer(request, host, token, "", method="GET")
    if status in _NOT_OWNER:
        return OWNER_PAGE.end(request, await _signed_out(request, host, _NOT_VALID), host=host)
    if status >= 400:
        raise as_problem(content)
    return await _page(request, token, content["data"], done=done)


async def decide(request: Request) -> Response:
    """Do what a form of the page says: sign in, sign out, or a decision."""
    host = canonical_host(request)
    fields = await sent(request, _FIELDS, _MAX_BYTES)
    chosen = fields["action"]
    if chosen == "sign-in":
        return await _sign_in(request, host, fields["token"].strip())
    if chosen == "sign-out":
        return OWNER_PAGE.end(request, _back(request, host, "sign-out"), host=host)
    decision, token = _DECISIONS.get(chosen), OWNER_PAGE.token(request)
    if decision is None:
        raise Problem(BAD_REQUEST, "An owner cannot choose that.")
    if token is None:
        return await _sign_in_first(request, host, decision, fields)
    refused = _refused_here(host, chosen, fields)
    if refused is None:
        status, content = await _answer(
            request, host, token, decision.path, method=decision.method, body=_body(chosen, fields),
            query={"wait": str(TEST_SECONDS)} if chosen == "test" else None,
        )  # fmt: skip
        if status == UNAUTHORIZED.status:
            return await _sign_in_first(request, host, decision, fields)
        if status < 400:
            return _decided(request, host, chosen, token, content["data"])
        code = status if status == RATE_LIMITED.status else 400
        refused = code, next(iter(decision.fields), chosen), _in_words(chosen, content)
    status, content = await _answer(request, host, token, "", method="GET")
    if status >= 400:
        raise as_problem(content)
    code, name, fault = refused
    written = {field: fields[field] for field in decision.fields}
    return await _page(request, token, content["data"], faults={name: fault}, written=written, status=code)


def sign_in(request: Request, token: Token, host: str) -> Response:
    """Return a redirect to the owner's page of a host, signed in with a token that was checked."""
    location = links_of(request).to(PATH, {"done": "sign-in"}, host=host)
    return OWNER_PAGE.begin(request, token, location, host=host)


async def _sign_in(request: Request, host: str, written: str) -> Response:
    token = parse_token(written, OWNER)
    if token is None:
        return await _signed_out(request, host, "", "This is no owner’s token. One begins with wp_owner_.")
    status, content = await _answer(request, host, token, "", method="GET")
    if status == UNAUTHORIZED.status:
        return await _signed_out(request, host, "", _NOT_VALID)
    if status == FORBIDDEN.status:
        return await _signed_out(request, host, "", "This token belongs to another host.")
    if status >= 400:
        raise as_problem(content)
    return sign_in(request, token, host)


async def _sign_in_first(request: Request, host: str, decision: Decision, fields: Mapping[str, str]) -> Response:
    """Return the form that signs in, with what was written on the page of a session that has ended."""
    written = next((fields[name] for name in decision.fields if fields[name] and name in _TEXTS), "")
    if not written:
        return _back(request, host, "sign-in")
    return await _signed_out(request, host, _said_without_session("sign-in"), written=written)


def _decided(request: Request, host: str, chosen: str, token: Token, data: Mapping[str, Any]) -> Response:
    """Return the answer to a decision that was made."""
    if chosen in _LEAVING:
        return OWNER_PAGE.end(request, _back(request, host, chosen), host=host)
    if chosen == "webhook":  # not by a redirect: its secret is given out once
        values = {"host": host, "url": data["url"], "secret": data["secret"]}
        return with_secrets(respond(request, "webhook_secret.html", values))
    response = _back(request, host, chosen)
    new = parse_token(data.get("owner_token", ""), OWNER)
    return response if new is None else OWNER_PAGE.keep(request, response, new, host=host)


def _refused_here(host: str, chosen: str, fields: Mapping[str, str]) -> tuple[int, str, str] | None:
    """Return status, field and words of a refusal of what only a page asks for, or says otherwise than the API."""
    if chosen == "opt-out" and not is_spelling(fields["confirm"], host):  # guard: opt-out-typed
        return 400, "confirm", f"Type the name of the host, {host}, to confirm that you mean it."
    for name in ("consent", "receiver_token"):
        if fields[name].strip() and parse_token(fields[name].strip(), OWNER) is None:
            return 400, name, "This is no owner’s token. One begins with wp_owner_."
    if chosen == "webhook" and not fields["url"].strip():
        return 400, "url", "Write the address of the receiver."
    if chosen == "webhook" and not set(_types(fields["types"])) <= set(PATTERNS):
        return 400, "types", "Choose one of the kinds of events."
    if chosen == "note" and len(fields["note"].strip()) > NOTE_CHARS:
        return 400, "note", f"A note has at most {NOTE_CHARS} characters; this one has {len(fields['note'].strip())}."
    return None


def _body(chosen: str, fields: Mapping[str, str]) -> bytes:
    """Return the JSON that the API takes for a decision."""
    body: dict[str, Any] = {}
    if chosen == "note":
        body = {"note": fields["note"].replace("\0", "\ufffd").strip()}
    elif chosen == "canonical":
        consent = fields["consent"].strip()
        body = {"canonical": name_written(fields["canonical"]) or None} | ({"consent": consent} if consent else {})
    elif chosen == "webhook":
        receiver = fields["receiver_token"].strip()
        body = {"url": name_written(fields["url"]), "types": _types(fields["types"])}
        body |= {"receiver_token": receiver} if receiver else {}
    elif chosen == "list-again":
        body = {"undo": True}
    return orjson.dumps(body) if body else b""


def _types(written: str) -> list[str]:
    """Return the kinds of events of a choice, none for all."""
    return [] if written in ("", _EVERY_EVENT) else written.split(",")


def _in_words(chosen: str, content: Mapping[str, Any]) -> str:
    """Return why a decision was refused, in words that fit the form."""
    if content.get("code") == "foreign_receiver":
        return (
            "The address is neither on this host nor below it. Use another, or write the owner’s token of its host "
            "below."
        )
    if chosen == "recheck" and content["status"] == 404:
        return "This host was never visited. Submit it first."
    return refusal_words(content)


async def _page(
    request: Request, token: Token, data: Mapping[str, Any], *, done: str = "",
    faults: Mapping[str, str] | None = None, written: Mapping[str, str] | None = None, status: int = 200,
) -> Response:  # fmt: skip
    """Return the page of a signed-in owner. `faults`, `written`: of a form that was refused, by field."""
    host = data["domain"]
    opt_out = (await ask(request, "/api/opt-outs/{host}", host=host))["data"]
    said, kind = _said(done, data)
    offered = _offered(data, opt_out)
    kept = {"note": data["note"], "canonical": data["pinned_host"] or ""}
    if data["webhook"]:
        kept |= {"url": data["webhook"]["url"], "types": ",".join(data["webhook"]["types"])}
    shown = {**dict.fromkeys(_FIELDS, ""), **kept, **(written or {})}
    types = shown["types"] if set(_types(shown["types"])) <= set(PATTERNS) else ""
    values = {
        "host": host,
        "owned": data,
        "opt_out": opt_out if opt_out["opted_out"] else None,
        "host_status": await ask_about(request, "/api/services/{host}/status", host),
        "service": await ask_about(request, "/api/services/{host}", host),
        "said": said,
        "said_kind": kind,
        "new_token": token.text if done == "rotate" else None,
        "faults": faults or {},
        "stray": next((fault for name, fault in (faults or {}).items() if name in _DECISIONS.keys() - offered), None),
        "written": {name: as_written(value) for name, value in shown.items()},
        "choices": list(dict.fromkeys([_EVERY_EVENT, *filter(None, [types]), *PATTERNS])),
        "note_chars": NOTE_CHARS,
        "hours": SECONDS // 3_600,
    }
    return with_secrets(respond(request, "owner.html", values, status=status))


def _offered(data: Mapping[str, Any], opt_out: Mapping[str, Any]) -> set[str]:
    """Return the decisions that have a form on the page. A form of another tab may be gone here."""
    if opt_out["opted_out"]:
        is_own = opt_out["how"] == "owner" and opt_out["covered_by"] == data["domain"]
        return {"rotate", "give-up"} | ({"list-again"} if is_own else set())
    webhook = data["webhook"]
    absent = {"list-again", "hide" if data["hidden"] else "show", "calls" if data["checks_calls"] else "no-calls"}
    absent |= set() if webhook else {"test", "no-webhook"}
    return _DECISIONS.keys() - absent - ({"test"} if webhook and webhook["state"] == "disabled" else set())


async def _signed_out(
    request: Request, host: str, said: str, fault: str | None = None, *, written: str = ""
) -> Response:
    """Return the form that signs in. `said`: what happened before, empty for nothing; `written`: what was not saved."""
    opt_out = (await ask(request, "/api/opt-outs/{host}", host=host))["data"]
    values = {
        "host": host, "said": said, "fault": fault, "written": as_written(written), "opted_out": opt_out["opted_out"],
        "hours": SECONDS // 3_600,
    }  # fmt: skip
    return with_secrets(respond(request, "sign_in.html", values, status=400 if fault else 200))


def _said(done: str, data: Mapping[str, Any]) -> tuple[str, str]:
    """Return the line about a decision that was just made, empty for none, and whether it is good."""
    if done == "test":
        return _said_of_test(data)
    if done == "sign-in":
        return SIGNED_IN, "good"
    if done == "note":
        return "The note is shown with the service." if data["note"] else "There is no note now.", "good"
    if done == "canonical" and data["canonical_host"]:
        return f"{data['canonical_host']} stands for this host now.", "good"
    if done == "canonical" and data["pinned_host"]:
        waits_for = f"the owner of {data['pinned_host']} agrees and that host names no other"
        return f"Saved. It has no effect until {waits_for}.", "middle"
    if done == "canonical":
        return "The host stands for itself.", "good"
    return _DECISIONS[done].done if done in _DECISIONS and done not in _LEAVING else "", "good"


def _said_of_test(data: Mapping[str, Any]) -> tuple[str, str]:
    made = next((one for one in data["deliveries"] if one["event"] != EVENTS), None)
    if made is None or utc_now() - datetime.fromisoformat(made["at"]) > _RECENT:
        return "The message is on its way. Load the page again to see whether it arrived.", "middle"
    if made["delivered"]:
        return f"Delivered: the receiver answered with status {made['status']} in {made['duration_ms']} ms.", "good"
    answered = f"status {made['status']}" if made["status"] else text.words(made["reason"])
    return f"Not delivered: {answered}.", "bad"


def _said_without_session(done: str) -> str:
    if done == "sign-in":
        return NOT_SIGNED_IN
    if done == "sign-out":
        return SIGNED_OUT
    if done == "opt-out":
        return (
            "The host has opted out: everything stored about it was deleted, the ownership too, and it is not visited "
            "again. To return, claim it by TXT record, then press “List it again”."
        )
    return _DECISIONS[done].done if done in _LEAVING else ""


def _back(request: Request, host: str, done: str) -> Response:
    return with_secrets(RedirectResponse(links_of(request).to(PATH, {"done": done}, host=host), 303))


async def _answer(
    request: Request, host: str, token: Token, path: str, *, method: str, body: bytes = b"",
    query: Mapping[str, str] | None = None,
) -> tuple[int, Any]:  # fmt: skip
    """Return status and JSON of the API's answer about an owned host."""
    return await try_on(request, f"/api/owner/{host}{path}", body, query, method=method, token=token.text)
