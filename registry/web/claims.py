"""Prove that a host is yours: the form that begins a claim, and the page of a claim until its owner's token is taken.

A claim's page has the claim token in its address, as the page of a report has: its holder can see the claim, have it
checked, and take the owner's token once it is proven. The owner's token itself is never in an address.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.core.access.claims import CLAIM, OWNER
from registry.core.access.tokens import Token, parse_token
from registry.core.names.domains import InvalidName, registrable_domain
from registry.edge.problems import NOT_FOUND, UNAUTHORIZED, Problem
from registry.edge.responses import REVALIDATE
from registry.web import text
from registry.web.asking import as_problem, as_written, ask, ask_about, host_written, refusal_words, sent, try_on
from registry.web.owner import OWNER_PAGE, sign_in
from registry.web.rendering import canonical_host, links_of, note_doubt, respond, with_secrets
from registry.web.sessions import SECONDS
from registry.wiring import utc_now

FORM: Final = "/claim/{host}"
GO_ON: Final = "/claims"
PAGE: Final = "/claims/{token}"
CHECK_SECONDS: Final = 10
"""How long a page waits for the answer of a worker."""

_MAX_BYTES: Final = 16_384
_PROOFS: Final = {"file": ("file", "host"), "dns": ("dns", "host"), "domain": ("dns", "domain")}
"""Choice of the form -> method and scope of the claim."""


async def explain(request: Request, host: str) -> Response:
    """Return the page that explains proofs, with the form that begins one.

    It shows the current owner of the host. Hosts that were never visited can be claimed too.
    """
    return await _form(request, host)


async def claim(request: Request) -> Response:
    """Make a claim, and redirect to its page."""
    host = canonical_host(request)
    proof = (await sent(request, ("proof",), _MAX_BYTES))["proof"]
    if proof not in _PROOFS:
        return await _form(request, host, "Choose how you prove it.")
    method, scope = _PROOFS[proof]
    wanted = {"domain": host, "method": method, "scope": scope}
    status, content = await try_on(request, "/api/claims", orjson.dumps(wanted))
    if status >= 400:
        return await _form(request, host, refusal_words(content), proof, status=status)
    return _see(request, content["data"]["claim_token"])


async def _form(
    request: Request, host: str, fault: str | None = None, chosen: str = "", *, status: int = 400
) -> Response:
    opted_out = (await ask(request, "/api/opt-outs/{host}", host=host))["data"]
    service = None if opted_out["opted_out"] else await ask_about(request, "/api/services/{host}", host)
    domain = registrable_domain(host)
    default = "dns" if opted_out["opted_out"] else "file"
    offered = [*_PROOFS][1 if opted_out["opted_out"] else 0 : 3 if host == domain else 2]
    values = {
        "host": host, "domain": domain, "ownership": service and service["ownership"], "opt_out": opted_out,
        "fault": fault, "chosen": chosen if chosen in offered else default,
    }  # fmt: skip
    return respond(request, "claim.html", values, status=status if fault else 200, cache=REVALIDATE)


async def go_on_form(request: Request) -> Response:
    return _go_on(request)


async def go_on(request: Request) -> Response:
    """Redirect to the page that a token is for, or to the form that claims a host."""
    fields = await sent(request, ("token", "host"), _MAX_BYTES)
    if fields["host"]:
        return _claim_of(request, fields["host"])
    written = fields["token"].strip()
    if (token := parse_token(written, CLAIM)) is not None:
        return _see(request, token.text)
    if (token := parse_token(written, OWNER)) is None:
        return _go_on(request, "This is neither a claim token (wp_claim_…) nor an owner’s token (wp_owner_…).")
    status, content = await try_on(request, "/api/owner", token=token.text, method="GET")
    if status >= 400:
        return _go_on(request, "This token is not valid: it was replaced, or the ownership has ended.")
    return sign_in(request, token, content["data"]["domain"])


def _claim_of(request: Request, written: str) -> Response:
    try:
        return RedirectResponse(links_of(request).to(FORM, host=host_written(written)), 303)
    except InvalidName as refusal:
        return _go_on(request, f"This is no host name: {refusal}.", field="host", written=written)


def _go_on(request: Request, fault: str | None = None, *, field: str = "token", written: str = "") -> Response:
    values = {"faults": {field: fault} if fault else {}, "written": as_written(written)}
    return with_secrets(respond(request, "claims.html", values, status=400 if fault else 200))


async def page(request: Request) -> Response:
    """Return the page of a claim. Raise Problem for an unknown token."""
    token = _token(request)
    return _page(request, token, await _state(request, token))


async def check(request: Request) -> Response:
    """Have the proof looked up. Return the owner's token, once, if the claim is proven; else redirect to the page."""
    token = _token(request)
    await sent(request, (), _MAX_BYTES)
    query = {"wait": str(CHECK_SECONDS)}
    status, content = await try_on(request, f"/api/claims/{token.id}/check", b"", query, token=token.text)
    if status == UNAUTHORIZED.status:
        raise _unknown()
    if status >= 400:
        fault = content["detail"]
        return _page(request, token, await _state(request, token), fault=fault, status=status)
    data = content["data"]
    owner = parse_token(data.get("owner_token", ""), OWNER)
    if owner is None:
        return _see(request, token.text)
    await note_doubt(request, data["domain"])
    # With the answer itself, so that it reaches browsers that keep no cookies too: it is given out once.
    return _page(request, token, data, owner=owner)


def _page(
    request: Request, token: Token, data: Mapping[str, Any], *, owner: Token | None = None, fault: str | None = None,
    status: int = 200,
) -> Response:  # fmt: skip
    host, links, later = data["domain"], links_of(request), ""
    if data["check_after"]:
        seconds = (datetime.fromisoformat(data["check_after"]) - utc_now()).total_seconds()
        later = f"in {text.duration(seconds)}, from {text.day(data['check_after'])} on"
        later = "in a few seconds" if seconds < 60 else later
    values = {
        "host": host, "claim": data, "token": token.text, "owner_token": owner.text if owner else None, "fault": fault,
        "later": later, "hours": SECONDS // 3_600,
        "address": links.absolute(PAGE, token=token.text), "poll": links.to("/api/claims/{id}", id=token.id),
    }  # fmt: skip
    response = with_secrets(respond(request, "claimed.html", values, status=status))
    return response if owner is None else OWNER_PAGE.keep(request, response, owner, host=host)


async def _state(request: Request, token: Token) -> Mapping[str, Any]:
    status, content = await try_on(request, f"/api/claims/{token.id}", token=token.text, method="GET")
    if status >= 400:
        raise _unknown() if status == UNAUTHORIZED.status else as_problem(content)
    data: Mapping[str, Any] = content["data"]
    await note_doubt(request, data["domain"])
    return data


def _token(request: Request) -> Token:
    token = parse_token(request.path_params["token"], CLAIM)
    if token is None:
        raise _unknown()
    return token


def _unknown() -> Problem:
    return Problem(NOT_FOUND, "There is no claim at this address. Claims without a proof are deleted after a time.")


def _see(request: Request, token: str) -> Response:
    return with_secrets(RedirectResponse(links_of(request).to(PAGE, token=token), 303))
