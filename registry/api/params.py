"""Parameters, parsed strictly, each described once: what they mean is in the OpenAPI document through here.

`int()` reads `1_0`, ` 10` and Arabic digits; these read only what they document. Sizes above the maximum are cut to it,
as ADP registries do; everything else that does not fit is refused.
"""

import re
from typing import Annotated, Any, Final

from fastapi import Path, Query, Request
from pydantic import BeforeValidator, WithJsonSchema

from registry.api.problems import INVALID_PARAMETER, UNKNOWN_SERVICE, Problem
from registry.core.domains import InvalidName, host_syntax
from registry.core.listing import Filters
from registry.core.recognise import FORMAT_BY_SLUG
from registry.core.text import QUERY_CHARS
from registry.wiring import Waypost

MAX_DISCOVER: Final = 50
MAX_LIST: Final = 100
MAX_OFFSET: Final = 100_000
MAX_WAIT: Final = 20
_AUTH_TYPES: Final = ("none", "api_key", "oauth2")
_PRICING_TYPES: Final = ("free", "freemium", "paid")
_PROTOCOL = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")


def _whole(text: Any) -> int:
    if not isinstance(text, int) and not re.fullmatch("[0-9]{1,9}", str(text)):
        raise ValueError("must be a whole number of at most nine digits")
    return int(text)


def _cut(maximum: int) -> BeforeValidator:
    return BeforeValidator(lambda text: min(_whole(text), maximum))


def _capped(maximum: int) -> WithJsonSchema:
    """Values above the maximum are accepted (and cut), so the schema names none."""
    return WithJsonSchema({"type": "integer", "minimum": 0, "description": f"Larger values count as {maximum}."})


def limited(maximum: int) -> tuple[BeforeValidator, WithJsonSchema]:
    """For a count of rows: a larger one is cut to the maximum."""
    return _cut(maximum), _capped(maximum)


def _share(text: Any) -> int:
    value = _whole(text)
    if value > 100:
        raise ValueError("must be 0 to 100")
    return value


def _parts(text: Any) -> tuple[str, ...]:
    """FastAPI hands over a list, of the one value that `StrictRoute` lets through."""
    return tuple(",".join([text] if isinstance(text, str) else text).split(","))


def _words(*allowed: str) -> BeforeValidator:
    def split(text: Any) -> tuple[str, ...]:
        values = _parts(text)
        if not set(values) <= set(allowed):
            raise ValueError(f"must be some of {', '.join(allowed)}, separated by commas")
        return values

    return BeforeValidator(split)


def _protocols(text: Any) -> tuple[str, ...]:
    values = _parts(text)
    if len(values) > 20 or not all(_PROTOCOL.fullmatch(value) for value in values):
        raise ValueError("must be protocol names (lower-case letters, digits, dots, hyphens), separated by commas")
    return values


def _text_schema(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": pattern})


def _one_or_more(allowed: tuple[str, ...]) -> WithJsonSchema:
    word = "|".join(re.escape(one) for one in allowed)
    return _text_schema(f"^({word})(,({word}))*$")


FORMAT_SLUGS: Final = tuple(sorted(FORMAT_BY_SLUG))

Limit = Annotated[
    int, _cut(MAX_DISCOVER), _capped(MAX_DISCOVER), Query(description="Rows to answer; 0 gives none.", examples=[10])
]
ListLimit = Annotated[
    int, _cut(MAX_LIST), _capped(MAX_LIST), Query(description="Rows to answer; 0 gives none.", examples=[50])
]
Offset = Annotated[
    int,
    BeforeValidator(_whole),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": MAX_OFFSET}),
    Query(description=f"Rows to skip, at most {MAX_OFFSET}.", le=MAX_OFFSET, examples=[0]),
]
Wait = Annotated[
    int | None,
    BeforeValidator(lambda text: None if text is None else min(_whole(text), MAX_WAIT)),
    _capped(MAX_WAIT),
    Query(description="Seconds to wait for the visit; 0 answers at once.", examples=[8]),
]
Days = Annotated[int, _cut(30), _capped(30), Query(description="How far back the history goes.", examples=[7])]
OnlyTrue = Annotated[
    bool,
    BeforeValidator(lambda text: text is True or text == "true"),
    WithJsonSchema({"type": "string"}),
    Query(description="Only the exact text `true` counts."),
]
Formats = Annotated[
    tuple[str, ...],
    _words(*FORMAT_SLUGS),
    _one_or_more(FORMAT_SLUGS),
    Query(alias="format", description="Only hosts that speak one of these formats, comma separated."),
]
AuthTypes = Annotated[
    tuple[str, ...],
    _words(*_AUTH_TYPES),
    _one_or_more(_AUTH_TYPES),
    Query(alias="auth_type", description="Only services with one of these kinds of authentication, comma separated."),
]
PricingTypes = Annotated[
    tuple[str, ...],
    _words(*_PRICING_TYPES),
    _one_or_more(_PRICING_TYPES),
    Query(alias="pricing_type", description="Only services with one of these kinds of pricing, comma separated."),
]
Protocols = Annotated[
    tuple[str, ...],
    BeforeValidator(_protocols),
    _text_schema("^[a-z0-9][a-z0-9._-]{0,63}(,[a-z0-9][a-z0-9._-]{0,63})*$"),
    Query(
        alias="protocol", description="Only services with one of these protocols (`mcp`, `a2a` ...), comma separated."
    ),
]
MinScore = Annotated[
    int | None,
    BeforeValidator(lambda text: None if text is None else _share(text)),
    WithJsonSchema({"type": "integer", "minimum": 0, "maximum": 100}),
    Query(description="Least score."),
]
DomainPath = Annotated[
    str, Path(description="The host, percent-encoded; any spelling of it.", examples=["api.pigeonpost.example"])
]
CapabilityPath = Annotated[
    str, Path(description="The name, percent-encoded; slashes may stand as they are.", examples=["create_parcel"])
]


def question(text: str) -> str:
    """`q` as it is searched and echoed: trimmed, at most QUERY_CHARS characters, otherwise as it came.

    It is data: tags and operators are words like any other.
    """
    cut = text.strip()[:QUERY_CHARS].strip()
    if not cut:
        raise Problem(INVALID_PARAMETER, "q: is required and must not be blank", errors=["q: must not be blank"])
    return cut


async def filters(
    include_unverified: OnlyTrue = False,
    formats: Formats = (),
    auth_types: AuthTypes = (),
    pricing_types: PricingTypes = (),
    protocols: Protocols = (),
    min_score: MinScore = None,
) -> Filters:
    """The filters that discover and the list share. Async, because a plain function would be sent to a thread."""
    return Filters(include_unverified, formats, auth_types, pricing_types, protocols, min_score)


def host_in(path: str) -> str:
    """The canonical host of a path segment, for look-ups. Raises Problem: a name that cannot be a host is unknown."""
    try:
        return host_syntax(path)
    except InvalidName:
        raise Problem(UNKNOWN_SERVICE, "No service is listed under this host.") from None


def base_url(request: Request) -> str:
    """Where clients reach this API, without a trailing slash: the setting, never the Host header."""
    base: str = request.app.state.base_url
    return base


def registry_of(request: Request) -> Waypost:
    """The verbs that this application works with."""
    waypost: Waypost = request.app.state.waypost
    return waypost
