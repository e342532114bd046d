"""What a host says of its parent, of a sibling, or with tokens of a listed site, is `verified` only if confirmed."""

from typing import Any

import pytest

from registry.core.format_support import common_rules
from registry.core.merging.merge import merge
from registry.core.merging.speaking import NOTHING_KNOWN, Known, depends_on, named_hosts, spoken_of
from registry.core.merging.trust import trust_of
from registry.core.model.services import Auth, AuthScheme, Capability, Invocation, Pointer, Protocol, Service
from tests.core.documents import CARD_PATH, a2a_card
from tests.core.merging.test_claims import awp, listed
from tests.support.builders import adp_manifest
from tests.support.holding import findings_of, held

PLATFORM, HOST, SIBLING = "q12.example", "u1.q12.example", "u2.q12.example"
VICTIM, ISSUER = "bank.example", "login.bank.example"


def reasons(service: Service, known: Known = NOTHING_KNOWN, host: str = HOST) -> tuple[str, ...]:
    return trust_of(host, service, known=known).reasons


@pytest.mark.parametrize("claimed", [PLATFORM, f"https://www.{PLATFORM}/", SIBLING, f"did:web:{PLATFORM}"])
def test_a_claimed_parent_or_sibling_is_never_the_name(claimed: str) -> None:
    listing = listed(HOST, "/agent.json", awp(HOST, domain=claimed))
    assert (listing.name, listing.trust_reasons) == (HOST, ("speaks_for_site",))
    merged = merge(HOST, [held(HOST, "/agent.json", awp(HOST, domain=claimed))])
    assert findings_of(merged, common_rules.CLAIM_OF_SITE) == [(f"https://{HOST}/agent.json", "/domain", claimed)]


@pytest.mark.parametrize("name", [PLATFORM, f"{PLATFORM} payments (official)", f"https://{SIBLING}"])
def test_a_name_that_speaks_of_a_parent_or_sibling_gives_way_to_the_host(name: str) -> None:
    listing = listed(HOST, CARD_PATH, a2a_card(HOST, name=name))
    assert (listing.name, listing.trust_reasons) == (HOST, ("speaks_for_site",))


@pytest.mark.parametrize(
    "members",
    [
        {"origin": PLATFORM},
        {"did": f"did:web:{SIBLING}"},
        {"service": {"domain": PLATFORM}},
        {"base_url": f"https://{PLATFORM}"},
    ],
)
def test_identities_of_the_site_count_in_every_format(members: dict[str, Any]) -> None:
    body = {**adp_manifest(HOST, "pick"), **members}
    assert listed(HOST, "/.well-known/agent", body).trust_reasons == ("speaks_for_site",)


@pytest.mark.parametrize(
    ("host", "other"),
    [(HOST, f"www.{HOST}"), (f"www.{HOST}", HOST), (PLATFORM, HOST), (f"www.{PLATFORM}", HOST), (HOST, f"v1.{HOST}")],
)
def test_a_host_speaks_for_itself_its_www_and_the_hosts_below_it(host: str, other: str) -> None:
    listing = listed(host, "/agent.json", awp(host, domain=other))
    assert (listing.trust_reasons, listing.trust_level.value) == ((), "verified")
    assert reasons(calling(other), host=host) == ()


def calling(host: str) -> Service:
    return Service(capabilities=(Capability("a", "a", "", invocations=(Invocation("http", f"https://{host}/a"),)),))


@pytest.mark.parametrize(
    "service",
    [
        calling(PLATFORM),
        calling(SIBLING),
        Service(base_url=f"https://{PLATFORM}/v1"),
        Service(protocols=(Protocol("mcp", endpoint=f"https://{SIBLING}/mcp"),)),
    ],
)
def test_calls_to_the_site_need_a_confirmation(service: Service) -> None:
    assert reasons(service) == ("speaks_for_site",)
    assert reasons(service, Known(owners={HOST: "one", PLATFORM: "one", SIBLING: "one"})) == ()
    assert reasons(service, Known(owners={HOST: "another", PLATFORM: "one", SIBLING: "one"})) == ("speaks_for_site",)
    assert reasons(service, Known(listed={PLATFORM: (HOST,)})) == (), "the called host, or one above it, names this one"
    assert reasons(service, Known(listed={"www." + PLATFORM: ("www." + HOST,)})) == ()
    assert reasons(service, Known(listed={PLATFORM: ("u3.q12.example",)})) == ("speaks_for_site",)
    assert reasons(service, Known(listed={"u3.q12.example": (HOST,), HOST: (HOST,)})) == ("speaks_for_site",)


