"""Where a redirect may lead (probe-plan.md section 5): a pure decision that the transport asks for at every hop."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.core.documents import Outcome, Purpose
from registry.core.domains import MAX_URL_CHARS, Url, host_of, parse_https, parse_url, same_site

STATUSES: Final = frozenset({301, 302, 303, 307, 308})
MAX_HOPS: Final = 3
MAX_HOPS_ROBOTS: Final = 5  # RFC 9309 section 2.3.1.2

_HOME = re.compile(r"/(index|home|404|not-?found|login|sign-?in)?(\.html?|/)?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Follow:
    """Ask for `url` next: canonical, https, port 443, within the registrable domain of the request."""

    url: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not follow; the answer ends with this outcome. `target` is the host that was pointed to, where it has one."""

    outcome: Outcome
    reason: str
    target: str | None = None


def redirect(from_url: str, location: str | None, hops: Sequence[str], purpose: Purpose) -> Follow | Stop:
    """What to do with a `Location` that came with one of STATUSES.

    `from_url` is the URL that answered, `hops` the URLs asked for before it, first first. The address of the target
    is not judged here: whoever dials it does.
    """
    if not location or not location.strip():
        return Stop(Outcome.SERVER_ERROR, "redirect_without_location")
    url = parse_https(location, from_url)
    if url is None:
        named = parse_url(location[: 4 * MAX_URL_CHARS], from_url)
        return Stop(Outcome.REFUSED_ADDRESS, _refused(named), host_of(named.href) if named else None)
    here, there = host_of(from_url) or "", host_of(url) or ""
    if not same_site(here, there):
        return Stop(Outcome.REDIRECTED_AWAY, f"to {there}", there)
    if purpose not in (Purpose.HOME, Purpose.ROBOTS) and is_home(url):
        return Stop(Outcome.ABSENT, "redirect_home", there)
    limit = MAX_HOPS_ROBOTS if purpose is Purpose.ROBOTS else MAX_HOPS
    if url == from_url or url in hops or len(hops) >= limit:
        return Stop(Outcome.SERVER_ERROR, "redirect_loop", there)
    return Follow(url)


def is_home(url: str) -> bool:
    """Whether a redirect target is the front page, a login or an error page: the usual dress of "not here"."""
    parsed = parse_url(url)
    return parsed is not None and _HOME.fullmatch(parsed.target.partition("?")[0]) is not None


def _refused(named: Url | None) -> str:
    """Which rule of parse_https a target broke, for the ledger."""
    if named is None:
        return "redirect_unreadable"
    if named.scheme != "https":
        return "redirect_http" if named.scheme == "http" else "redirect_scheme"
    if not named.is_name:
        return "redirect_address"
    if named.has_user:
        return "redirect_userinfo"
    return "redirect_port" if named.port else "redirect_name"
