"""Where a redirect may lead (docs/probe-plan.md, "Redirects"): a pure decision, made at every hop."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from registry.core.assessing.verdicts import is_home
from registry.core.model.documents import Outcome, Purpose
from registry.core.names.domains import MAX_URL_CHARS, Url, host_of, parse_https, parse_url, same_site
from registry.core.names.inside import inside_host

STATUSES: Final = frozenset({301, 302, 303, 307, 308})
MAX_HOPS: Final = 3
MAX_HOPS_ROBOTS: Final = 5  # RFC 9309 section 2.3.1.2


@dataclass(frozen=True, slots=True)
class Follow:
    """Request `url` next: canonical, https, port 443, within the registrable domain of the request."""

    url: str


@dataclass(frozen=True, slots=True)
class Stop:
    """Do not follow; the answer ends with this outcome. `target` is the host of the location, if it has one."""

    outcome: Outcome
    reason: str
    target: str | None = None


def redirect(from_url: str, location: str | None, hops: Sequence[str], purpose: Purpose) -> Follow | Stop:
    """Decide about a `Location` that came with one of STATUSES.

    `from_url` is the URL that answered, `hops` the URLs requested before it, in order. The address of the target is not
    checked here but when it is dialled.
    """
    if not location or not location.strip():
        return Stop(Outcome.SERVER_ERROR, "redirect_without_location")
    url = parse_https(location, from_url)
    if url is None:
        target = parse_url(location[: 4 * MAX_URL_CHARS], from_url)
        return Stop(Outcome.REFUSED_ADDRESS, _refusal_reason(target), host_of(target.href) if target else None)
    from_host, target_host = host_of(from_url) or "", host_of(url) or ""
    if not same_site(from_host, target_host):  # guard: redirect-same-site
        # clients read the reason, and are not told names of private networks
        named = target_host if inside_host(url) is None else "no public host"  # guard: private-redirect
        return Stop(Outcome.REDIRECTED_AWAY, f"to {named}", target_host)
    if purpose not in (Purpose.HOME, Purpose.ROBOTS) and is_home(url):
        return Stop(Outcome.ABSENT, "redirect_home", target_host)
    limit = MAX_HOPS_ROBOTS if purpose is Purpose.ROBOTS else MAX_HOPS
    if url == from_url or url in hops or len(hops) >= limit:  # guard: redirect-limit
        return Stop(Outcome.SERVER_ERROR, "redirect_loop", target_host)
    return Follow(url)


def _refusal_reason(target: Url | None) -> str:
    """Return the rule of parse_https that a target broke, for the ledger."""
    if target is None:
        return "redirect_unreadable"
    if target.scheme != "https":
        return "redirect_http" if target.scheme == "http" else "redirect_scheme"
    if not target.is_name:
        return "redirect_address"
    if target.has_user:
        return "redirect_userinfo"
    return "redirect_port" if target.port else "redirect_name"
