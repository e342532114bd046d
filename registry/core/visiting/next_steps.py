"""What the operator of a host can do after a visit: one or two sentences and one page, for every outcome.

`reasons` of a host say what was seen. This says what to do about it, so that no answer is a dead end.
"""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final, Literal, NamedTuple

from registry.core.access.holds import HoldKind
from registry.core.model.documents import Outcome
from registry.core.visiting.robots import PRODUCT

Page = Literal["bot", "check", "claim", "formats", "opt_out", "owner", "recheck", "service", "submit"]
State = Literal["waiting", "visiting", "listed", "not_listed", "opted_out", "blocked", "dropped", "unknown"]


class NextStep(NamedTuple):
    """`page`: the page of this registry on which to go on."""

    says: str
    page: Page


_AGAIN: Final = "Then have it visited again."

_OF_STATE: Final[Mapping[State, NextStep]] = MappingProxyType({
    "waiting": NextStep("A visit is queued. It usually begins within a minute.", "recheck"),
    "visiting": NextStep("It is being visited now.", "recheck"),
    "opted_out": NextStep("The site opted out. Its operator can end that.", "opt_out"),
    "blocked": NextStep("An operator of this registry blocked it. Write to the contact address to object.", "bot"),
    "dropped": NextStep("Nothing is stored about it now. Submit it again.", "submit"),
    "unknown": NextStep("This registry has not visited it yet. Submit it.", "submit"),
})  # fmt: skip

_OF_HOLD: Final[Mapping[HoldKind, NextStep]] = MappingProxyType({
    "blocked": _OF_STATE["blocked"],
    "quarantined": NextStep("An operator of this registry examines it. Write to the contact address to ask.", "bot"),
    "hidden": NextStep("Its owner can show it again.", "owner"),
})  # fmt: skip

_OF_OUTCOME: Final[Mapping[Outcome, NextStep]] = MappingProxyType({
    Outcome.FOUND: NextStep(
        f"Documents were found, but nothing in them can be listed. Mend the findings. {_AGAIN}", "check"
    ),
    Outcome.NEGATIVE: NextStep(
        f"Its documents say that it offers nothing to agents. Publish what it offers. {_AGAIN}", "formats"
    ),
    Outcome.NOT_A_MANIFEST: NextStep(
        "The known paths answer with other pages than documents for agents. Publish such a document under one of "
        f"them. {_AGAIN}", "formats",
    ),
    Outcome.MALFORMED: NextStep(f"A document was found, but it cannot be read. Check and mend it. {_AGAIN}", "check"),
    Outcome.ABSENT: NextStep(f"None of the known paths has a document for agents. Publish one. {_AGAIN}", "formats"),
    Outcome.GONE: NextStep(f"The host says that its documents are gone. Publish them again. {_AGAIN}", "formats"),
    Outcome.REDIRECTED_AWAY: NextStep("It redirects to another site. Submit the host to which it leads.", "submit"),
    Outcome.REFUSED: NextStep(f"The host refuses the requests. Serve the documents to everyone. {_AGAIN}", "recheck"),
    Outcome.REFUSED_BY_FIREWALL: NextStep(
        f"A firewall refuses the crawler. Let {PRODUCT} in: the page about the crawler says how to recognise it.", "bot"
    ),
    Outcome.RATE_LIMITED: NextStep("The host asked the crawler to wait. It is visited again later.", "recheck"),
    Outcome.SERVER_ERROR: NextStep(f"The host answers with a server error. Mend the server. {_AGAIN}", "recheck"),
    Outcome.UNREACHABLE: NextStep(
        f"The connection broke before the answer was complete. Check the server. {_AGAIN}", "recheck"
    ),
    Outcome.TLS_ERROR: NextStep(
        f"No TLS connection was possible on port 443. Check certificate and TLS version. {_AGAIN}", "recheck"
    ),
    Outcome.TOO_LARGE: NextStep(f"A document is larger than the crawler reads. Make it smaller. {_AGAIN}", "check"),
    Outcome.UNSUPPORTED_ENCODING: NextStep(
        f"A document is compressed in a way that the crawler cannot read. Serve it uncompressed or with gzip. {_AGAIN}",
        "recheck",
    ),
    Outcome.DISALLOWED: NextStep(
        f"robots.txt forbids {PRODUCT} the paths of documents. Allow them there. {_AGAIN}", "bot"
    ),
    Outcome.REFUSED_ADDRESS: NextStep(
        f"The name leads to an address outside the public internet. Point it to a public one. {_AGAIN}", "recheck"
    ),
    Outcome.SKIPPED: NextStep("The visit was postponed or cut short. The rest is visited later by itself.", "recheck"),
})  # fmt: skip

_OF_REASON: Final[tuple[tuple[Outcome, tuple[str, ...], str], ...]] = (
    (Outcome.UNREACHABLE, ("nxdomain", "no_address", "dns_bad_name"),
     "The name has no address in the DNS. Check its spelling, or publish an A or AAAA record."),
    (Outcome.UNREACHABLE, ("dns_",), "The name servers of its domain gave no usable answer. Check the DNS."),
    (Outcome.UNREACHABLE, ("connection_refused", "connect_", "host_unreachable", "network_unreachable"),
     "No connection to port 443 was possible. Check that the server listens there and that no firewall is in between."),
    (Outcome.UNREACHABLE, ("request_timeout", "read_timeout"), "The answer did not come in time. Check the server."),
    (Outcome.TLS_ERROR, ("certificate_expired",), "The TLS certificate has expired. Renew it."),
    (Outcome.TLS_ERROR, ("certificate_not_yet_valid",), "The TLS certificate is not valid yet. Replace it."),
    (Outcome.TLS_ERROR, ("certificate_wrong_name",),
     "The TLS certificate is for other names. Get one for this host."),
    (Outcome.TLS_ERROR, ("certificate_untrusted",),
     "The TLS certificate is not from a public authority, or the chain is incomplete. Serve the whole chain."),
    (Outcome.TLS_ERROR, ("certificate_",), "The TLS certificate is not valid. Replace it."),
    (Outcome.DISALLOWED, ("robots_",),
     "robots.txt could not be read, so nothing else was requested. Serve it, or answer 404."),
)  # fmt: skip
"""Outcome and beginnings of the reason -> what is more exact than the text of the outcome."""


def next_step(
    state: State,
    outcome: Outcome | None = None,
    reason: str = "",
    *,
    holds: Collection[HoldKind] = (),
    alias_of: str | None = None,
    has_errors: bool = False,
) -> NextStep:
    """Return what to do about a host. `holds`: the holds on it. `alias_of`: the host that answers for it.
    `has_errors`: findings of severity error."""
    if state in _OF_STATE:
        return _OF_STATE[state]
    if state == "listed":
        if has_errors:
            return NextStep(f"It is listed, with errors. Mend the findings. {_AGAIN}", "check")
        return NextStep("It is listed. Prove that it is yours to decide about the entry.", "claim")
    for kind, step in _OF_HOLD.items():
        if kind in holds:
            return step
    if alias_of is not None:
        return NextStep("Another host answers for it. See the entry of that host.", "service")
    for of, beginnings, says in _OF_REASON:
        if outcome is of and reason.startswith(beginnings):
            return NextStep(f"{says} {_AGAIN}", _OF_OUTCOME[of].page)
    return _OF_OUTCOME[outcome] if outcome is not None else _OF_STATE["waiting"]
