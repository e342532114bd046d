"""For a question that contains a well-known name, its users come after its owner and after everybody else's answers."""

from dataclasses import replace

import pytest

from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import Filters, Listing, Query, Resemblance, SortBy, TrustLevel
from registry.search.embedded import EmbeddedBackend
from registry.store.unit_of_work import Store
from tests.actions.catalogue import put
from tests.search.listings import listing
from tests.support.builders import on

OWNER = listing("api.paypal.com", "PayPal: Payments between people and shops.", ("refund", "Refunds a payment."))
OTHER = listing("till.example", "Till: Takes payments with cards and PayPal.", ("take_payment", "Takes a payment."))
USER = listing(
    "claims-paypal.com",
    "PayPal: PayPal payments, PayPal refunds, PayPal support.",
    ("paypal_refund", "Refunds a PayPal payment."),
    score=100,
    trust_level=TrustLevel.COMMUNITY,
    trust_reasons=("known_name",),
    resembles=Resemblance("PayPal", "paypal.com", "host"),
)


async def hosts(
    store: Store, backend: EmbeddedBackend, question: str, *listings: Listing, sort: SortBy = "relevance"
) -> list[str]:
    await put(store, *listings)
    await on(store, backend=backend).search.drain()
    page = await on(store, backend=backend).search.discover(Query(question, sort=sort))
    return [hit.card.host for hit in page.hits]


async def test_a_user_of_a_known_name_comes_after_its_owner(store: Store, backend: EmbeddedBackend) -> None:
    found = await hosts(store, backend, "paypal refund", USER, OWNER, OTHER)
    assert found[0] == "api.paypal.com" and found[-1] == "claims-paypal.com"


async def test_the_owner_is_first_in_every_order(store: Store, backend: EmbeddedBackend) -> None:
    found = await hosts(store, backend, "paypal", USER, OWNER, sort="score")
    assert found == ["api.paypal.com", "claims-paypal.com"]


async def test_a_corrected_question_counts_as_asked(store: Store, backend: EmbeddedBackend) -> None:
    found = await hosts(store, backend, "paypla refund", USER, OWNER, OTHER)
    assert found[0] == "api.paypal.com" and found[-1] == "claims-paypal.com"


async def test_pages_follow_the_same_order(store: Store, search: SearchActions, backend: EmbeddedBackend) -> None:
    whole = await hosts(store, backend, "paypal refund", USER, OWNER, OTHER)
    first = await search.discover(Query("paypal refund", limit=1))
    rest = await search.discover(Query("paypal refund", limit=10), first.next_cursor)
    assert [hit.card.host for hit in (*first.hits, *rest.hits)] == whole


async def test_without_the_name_in_the_question_relevance_alone_decides(store: Store, backend: EmbeddedBackend) -> None:
    flagged = await hosts(store, backend, "refund a payment", USER, OWNER)
    unflagged = replace(USER, trust_reasons=(), resembles=None)
    assert flagged == await hosts(store, backend, "refund a payment", unflagged, OWNER)
    assert len(flagged) == 2 and flagged[0] == USER.host


async def test_a_user_of_the_name_answers_where_nobody_else_does(store: Store, backend: EmbeddedBackend) -> None:
    assert await hosts(store, backend, "paypal", USER) == ["claims-paypal.com"]


async def test_cards_say_why(store: Store, backend: EmbeddedBackend) -> None:
    await hosts(store, backend, "paypal", USER)
    [hit] = (await on(store, backend=backend).search.discover(Query("paypal"))).hits
    assert hit.card.trust == {
        "reasons": ["known_name"],
        "resembles": {"name": "PayPal", "domain": "paypal.com", "seen_in": "host"},
    }


@pytest.mark.parametrize("unique", [True, False])
async def test_a_doubtful_service_comes_after_its_equals(store: Store, backend: EmbeddedBackend, unique: bool) -> None:
    """The same texts and score: without the doubt, the host name would decide for the first one."""
    real = replace(OTHER, host="z.till.example", trust_level=TrustLevel.COMMUNITY, trust_reasons=("calls_other_site",))
    doubtful = replace(
        OTHER, host="a.ti1l.example", domain="ti1l.example", trust_level=TrustLevel.COMMUNITY,
        trust_reasons=("look_alike_host",),
    )  # fmt: skip
    await put(store, doubtful, real)
    await on(store, backend=backend).search.drain()
    for text in ("take a payment with cards", ""):
        page = await on(store, backend=backend).search.discover(Query(text, filters=Filters(unique=unique)))
        assert page.hits[0].card.host == real.host
        assert (doubtful.host in page.hits[0].alike) == unique
