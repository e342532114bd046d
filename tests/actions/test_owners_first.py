"""For a question that contains a well-known name, its users come after its owner and after everybody else's answers."""

from dataclasses import replace

from registry.actions.queries.discover import SearchActions
from registry.core.model.listing import Listing, Query, Resemblance, SortBy, TrustLevel
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