def test_a_directory_of_a_platform_lets_nobody_be_the_platform() -> None:
    merged = merge(HOST, [held(HOST, "/agent.json", awp(HOST, domain=PLATFORM))])
    assert merged.service is not None
    for known, expected in (
        (Known(listed={PLATFORM: (HOST,)}), ("speaks_for_site",)),
        (Known(owners={HOST: "one", PLATFORM: "one"}), ()),
        (Known(owners={PLATFORM: "one"}), ("speaks_for_site",)),
    ):
        assert trust_of(HOST, merged.service, merged.findings, known=known).reasons == expected


def with_tokens_of(issuer: str, host: str = HOST) -> Service:
    scheme = AuthScheme("oauth2", token_url=f"https://{issuer}/token", authorization_url=f"https://{issuer}/authorize")
    return Service(base_url=f"https://{host}", auth=Auth((scheme,)))


@pytest.mark.parametrize(
    ("issuer", "known", "is_flagged"),
    [
        (ISSUER, Known(), False),
        (ISSUER, Known(sites=frozenset({VICTIM})), True),
        (ISSUER, Known({ISSUER: (HOST,)}, frozenset({VICTIM})), False),
        (ISSUER, Known({VICTIM: (f"www.{HOST}",)}, frozenset({VICTIM})), False),
        (ISSUER, Known({"u9.bank.example": (HOST,)}, frozenset({VICTIM})), True),
        (ISSUER, Known({VICTIM: ("u9.q12.example",)}, frozenset({VICTIM})), True),
        ("acme.eu.auth0.com", Known(sites=frozenset({"auth0.com"})), False),
        ("acme.eu.auth0.com", Known({"acme.eu.auth0.com": ()}, frozenset({"auth0.com"})), True),
        ("auth0.com", Known(sites=frozenset({"auth0.com"})), True),
        (PLATFORM, Known(), False),
        (PLATFORM, Known({PLATFORM: ()}), True),
        (PLATFORM, Known({PLATFORM: (HOST,)}), False),
        (PLATFORM, Known({PLATFORM: ()}, owners={HOST: "one", PLATFORM: "one"}), False),
        (f"login.{HOST}", Known({f"login.{HOST}": ()}, frozenset({PLATFORM})), False),
    ],
)
def test_tokens_of_a_listed_site_need_its_word(issuer: str, known: Known, is_flagged: bool) -> None:
    assert reasons(with_tokens_of(issuer), known) == (("issuer_elsewhere",) if is_flagged else ())


def test_every_place_of_an_issuer_counts() -> None:
    known = Known(sites=frozenset({VICTIM}))
    openid = AuthScheme("openid", setup_url=f"https://{ISSUER}/.well-known/openid-configuration")
    server = Pointer(f"https://{ISSUER}/.well-known/oauth-authorization-server", "authorization_server", "", None)
    call = Invocation("http", f"https://{HOST}/a", auth=Auth((openid,)))
    for service in (
        Service(auth=Auth((openid,))),
        Service(auth=Auth((AuthScheme("oauth2"),)), pointers=(server,)),
        Service(capabilities=(Capability("a", "a", "", invocations=(call,)),)),
    ):
        assert reasons(service, known) == ("issuer_elsewhere",)
    assert reasons(Service(auth=Auth((AuthScheme("api_key", setup_url=f"https://{ISSUER}"),))), known) == ()


def test_what_the_trust_depends_on_is_named() -> None:
    assert depends_on(HOST, spoken_of(HOST, calling(HOST), ())) == ()
    assert set(depends_on(HOST, spoken_of(HOST, calling(PLATFORM), ()))) == {
        HOST, PLATFORM, f"www.{PLATFORM}", f"@{PLATFORM}",
    }  # fmt: skip
    assert set(depends_on(HOST, spoken_of(HOST, with_tokens_of(ISSUER), ()))) == {
        ISSUER, f"www.{ISSUER}", VICTIM, f"www.{VICTIM}", f"*.{VICTIM}",
    }  # fmt: skip


def test_an_authorization_server_names_the_resources_that_it_protects() -> None:
    metadata = {
        "issuer": f"https://{VICTIM}",
        "token_endpoint": f"https://{VICTIM}/token",
        "protected_resources": [f"https://{HOST}/mcp", 7],
    }
    path = "/.well-known/oauth-authorization-server"
    merged = merge(VICTIM, [held(VICTIM, "/agent.json", awp(VICTIM)), held(VICTIM, path, metadata)])
    assert merged.service is not None and HOST in named_hosts(VICTIM, merged.service)
