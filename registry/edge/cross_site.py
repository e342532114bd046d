"""Refuses requests that a page of another site makes a browser send, to forms and to the API.

The registry has no cookies and no sessions, so such a request can change only what any stranger can. But it would spend
the limits of the visitor. Browsers send the media types of forms and plain text without a preflight (Fetch standard,
"CORS-safelisted request-header"), so a body of the API must be JSON.
"""

import re
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from registry.edge.problems import FOREIGN_ORIGIN, UNSUPPORTED_MEDIA_TYPE, Problem

_SAME_SITE: Final = frozenset({"same-origin", "none"})
_JSON: Final = re.compile(r"application/([a-z0-9!#$&^_.-]+\+)?json")


def refuse_other_sites(headers: Headers, public_url: str) -> None:
    """Raise Problem for a request from a page of another site. Clients other than browsers send no such field."""
    site = headers.get("sec-fetch-site")
    if site is not None:
        is_foreign = site not in _SAME_SITE
    else:
        # Browsers leave that field out on connections that they do not trust, such as plain HTTP in a local network.
        origin = headers.get("origin")
        own = {urlsplit(public_url).netloc, headers.get("host", "")}
        is_foreign = origin is not None and origin.partition("://")[2] not in own
    if is_foreign:  # guard: pages-of-other-sites
        raise Problem(FOREIGN_ORIGIN, "A page of another site may not send this. Open the page here and send it.")


def refuse_other_media_types(headers: Headers) -> None:
    """Raise Problem for a body that is not JSON. A body without a media type is read as JSON."""
    if headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers:
        return
    given = headers.getlist("content-type")
    media_types = [value.partition(";")[0].strip().lower() for value in given]
    if not all(map(_JSON.fullmatch, media_types)):  # guard: json-only
        raise Problem(
            UNSUPPORTED_MEDIA_TYPE,
            "The body must be JSON: send it with Content-Type: application/json.",
            headers={"Accept-Post": "application/json"},
            accepted=["application/json"],
        )


def has_bearer(headers: Headers, path: str, beginnings: Collection[str]) -> bool:
    """Return whether a request brings a token to a path that needs one.

    Elsewhere a token proves nothing: a page could invent one.
    """
    has_token = headers.get("authorization", "").lower().startswith("bearer ")
    return path.startswith(tuple(beginnings)) and has_token  # guard: token-where-needed
