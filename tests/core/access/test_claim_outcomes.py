"""What a check of a claim found, in words: every reason has a sentence, and says what to do."""

import pytest

from registry.core.access.claim_outcomes import explain
from registry.core.access.claims import METHODS, Answer, Method


@pytest.mark.parametrize(
    ("method", "answer", "reason", "says"),
    [
        ("file", None, "", "Not checked yet."),
        ("dns", "published", "", "The value was read."),
        ("dns", "missing", "no_record", "There is no TXT record"),
        ("dns", "missing", "other_record", "none of them is the value"),
        ("dns", "unanswered", "dns_timeout", "did not answer in time"),
        ("dns", "unanswered", "dns_servfail", "answered with an error"),
        ("file", "missing", "http_404", "no file at this address (status 404)"),
        ("file", "missing", "http_410", "no file at this address (status 410)"),
        ("file", "missing", "http_401", "refuses the file (status 401)"),
        ("file", "missing", "http_204", "status 204 instead of the file"),
        ("file", "missing", "redirect", "redirects to another host"),
        ("file", "missing", "web_page", "a web page"),
        ("file", "missing", "other_text", "no line of it is the value"),
        ("file", "unanswered", "http_429", "asks to wait"),
        ("file", "unanswered", "http_503", "an error (status 503)"),
        ("file", "unanswered", "certificate_expired", "has expired"),
        ("file", "unanswered", "certificate_invalid", "is not valid"),
        ("file", "unanswered", "tls_protocol", "TLS connection"),
        ("file", "unanswered", "connection_refused", "refused the connection"),
        ("file", "unanswered", "connect_timeout", "did not answer in time"),
        ("file", "unanswered", "connect_reset", "connection to the host failed"),
        ("file", "unanswered", "nxdomain", "no address"),
        ("file", "unanswered", "redirect_loop", "not followed"),
        ("file", "unanswered", "not_visited", "opted out or is blocked"),
        ("file", "unanswered", "what a later program writes {host}", "No definite answer"),
        ("file", "missing", "", "The value is not there"),
        ("file", "missing", "http_4040", "The value is not there"),
    ],
)
def test_a_reason_is_told_in_words(method: Method, answer: Answer | None, reason: str, says: str) -> None:
    told = explain(method, answer, reason)
    assert says in told.says
    assert bool(told.fix) == (answer != "published")
    assert not set("{}`_\0") & set(told.says), "plain words"


def test_reasons_of_the_transport_have_the_same_words_for_both_methods() -> None:
    assert len({explain(method, "unanswered", "dns_refused") for method in METHODS}) == 1
