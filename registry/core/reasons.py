"""Explain every reason code that an answer or a page can show: a sentence, a remedy, and where to read on.

Rules of the rubric keep their codes (`adp.base_url`). All other codes begin with their family: `visit.` (outcomes and
reasons of visits), `trust.`, `call.`, `hold.`, `request.` (refused submissions, visits and reports), `opt_out.`,
`claim.`, `name.` and `difference.`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from registry.core.calling.reach import WHY_NOT_CALLABLE
from registry.core.evidence import WHY_NOT
from registry.core.formats import FORMATS
from registry.core.merging.trust import REASONS
from registry.core.model.documents import Outcome
from registry.core.model.findings import Rule
from registry.core.names.domains import NAME_FAULTS
from registry.core.scoring.rubric import RUBRIC
from registry.core.visiting.shares import SKIPPED_TEXTS

_RFC: Final = re.compile(r"^RFC (\d+)(?: section (\d+(?:\.\d+)*))?")
_OTHERS: Final[Mapping[str, str]] = MappingProxyType({
    "OWASP LLM": "https://genai.owasp.org/llm-top-10/",
    "UTS ": "https://www.unicode.org/reports/tr39/",
    "Unicode UTR ": "https://www.unicode.org/reports/tr36/",
    "YAML ": "https://yaml.org/spec/1.2.2/",
    "HTML": "https://html.spec.whatwg.org/multipage/",
    "W3C ": "https://www.w3.org/TR/did-1.0/",
})  # fmt: skip
BOT: Final = "/bot"
_ROBOTS: Final = "https://www.rfc-editor.org/rfc/rfc9309"
_HTTP: Final = "https://www.rfc-editor.org/rfc/rfc9110"
_TLS: Final = "https://www.rfc-editor.org/rfc/rfc9525"
_DNS: Final = "https://www.rfc-editor.org/rfc/rfc1034"


@dataclass(frozen=True, slots=True)
class ReasonText:
    """`code`: with its family. `link`: an https URL, or the path of a page of every registry that has pages."""

    code: str
    says: str
    fix: str
    link: str

    @property
    def family(self) -> str:
        return self.code.partition(".")[0]


def citation_link(spec: str) -> str:
    """Return the address of the first specification that a rule cites; the page of the rubric if it has none."""
    for part in spec.split("; "):
        if (found := _RFC.match(part)) is not None:
            return f"https://www.rfc-editor.org/rfc/rfc{found[1]}" + (f"#section-{found[2]}" if found[2] else "")
        for prefix, link in _OTHERS.items():
            if part.startswith(prefix):
                return link
        for form in FORMATS:
            if part.startswith((form.cited_as or form.spec, form.spec)):
                return form.link or f"/formats/{form.slug}"
    return "/rubric"


def of_rule(rule: Rule) -> ReasonText:
    return ReasonText(rule.code, rule.says, rule.fix, citation_link(rule.spec))


# fmt: off
_OUTCOMES: Final[Mapping[Outcome, tuple[str, str, str]]] = {
    Outcome.FOUND: ("A document for agents was found.", "No change is needed.", "/formats"),
    Outcome.NEGATIVE: (
        "A file says that the protocol is not offered.", "Answer 404 instead: absence needs no file.", "/formats",
    ),
    Outcome.NOT_A_MANIFEST: (
        "Something was served, but no document that describes a service.",
        "Compare the document with the smallest one of its format, and check it before you publish it.", "/formats",
    ),
    Outcome.MALFORMED: (
        "A document was served that cannot be read.", "Check the document; the finding names the line.", "/check",
    ),
    Outcome.ABSENT: (
        "Nothing was found at any address where documents for agents are served.",
        "Publish a document at an address of its format, then ask for a visit.", "/formats",
    ),
    Outcome.GONE: ("The address answers 410: the document was removed.", "Publish it again, or leave it so.", _HTTP),
    Outcome.REDIRECTED_AWAY: (
        "The host redirects to another one.", "Submit the other host, or serve the document here.", "/submit",
    ),
    Outcome.REFUSED: (
        "The host refuses the request of the crawler.",
        "Allow requests without credentials to the addresses of the documents.", BOT,
    ),
    Outcome.REFUSED_BY_FIREWALL: (
        "A firewall refuses the crawler, so its documents are unknown.",
        "Let the crawler in: its page says how to recognise it.", BOT,
    ),
    Outcome.RATE_LIMITED: (
        "The host answers that it gets too many requests.",
        "No change is needed: the crawler comes back when the host allows it.", BOT,
    ),
    Outcome.SERVER_ERROR: ("The host answers with a server error.", "Look at the host's own log for the cause.", _HTTP),
    Outcome.UNREACHABLE: (
        "The host cannot be reached.", "Check its name in DNS, and that it answers HTTPS on port 443.", BOT,
    ),
    Outcome.TLS_ERROR: (
        "No secure connection to the host is possible.",
        "Serve a valid certificate for this name, with all intermediate certificates.", _TLS,
    ),
    Outcome.TOO_LARGE: (
        "The answer is larger than this registry reads.", "Split the document, and link to the details.", BOT,
    ),
    Outcome.UNSUPPORTED_ENCODING: (
        "The answer is compressed in a way that the crawler does not accept.",
        "Send gzip, or no compression, as the request says in Accept-Encoding.", _HTTP,
    ),
    Outcome.DISALLOWED: (
        "robots.txt of the host does not allow the request.",
        "Allow the addresses of the documents for the crawler's name in robots.txt.", _ROBOTS,
    ),
    Outcome.REFUSED_ADDRESS: (
        "The address of the host is not one of the public internet, so it is never visited.",
        "Point the name to a public address.", BOT,
    ),
    Outcome.SKIPPED: (
        "The visit or the request was not made.", "No change is needed: a later visit makes it.", BOT,
    ),
}

_TRY: Final = "Answer a request for this address over HTTPS, then ask for a visit."
_CERTIFICATE: Final = "Install a certificate for this name from a public authority, and keep it renewed."
_ZONE: Final = "Check the name in DNS, and the name servers of its zone."
_DIRECT: Final = "Serve the document at the address itself, without a redirect."
_LATER: Final = "No change is needed: a later visit makes up for it."
_VISITS: Final[Mapping[str, tuple[str, str, str]]] = {
    "nxdomain": ("The name does not exist in DNS.", _ZONE, _DNS),
    "no_address": ("The name has no address in DNS.", _ZONE, _DNS),
    "dns_timeout": ("The name servers of the host did not answer in time.", _ZONE, _DNS),
    "dns_servfail": ("The name servers of the host answered with a failure.", _ZONE, _DNS),
    "dns_refused": ("The name servers of the host refused the question.", _ZONE, _DNS),
    "dns_unreachable": ("The name servers of the host could not be reached.", _ZONE, _DNS),
    "dns_bad_name": ("The name cannot be asked for in DNS.", _ZONE, _DNS),
    "dns_error": ("The name could not be looked up.", _ZONE, _DNS),
    "resolver_away": ("The name servers of this registry did not answer.", _LATER, _DNS),
    "connection_refused": ("The host refuses connections on port 443.", _TRY, BOT),
    "connect_reset": ("The host ended the connection before it was made.", _TRY, BOT),
    "connect_timeout": ("The host did not accept the connection in time.", _TRY, BOT),
    "request_timeout": ("The host did not answer the request in time.", _TRY, BOT),
    "read_timeout": ("The host stopped in the middle of its answer.", _TRY, BOT),
    "host_unreachable": ("There is no route to the host.", _TRY, BOT),
    "network_unreachable": ("There is no route to the host's network.", _TRY, BOT),
    "network_error": ("The connection failed.", _TRY, BOT),
    "reset": ("The host ended the connection during the request.", _TRY, BOT),
    "closed": ("The host ended the connection without an answer.", _TRY, BOT),
    "incomplete_body": ("The answer ended before its announced length.", "Send the length that is served.", _HTTP),
    "protocol_error": ("The answer breaks the rules of HTTP.", "Check the server or the proxy before it.", _HTTP),
    "flood": ("The host sent more than was asked for, so the connection was ended.", _TRY, BOT),
    "certificate_expired": ("The certificate has expired.", _CERTIFICATE, _TLS),
    "certificate_not_yet_valid": ("The certificate is not valid yet.", _CERTIFICATE, _TLS),
    "certificate_wrong_name": ("The certificate is for another name.", _CERTIFICATE, _TLS),
    "certificate_untrusted": ("The certificate is of no authority that browsers trust.", _CERTIFICATE, _TLS),
    "certificate_revoked": ("The certificate was revoked.", _CERTIFICATE, _TLS),
    "certificate_invalid": ("The certificate is not valid.", _CERTIFICATE, _TLS),
    "tls_closed": ("The host ended the TLS handshake.", "Support TLS 1.2 or 1.3.", _TLS),
    "tls_protocol": ("The TLS handshake failed.", "Support TLS 1.2 or 1.3.", _TLS),
    "headers": ("The header of the answer is too large.", "Send fewer or shorter header fields.", _HTTP),
    "body": ("The body of the answer is too large.", "Split the document, and link to the details.", BOT),
    "chunks": ("The answer comes in too many small parts.", "Send larger parts, or the length.", _HTTP),
    "no_room": ("The crawler had no memory left for the answer.", _LATER, BOT),
    "encoding": ("The compression of the answer is not supported.", "Send gzip, or no compression.", _HTTP),
    "gzip_truncated": ("The compressed answer ends too early.", "Send the whole compressed body.", _HTTP),
    "gzip_corrupt": ("The compressed answer is damaged.", "Compress the body again.", _HTTP),
    "gzip_trailing_data": ("Something follows the compressed answer.", "Send nothing after the body.", _HTTP),
    "host_deadline": ("The visit took too long and was ended.", "Answer faster; the next visit goes on.", BOT),
    "visit_budget": ("The requests of one visit were used up.", _LATER, BOT),
    "redirect_budget": ("The requests of one visit were used up, so a redirect was not followed.", _LATER, BOT),
    "nothing_asked": ("Nothing was requested in this visit.", _LATER, BOT),
    "moved": ("The address moved to another host, which is asked instead.", "No change is needed.", BOT),
    **{code: (says, _LATER, BOT) for code, says in SKIPPED_TEXTS.items()},
    "opt_out": ("The site opted out: it is neither visited nor listed.", "End the opt-out to come back.", "/opt-out"),
    "robots": ("A rule of robots.txt disallows the address.", "Allow the address in robots.txt.", _ROBOTS),
    "robots_unreachable": (
        "robots.txt could not be read, so nothing is requested.", "Serve robots.txt, or answer 404 for it.", _ROBOTS,
    ),
    "robots_unavailable": (
        "robots.txt answers with an error, so nothing is requested.", "Serve it, or answer 404 for it.", _ROBOTS,
    ),
    "robots_not_read": ("robots.txt was not read yet, so nothing is requested.", _LATER, _ROBOTS),
    "html": ("A web page was served where a document was asked for.", "Answer 404 for paths that do not exist.", _HTTP),
    "text": ("A text was served where JSON was asked for.", "Serve the document as JSON, or answer 404.", "/formats"),
    "event_stream": ("A stream of events was served: a live MCP server.", "Serve a card beside it.", "/formats"),
    "json_array": ("The JSON is a list, not an object.", "Publish one object.", "/formats"),
    "json_scalar": ("The JSON is a single value, not an object.", "Publish one object.", "/formats"),
    "unrecognised": ("The JSON matches no known format.", "Name the format as its specification asks.", "/formats"),
    "empty": ("The answer is empty.", "Publish the document, or answer 404.", "/formats"),
    "foreign": ("The JSON belongs to a scheme that this registry does not read.", "No change is needed.", "/formats"),
    "stated_absence": ("The file says that the protocol is not offered.", "Answer 404 instead.", "/formats"),
    "no_tools": ("The MCP server names no tools.", "Answer tools/list with the tools.", "/formats"),
    "no_rpc_reply": ("The MCP server did not answer as JSON-RPC.", "Answer initialize.", "/formats"),
    "rpc_error": ("The MCP server answered with an error.", "Answer tools/list.", "/formats"),
    "redirected": ("The document was reached through a redirect, which its format forbids.", _DIRECT, "/formats"),
    "control_equal": (
        "The answer is the same as for a name that does not exist.", "Answer 404 for paths that do not exist.", _HTTP,
    ),
    "echo_host": ("Every path of this host answers with JSON.", "Answer 404 for paths that do not exist.", _HTTP),
    "unchanged": ("The document has not changed since the last visit.", "No change is needed.", _HTTP),
    "alias": ("Another host of the same domain answers for this one.", "No change is needed.", BOT),
    "only": ("The host serves documents, but none that describes a service.", "Add a document about it.", "/formats"),
    "status": ("The status of the answer decides: no body is read.", "Answer 200 with the document.", _HTTP),
    "redirected_to": ("The host redirects to another site.", "Submit that site, or serve it here.", "/submit"),
    "redirect_home": ("The address redirects to the front page.", "Answer 404 for what does not exist.", _HTTP),
    "redirect_loop": ("The redirects never end.", _DIRECT, _HTTP),
    "redirect_without_location": ("A redirect names no address.", "Send Location.", _HTTP),
    "redirect_two_locations": ("A redirect names two addresses.", "Send Location once.", _HTTP),
    "redirect_not_ascii": ("A redirect's address cannot be read.", "Percent-encode Location.", _HTTP),
    "redirect_unreadable": ("A redirect's address is not a URL.", "Send a valid URL in Location.", _HTTP),
    "redirect_http": ("A redirect leads to http.", "Redirect to https only.", _HTTP),
    "redirect_scheme": ("A redirect leads to another scheme than https.", "Redirect to https only.", _HTTP),
    "redirect_address": ("A redirect leads to an IP address.", "Redirect to a host name.", BOT),
    "redirect_userinfo": ("A redirect's address holds credentials.", "Redirect without them.", BOT),
    "redirect_port": ("A redirect leads to another port than 443.", "Redirect to port 443.", BOT),
    "redirect_name": ("A redirect leads to a name that is not public.", "Redirect to a public name.", BOT),
    "redirect_post": ("The host redirects a POST request.", "Answer at the address itself.", _HTTP),
    "redirect_other_host": ("A redirect leads to another host, which is asked by itself.", _LATER, BOT),
    "redirect_other_host_post": ("A POST request is redirected to another host.", "Answer here.", _HTTP),
    "truncated": ("The document is larger than this registry reads.", "Split it, and link to details.", BOT),
    "needs_values": ("The address needs values that a check does not send.", "No change is needed.", BOT),
    "method_not_known": ("The host does not know the method of the check.", "No change is needed.", _HTTP),
    "options_not_routed": ("The host answers OPTIONS with 404 everywhere.", "Answer OPTIONS (RFC 9110).", _HTTP),
    "challenge": ("A firewall asks the visitor to prove to be human.", "Let the crawler in.", BOT),
    "block": ("A firewall blocks the crawler.", "Let the crawler in.", BOT),
    "edge": ("The network before the site refuses the crawler.", "Let the crawler in.", BOT),
}
"""Reason of an answer or a visit, without its detail, beside those of unreadable documents (rules `document.*`)."""

_HOLDS: Final[Mapping[str, tuple[str, str]]] = {
    "blocked": (
        "An operator of this registry blocked the host: it is neither visited nor listed.",
        "Write to the operator of this registry; the audit log names the decision.",
    ),
    "quarantined": (
        "An operator of this registry examines the host: it is visited, and not listed until that has ended.",
        "Wait, or write to the operator of this registry.",
    ),
    "hidden": ("Its owner hides the host: it is visited and not listed.", "The owner shows it again on its own page."),
}
_LIMIT: Final = "Try again after the time that the answer names."
_REQUESTS: Final[Mapping[str, tuple[str, str, str]]] = {
    "unknown": ("The host is not known to this registry.", "Submit the host first.", "/submit"),
    "unknown_capability": ("The host lists no capability of this name.", "Use a name that its page shows.", "/search"),
    "opted_out": ("The site opted out.", "Its operator can end the opt-out.", "/opt-out"),
    "blocked": ("An operator of this registry blocked the host.", "Write to the operator.", BOT),
    "too_soon": ("The host was visited a moment ago.", _LIMIT, BOT),
    "asked_for_time": ("The host asks not to be visited before a certain time.", _LIMIT, BOT),
    "client_budget": ("You have used all requests of this kind for a day.", _LIMIT, BOT),
    "domain_budget": ("All visits that strangers may ask for to this domain were used.", _LIMIT, BOT),
    "too_many": (
        "Too many hosts of this domain wait for their first visit.", "Submit the domain itself, or its www.", BOT,
    ),
    "busy": ("Too many requests of this kind are waiting.", _LIMIT, BOT),
    "client_domain": ("You submitted too many new hosts of this domain within a day.", _LIMIT, BOT),
    "client_unresolved": ("Too many names that you submitted have no address.", "Check the names in DNS.", BOT),
}
_OPT_OUTS: Final[Mapping[str, tuple[str, str]]] = {
    "opted_out": ("The site opted out, and the opt-out is in effect.", "End the opt-out at the site to come back."),
    "no_proof": ("The site declares no opt-out.", "Publish the file or the TXT record, then check again."),
    "served_elsewhere": ("The file is on another host, after a redirect.", "Serve the file on the host itself."),
    "unanswered": ("The file or the record could not be read.", "Check that the site answers, then check again."),
    "readmitted": ("The opt-out has ended: the site may be visited again.", "Submit the site to be listed sooner."),
    "still_says_so": ("The site still declares its opt-out.", "Remove the file, the record or the rule first."),
    "by_operator": ("An operator of this registry made the opt-out.", "Write to the operator of this registry."),
    "by_owner": ("The owner made the opt-out with a token.", "End it with the owner's token."),
    "not_opted_out": ("There is no opt-out to end.", "No change is needed."),
}
_CLAIMS: Final[Mapping[str, tuple[str, str]]] = {
    "published": ("The value was read: the claim is proven.", "Keep the value published."),
    "missing": ("The value is not published at the place.", "Publish the value exactly, then check again."),
    "unanswered": ("The place could not be read.", "Check that the name servers or the host answer."),
    "no_longer_published": ("The ownership ended: the value was removed.", "Publish it, and claim again."),
    "transferred": ("The ownership ended: another claim of the host was proven later.", "Claim the host again."),
    "given_up": ("The owner gave the ownership up.", "Claim the host again to return."),
    "forgotten": ("The ownership ended with the data of the host.", "Claim the host again to return."),
}
# fmt: on
_NOT_CALLED: Final = "Name an https endpoint and its method in the document that describes the capability."


def _all() -> Iterator[ReasonText]:
    yield from map(of_rule, RUBRIC.values())
    for outcome, texts in _OUTCOMES.items():
        yield ReasonText(f"visit.{outcome}", *texts)
    for code, texts in _VISITS.items():
        yield ReasonText(f"visit.{code}", *texts)
    for reason in REASONS.values():
        yield ReasonText(f"trust.{reason.code}", reason.says, reason.fix, "/rubric#trust")
    for code, says in WHY_NOT_CALLABLE.items():
        yield ReasonText(f"call.{code}", says, _NOT_CALLED, "/formats")
    for code, (says, fix) in _HOLDS.items():
        yield ReasonText(f"hold.{code}", says, fix, "/audit")
    for code, texts in _REQUESTS.items():
        yield ReasonText(f"request.{code}", *texts)
    for code, (says, fix) in _OPT_OUTS.items():
        yield ReasonText(f"opt_out.{code}", says, fix, "/opt-out")
    for code, (says, fix) in _CLAIMS.items():
        yield ReasonText(f"claim.{code}", says, fix, "/docs/ownership")
    for code, says in NAME_FAULTS.items():
        yield ReasonText(
            f"name.{code}",
            f"{says[0].upper()}{says[1:]}.",
            "Give the name of a public host, such as example.org.",
            "/submit",
        )
    for code, says in WHY_NOT.items():
        yield ReasonText(f"difference.{code}", says, "No change is needed: both versions are listed.", "/docs")


TEXTS: Final[Mapping[str, ReasonText]] = MappingProxyType({one.code: one for one in _all()})
"""Every reason code with its text, the rules of the rubric first."""

FAMILIES: Final[Mapping[str, str]] = MappingProxyType({
    "visit": "How visits and requests end",
    "trust": "Why a trust level is not higher",
    "call": "Why a capability has no call",
    "hold": "Why a listing is held back",
    "request": "Why a request is refused",
    "opt_out": "Results of opt-outs",
    "claim": "Results of claims, and ends of ownerships",
    "name": "Why a host name is refused",
    "difference": "Why no difference is shown",
})  # fmt: skip
"""Families beside the rules of the rubric, with their titles."""


def visit_code(outcome: str, reason: str) -> str:
    """Return the code whose text explains how a visit or a request ended: of the reason if it is known, else of the
    outcome; `visit.skipped` for an unknown outcome. Reasons with details (`foreign:x`, `status_503`) count without."""
    word = reason.partition(":")[0]
    if re.fullmatch(r"robots_\d+", word):
        word = "robots_unavailable"
    elif found := re.fullmatch(r"(status|rpc_error)_-?\d+", word):
        word = found[1]
    elif word.startswith("to "):
        word = "redirected_to"
    elif word.startswith("only "):
        word = "only"
    for code in (f"visit.{word}", f"document.{word}", f"visit.{outcome}"):
        if code in TEXTS:
            return code
    return f"visit.{Outcome.SKIPPED}"
