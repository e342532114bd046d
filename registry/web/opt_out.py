"""How a site opts out: the two proofs, a form that requests a check, and the state of a host."""

from typing import Final

import orjson
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.routing import Route

from registry.core.names.opt_out import FILE_PATH, TXT_LABEL, WORD
from registry.core.visiting.robots import PRODUCT
from registry.edge.responses import REVALIDATE
from registry.web.asking import ask
from registry.web.forms import as_written, name_written, pass_on, sent
from registry.web.rendering import about_host, pages_of

PATH: Final = "/opt-out"
_STATE: Final = "/opt-out/{host}"
_MAX_BYTES: Final = 8_192
_PROOFS: Final = {"file_path": FILE_PATH, "label": TXT_LABEL, "word": WORD, "product": PRODUCT}


async def explain(request: Request) -> Response:
    host = request.query_params.get("host", "")[:300]
    return _form(request, host)


async def check(request: Request) -> Response:
    """Request a check of the opt-out, or of its end. Anyone may: only what the site itself declares has an effect."""
    fields = await sent(request, ("host", "undo"), _MAX_BYTES)
    body = orjson.dumps({"domain": name_written(fields["host"]), "undo": fields["undo"] == "yes"})
    status, content, _ = await pass_on(request, "/api/opt-outs", body)
    if status >= 400:
        return _form(request, fields["host"], content["detail"])
    return RedirectResponse(pages_of(request).links.to(_STATE, host=content["data"]["domain"]), 303)


@about_host(_STATE)
async def state(request: Request, host: str) -> Response:
    pages = pages_of(request)
    answer = await ask(request, "/api/opt-outs/{host}", host=host)
    return pages.respond(request, "opt_out_state.html", {"state": answer["data"], **_PROOFS}, cache=REVALIDATE)


def _form(request: Request, host: str, fault: str | None = None) -> Response:
    values = {"written": as_written(host), "fault": fault, **_PROOFS}
    return pages_of(request).respond(request, "opt_out.html", values, status=400 if fault else 200)


ROUTES: Final = (Route(PATH, explain), Route(PATH, check, methods=["POST"]), Route(_STATE, state))
