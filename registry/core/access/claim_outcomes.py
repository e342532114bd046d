"""What the check of a claim found, in words, and what its claimant can do about it."""

import re
from typing import Final, NamedTuple

from registry.core.access.claims import FILE_PATH, Answer, Method


class ClaimFinding(NamedTuple):
    """`says`: what was found. `fix`: what to do; empty if nothing is to be done."""

    says: str
    fix: str = ""


def explain(method: Method, answer: Answer | None, reason: str) -> ClaimFinding:
    """Return what the last check found. `reason`: its code, empty if it is not known; `answer` None: no check yet."""
    if answer is None:
        return _NOT_YET
    if answer == "published":
        return ClaimFinding("The value was read.")
    if status := _STATUS.fullmatch(reason):
        return _of_status(int(status[1]))
    exact = (_RECORD if method == "dns" else _FILE).get(reason)
    if exact is not None:
        return exact
    for beginning, explained in _BEGINNINGS:
        if reason.startswith(beginning):
            return explained
    return _MISSING if answer == "missing" else _UNANSWERED


_STATUS: Final = re.compile("http_([1-9][0-9]{2})")

_NOT_YET: Final = ClaimFinding("Not checked yet.", "Publish the value, then have it checked.")
_MISSING: Final = ClaimFinding(
    "The value is not there: the record or file is missing, or has other content.",
    "Publish the value, then have it checked again.",
)
_UNANSWERED: Final = ClaimFinding(
    "No definite answer came. Nothing changed.", "Have it checked again in a few minutes."
)

_RECORD: Final = {
    "no_record": ClaimFinding(
        "There is no TXT record of this name.",
        "Add the record. It can take from minutes to hours until name servers show it. Many DNS providers add "
        "the domain to the name by themselves: there, write the name without the domain.",
    ),
    "other_record": ClaimFinding(
        "There are TXT records of this name, but none of them is the value.",
        "Compare it letter by letter: the value is the whole record, without further text. Other records may stay.",
    ),
}  # fmt: skip

_FILE: Final = {
    "web_page": ClaimFinding(
        "The address answers with a web page, not with the file.",
        "The server sends its start page for paths that it does not know. Let it send the file itself, as plain text.",
    ),
    "other_text": ClaimFinding(
        "The file is there, but no line of it is the value.",
        "Put the value on a separate line. Other lines may stay.",
    ),
    "redirect": ClaimFinding(
        "The address redirects to another host, which proves nothing about this one.",
        "Serve the file from this host itself. A redirect within the host, or to its www., is followed.",
    ),
    "not_visited": ClaimFinding(
        "This host has opted out or is blocked, so the file is not requested.", "Prove it by TXT record instead."
    ),
    "refused_address": ClaimFinding(
        "The host's address is not one of the public internet.", "Prove it by TXT record instead."
    ),
    "connection_refused": ClaimFinding(
        "The host refused the connection on port 443.", "The file is read over https: let the server listen there."
    ),
    "certificate_expired": ClaimFinding(
        "The TLS certificate of the host has expired.", "Renew the certificate, or prove the host by TXT record."
    ),
    "certificate_wrong_name": ClaimFinding(
        "The TLS certificate is for another name.",
        "Use a certificate that names this host, or prove the host by TXT record.",
    ),
    "certificate_untrusted": ClaimFinding(
        "The TLS certificate is not from an authority that browsers trust, or its chain is not complete.",
        "Install the full chain of a trusted certificate, or prove the host by TXT record.",
    ),
}  # fmt: skip

_NO_TIME: Final = ClaimFinding(
    "The host did not answer in time.",
    "Look whether a firewall holds requests of programs back, then have it checked again.",
)
_NO_ADDRESS: Final = ClaimFinding(
    "The host has no address in the DNS.", "Add an address, or prove the host by TXT record."
)
_BEGINNINGS: Final = (
    ("certificate", ClaimFinding(
        "The TLS certificate of the host is not valid.", "Mend the certificate, or prove the host by TXT record."
    )),
    ("tls", ClaimFinding(
        "The TLS connection to the host failed.", "Offer TLS 1.2 or 1.3, or prove the host by TXT record."
    )),
    ("dns_timeout", ClaimFinding(
        "The name servers did not answer in time.", "Have it checked again in a few minutes."
    )),
    ("dns_", ClaimFinding(
        "The name servers answered with an error.",
        "Look whether the zone is valid (DNSSEC included), then have it checked again.",
    )),
    ("nxdomain", _NO_ADDRESS), ("no_address", _NO_ADDRESS),
    ("check_timeout", _NO_TIME), ("request_timeout", _NO_TIME), ("connect_timeout", _NO_TIME),
    ("read_timeout", _NO_TIME), ("host_deadline", _NO_TIME),
    ("redirect_", ClaimFinding(
        "The address redirects in a way that is not followed.", "Serve the file at the address itself."
    )),
    ("connect", ClaimFinding("The connection to the host failed.", "Have it checked again when the site answers.")),
)  # fmt: skip
"""Beginning of a reason -> what it means, for a record and a file alike. The first that fits counts."""


def _of_status(status: int) -> ClaimFinding:
    if status in (404, 410):
        return ClaimFinding(
            f"There is no file at this address (status {status}).",
            f"Publish it as {FILE_PATH}. Some servers leave out folders whose names begin with a dot.",
        )
    if status in (401, 403):
        return ClaimFinding(
            f"The server refuses the file (status {status}).",
            "Let everybody read this address, without login. A firewall may be what refuses programs.",
        )
    if status == 429:
        return ClaimFinding("The server asks to wait (status 429).", "Have it checked again in a few minutes.")
    if status >= 500:
        return ClaimFinding(
            f"The server answered with an error (status {status}).", "Have it checked again when the site answers."
        )
    return ClaimFinding(
        f"The server answered with status {status} instead of the file.", "Let it answer with status 200 and the file."
    )
