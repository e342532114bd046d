"""Prove the ownership of a host, and decide about it, with forms.

There are no sessions: tokens are shown once, kept by the person, and sent in a field of each form. They are never in a
URL, in a cookie, or in an answer that caches may keep.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import orjson
from starlette.requests import Request
from starlette.responses import Response

from registry.core.access.tokens import parse_token
from registry.edge.problems import BAD_REQUEST, Problem
from registry.edge.responses import REVALIDATE
from registry.web.asking import as_problem, as_written, ask, pass_on, sent
from registry.web.rendering import canonical_host, respond, with_secrets

CHECK_SECONDS: Final = 10
"""How long a page waits for the answer of a worker."""

_MAX_BYTES: Final = 16_384
_METHODS: Final = ("file", "dns")


class OwnerAction(NamedTuple):
    """An action that an owner can choose. `text`: name of its text field, empty if it has none."""

    name: str
    label: str
    method: str
    path: str
    text: str = ""


ACTIONS: Final = (
    OwnerAction("recheck", "Visit it now", "POST", "/recheck"),
    OwnerAction("hide", "Hide it from every answer", "POST", "/hide"),
    OwnerAction("show", "Show it again", "POST", "/show"),
    OwnerAction("note", "Set the public note", "PUT", "/note", "note"),
    OwnerAction("canonical", "Name the host that stands for this one", "PUT", "/canonical", "canonical"),
    OwnerAction("webhook", "Send its changes to a webhook", "PUT", "/webhook", "url"),
    OwnerAction("no-webhook", "Delete the webhook", "DELETE", "/webhook"),
    OwnerAction("no-call-checks", "Do not check its addresses for calls", "DELETE", "/call-checks"),
    OwnerAction("call-checks", "Check its addresses for calls again", "POST", "/call-checks"),
    OwnerAction("rotate", "Replace this token by a new one", "POST", "/token"),
    OwnerAction("give-up", "Give the ownership up", "DELETE", "/token"),
    OwnerAction("opt-out", "Opt out: delete everything, and never visit it again", "POST", "/opt-out"),
)
_BY_NAME: Final = {action.name: action for action in ACTIONS}


async def claim(request: Request) -> Response:
    """Make a claim, and show its value and its token once."""
    host = canonical_host(request)
    fields = await sent(request, ("method", "scope"), _MAX_BYTES)
    wanted = {"domain": host, "method": fields["method"], "scope": fields["scope"] or "host"}
    status, content, _ = await pass_on(request, "/api/claims", orjson.dumps(wanted))
    if status >= 400:
        return await explain(request, host, content["detail"])
    data = content["data"]
    return _state(request, host, data, data["claim_token"])


async def check(request: Request) -> Response:
    """Have the proof looked up, and show the result; after a successful proof show the owner's token, once."""
    host = canonical_host(request)
    fields = await sent(request, ("token",), _MAX_BYTES)
    token = parse_token(fields["token"].strip(), "claim")
    if token is None:
        raise Problem(BAD_REQUEST, "This is no claim token. It begins with wp_claim_.")
    path, query = f"/api/claims/{token.id}/check", {"wait": str(CHECK_SECONDS)}
    status, content, _ = await pass_on(request, path, b"", query, token=token.text)
    if status >= 400:
        raise as_problem(content)
    if content["data"]["domain"] != host:
        raise Problem(BAD_REQUEST, "This token belongs to the claim of another host.")
    return _state(request, host, content["data"], token.text)


async def owner(request: Request, host: str) -> Response:
    """Return the page on which an owner decides, before a token is given."""
    return _owned(request, host, None, {})


async def decide(request: Request) -> Response:
    """Do what the owner chose, and show the new state."""
    host = canonical_host(request)
    fields = await sent(request, ("token", "action", "text"), _MAX_BYTES)
    token = fields["token"].strip()
    said: dict[str, Any] = {}
    if fields["action"]:
        action = _BY_NAME.get(fields["action"])
        if action is None:
            raise Problem(BAD_REQUEST, "An owner cannot choose that.")
        text = fields["text"].strip()
        value = (text or None) if action.text == "canonical" else text
        body = orjson.dumps({action.text: value}) if action.text else b""
        path = f"/api/owner/{host}{action.path}"
        status, content, _ = await pass_on(request, path, body, method=action.method, token=token)
        if status >= 400:
            return _owned(request, host, None, {"fault": content["detail"], "written": fields["text"]})
        said = _said(content["data"])
        token = said.get("owner_token") or token
        if action.name in ("give-up", "opt-out"):
            return _owned(request, host, None, said)
    status, content, _ = await pass_on(request, f"/api/owner/{host}", b"", method="GET", token=token)
    if status >= 400:
        return _owned(request, host, None, {"fault": content["detail"]})
    return _owned(request, host, content["data"], {**said, "token": token})


def _said(data: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an answer says to the owner. A webhook's secret is shown once, like a token."""
    if "secret" in data:
        says = "The webhook gets a challenge first. Its secret, which signs every message, is shown only here."
        return {"says": says, "secret": data["secret"]}
    return {"says": data["says"], "owner_token": data.get("owner_token")}


async def explain(request: Request, host: str, fault: str | None = None) -> Response:
    """Return the page that explains proofs, with the form that begins one.

    It shows the current owner of the host. Hosts that were never visited can be claimed too.
    """
    try:
        ownership = (await ask(request, "/api/services/{host}", host=host))["data"]["ownership"]
    except Problem as problem:
        if problem.kind.status not in (403, 404, 410):
            raise
        ownership = None
    values = {"host": host, "ownership": ownership, "methods": _METHODS, "fault": fault}
    return respond(request, "claim.html", values, status=400 if fault else 200, cache=REVALIDATE)


def _state(request: Request, host: str, data: Mapping[str, Any], token: str) -> Response:
    values = {"host": host, "claim": data, "token": token, "owner_token": data.get("owner_token")}
    return with_secrets(respond(request, "claimed.html", values))


def _owned(request: Request, host: str, data: Mapping[str, Any] | None, told: Mapping[str, Any]) -> Response:
    names = ("says", "fault", "secret", "owner_token", "token")
    values = {
        "host": host, "owned": data, "actions": ACTIONS, "written": as_written(told.get("written", "")),
        **{name: told.get(name) for name in names},
    }  # fmt: skip
    status = 400 if told.get("fault") else 200
    return with_secrets(respond(request, "owner.html", values, status=status))
