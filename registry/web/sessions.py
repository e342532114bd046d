"""Sessions: a token that a browser keeps in a cookie for one area of pages, so that no form has to hold it.

The person sends the token once, by POST. The registry stores nothing: the cookie holds the token, and each request is
checked as a request of the API with this token. Only pages read the cookie; the API reads none, so a page of another
site cannot use it there. `SameSite=Strict` keeps the cookie out of requests that other sites cause, and
`registry.edge.middleware` refuses their forms besides (decision 54).
"""

from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from registry.core.access.tokens import Token, parse_token
from registry.web.rendering import links_of, with_secrets

SECONDS: Final = 12 * 3_600
"""How long a browser keeps a token: a day of work."""

SIGNED_IN: Final = f"You are signed in for {SECONDS // 3_600} hours in this browser."
SIGNED_OUT: Final = "You are signed out in this browser."
NOT_SIGNED_IN: Final = (
    "You are not signed in: the session has ended, or the browser keeps no cookies of this registry. Signing in needs "
    "one cookie, which no script can read."
)


@dataclass(frozen=True, slots=True)
class Session:
    """Which kind of token is kept, and for which pages. `path`: template of their first address, such as
    `/owner/{host}`; addresses below it get the cookie too, others do not."""

    name: str
    kind: str
    path: str
    seconds: int = SECONDS

    def token(self, request: Request) -> Token | None:
        """Return the token of the session, or None without one. It may be unknown, or no longer valid."""
        return parse_token(request.cookies.get(self._cookie(request), ""), self.kind)

    def begin(self, request: Request, token: Token, location: str, **values: str) -> Response:
        """Return a redirect (303) to `location`, after which the browser keeps the token. `values`: of `path`."""
        return self.keep(request, RedirectResponse(location, 303), token, **values)

    def keep(self, request: Request, response: Response, token: Token, **values: str) -> Response:
        """Let a response begin the session, or replace its token. Return the response."""
        self._set(request, response, token.text, self.seconds, values)
        return response

    def end(self, request: Request, response: Response, **values: str) -> Response:
        """Let a response end the session: the browser deletes the cookie. Return the response."""
        self._set(request, response, "", 0, values)
        return response

    def _cookie(self, request: Request) -> str:
        """Return the name of the cookie. With this prefix a browser takes it over https only."""
        return f"__Secure-{self.name}" if _is_secure(request) else self.name

    def _set(self, request: Request, response: Response, value: str, seconds: int, values: dict[str, str]) -> None:
        response.set_cookie(
            self._cookie(request), value, max_age=seconds, path=links_of(request).to(self.path, **values),
            secure=_is_secure(request), httponly=True, samesite="strict",  # guard: session-cookie
        )  # fmt: skip
        with_secrets(response)


def _is_secure(request: Request) -> bool:
    return links_of(request).base.startswith("https:")
