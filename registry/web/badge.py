"""The badge of a service: an SVG picture for a site's own pages, without script or foreign parts."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from registry.edge.problems import UNKNOWN_SERVICE, Problem
from registry.edge.responses import CACHED, encoded_response
from registry.web.asking import ask
from registry.web.rendering import canonical_host, pages_of

_COLOURS: Final = ((80, "#15692f"), (50, "#7a4d00"), (0, "#a81d1d"))
_UNKNOWN: Final = "#57606a"
_CHAR_WIDTH: Final = 6.6
"""Pixels of a character of the badge's font, rounded up: wider letters are squeezed by `textLength`."""

_PADDING: Final = 12


async def badge(request: Request) -> Response:
    """Return the badge. For a host that is not listed it says so, because an error would show as a broken picture."""
    host = canonical_host(request.path_params["host"])
    try:
        answer = await ask(request, "/api/services/{host}", host=host)
    except Problem as problem:
        if problem.kind is not UNKNOWN_SERVICE:
            raise
        value, colour = "not listed", _UNKNOWN
    else:
        score, level = answer["data"]["score"]["value"], answer["data"]["trust_level"]
        value = f"{score} of 100, {level}"
        colour = next(colour for least, colour in _COLOURS if score >= least)
    values = {"label": "waypost", "value": value, "colour": colour, **_widths("waypost", value)}
    body = pages_of(request).render("badge.svg", values)
    return encoded_response(request, body, cache=CACHED, media_type="image/svg+xml")


def _widths(label: str, value: str) -> dict[str, int]:
    left, right = (round(len(text) * _CHAR_WIDTH) + _PADDING for text in (label, value))
    return {"left": left, "right": right, "width": left + right, "padding": _PADDING}


ROUTES: Final = (Route("/badge/{host}.svg", badge),)
