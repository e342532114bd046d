"""Addresses in documents: joined with their base, kept with their variables, removed if they must not be called."""

import pytest

from registry.core.format_support import common_rules
from registry.core.format_support.endpoints import Endpoint, claim, endpoint, link, page
from registry.core.format_support.manifest import Notes
from registry.core.model.documents import Document, Json
from registry.core.model.findings import Finding

SERVED = "https://api.shop.example/.well-known/agent.json"


def read(target: Json, base: str = SERVED) -> tuple[Endpoint | None, tuple[Finding, ...]]:
    notes = Notes()
    found = endpoint(target, base, Document(b"", None, SERVED), "/endpoint", notes)
    return found, notes.findings()


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/orders", "https://api.shop.example/orders"),
        ("orders", "https://api.shop.example/.well-known/orders"),
        ("https://other.com/a#part", "https://other.com/a"),
        ("//other.com/a", "https://other.com/a"),
        ("https://other.com:8443/a", "https://other.com:8443/a"),
        ("wss://www.shop.example/socket", "wss://www.shop.example/socket"),
        ("https://8.8.8.8/dns", "https://8.8.8.8/dns"),
        ("HTTPS://BÜCHER.com/", "https://xn--bcher-kva.com/"),
    ],
)
def test_public_endpoints_are_kept(target: str, url: str) -> None:
    assert read(target) == (Endpoint(url), ())


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("/orders/{id}?full={full}", "https://api.shop.example/orders/{id}?full={full}"),
        ("https://{tenant}.shop.com/a", "https://{tenant}.shop.com/a"),
        ("https://{host}/a", "https://{host}/a"),
        ("/orders/:id/lines", "https://api.shop.example/orders/:id/lines"),
        ("/orders/<order id>?key=<YOUR_TOKEN>", "https://api.shop.example/orders/{order_id}?key={YOUR_TOKEN}"),
    ],
)
def test_variables_stay_and_are_marked(target: str, url: str) -> None:
    found, findings = read(target)
    assert found == Endpoint(url, templated=True)
    assert [finding.rule for finding in findings] == [common_rules.ENDPOINT_TEMPLATED]


@pytest.mark.parametrize(
    "target",
    [
        "http://other.com/",
        "ws://other.com/",
        "ftp://other.com/",
        "javascript:alert(1)",
        "file:///etc/passwd",
        "https://localhost/",
        "https://printer.local/",
        "https://service.internal/x",
        "https://intranet/",
        "https://other.example/",
        "https://127.0.0.1/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://169.254.169.254/latest",
        "https://10.1.2.3/",
        "https://[::1]/",
        "https://[::ffff:10.0.0.1]/",
        "https://user:secret@other.com/",
        "https://other.com\\@localhost/",
        "https://{x}.localhost/",
        "https://127.0.0.{x}/",
    ],
)
def test_private_endpoints_are_removed(target: str) -> None:
    found, findings = read(target)
    assert found is None
    assert [finding.rule for finding in findings] in (
        [common_rules.ENDPOINT_NOT_PUBLIC],
        [common_rules.ENDPOINT_INVALID],
    )


@pytest.mark.parametrize("target", ["https://", "https://a b.com/", "https://[::1", "/" + "x" * 3_000, "coming soon"])
def test_an_invalid_url_is_a_finding(target: str) -> None:
    found, findings = read(target)
    assert found is None
    assert [finding.rule for finding in findings] == [common_rules.ENDPOINT_INVALID]


@pytest.mark.parametrize("target", [None, 5, "", "  ", ["/a"]])
def test_no_text_is_no_endpoint_and_no_finding(target: Json) -> None:
    assert read(target) == (None, ())


@pytest.mark.parametrize(
    "target",
    [
        "https://{{ host }}/",
        "https://forms.com/f/YOUR_FORM_ID",
        "https://<your-domain>/mcp",
        "https://[YOUR_HOST]/mcp",
        "https://your-domain.com/mcp",
        "http://api.yourcompany.io/v1",
        "https://your-agent-host.net/",
        "https://your-app.vercel.app/mcp",
        "https://change-me.dev/",
    ],
)
def test_placeholders_are_named(target: str) -> None:
    found, findings = read(target)
    assert found is None
    assert [finding.rule for finding in findings] == [common_rules.TEMPLATE]


@pytest.mark.parametrize(
    ("target", "url"),
    [
        ("https://your-team.tracker.net/api", "https://your-team.tracker.net/api"),  # a tenant of an existing site
        ("https://yourmechanic.com/api", "https://yourmechanic.com/api"),
        ("https://other.com/mcp?key=YOUR_API_KEY", "https://other.com/mcp?key=YOUR_API_KEY"),
        ("https://other.com/your_account/keys", "https://other.com/your_account/keys"),
    ],
)
def test_names_and_keys_of_the_caller_are_no_placeholders(target: str, url: str) -> None:
    assert read(target) == (Endpoint(url), ())


@pytest.mark.parametrize("target", ["https://example.com/mcp", "https://api.example.org/", "https://shop.example.io/"])
def test_reserved_names_are_samples_in_a_document_of_a_real_site(target: str) -> None:
    assert read(target) == (Endpoint(target), ())  # SERVED is reserved itself, as the examples of specifications are
    notes = Notes()
    served = "https://mill-works.com/.well-known/agent.json"
    assert endpoint(target, served, Document(b"", None, served), "", notes) == Endpoint(target, templated=True)
    assert [finding.rule for finding in notes.findings()] == [common_rules.ENDPOINT_SAMPLE]


def test_a_site_with_such_a_name_may_name_itself() -> None:
    served = "https://your-domain.com/agent.json"
    assert endpoint("/mcp", served, Document(b"", None, served), "", Notes()) == Endpoint("https://your-domain.com/mcp")


def test_links_cause_no_findings() -> None:
    assert link("/terms", SERVED) == "https://api.shop.example/terms"
    assert link("http://other.com/", SERVED) is None
    assert link(7, SERVED) is None


@pytest.mark.parametrize("target", ["ask at the desk", "none", "TBD", "GET /docs", " "])
def test_a_sentence_or_a_word_is_no_link(target: str) -> None:
    assert link(target, SERVED) is None


@pytest.mark.parametrize(
    ("domain", "warned"),
    [
        ("api.shop.example", False),
        ("https://v2.api.shop.example/x", False),
        ("shop.example", True),
        ("https://www.shop.example/x", True),
        ("other.com", True),
        ("https://shop.example.other.com/", True),
        ("not a host", False),
    ],
)
def test_unverified_claims_are_kept_with_a_finding(domain: str, warned: bool) -> None:
    notes = Notes()
    assert claim(domain, Document(b"", None, SERVED), "/domain", notes) == domain
    assert bool(notes.findings()) is warned


def test_the_address_of_a_page_keeps_the_place_in_it() -> None:
    assert page("https://shop.example/#Docs", SERVED) == "https://shop.example/#Docs"
    assert page("/docs", SERVED) == link("/docs", SERVED) == "https://api.shop.example/docs"
    assert page("https://shop.example/#" + "d" * 3_000, SERVED) == "https://shop.example/"
    assert page("http://shop.example/#docs", SERVED) is None
    assert page(7, SERVED) is None
