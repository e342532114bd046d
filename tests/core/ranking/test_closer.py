"""What the closer look sees: words that stand together, and directions."""

import pytest

from registry.core.model.listing import Listing
from registry.core.ranking import answers, explain
from registry.core.ranking.actions import RequestedAction, action_of_capability, action_of_question, head_verb
from registry.core.ranking.capabilities import close_look
from registry.core.ranking.rank import TOGETHER
from registry.core.wording.fields import EMBEDDED_CAPABILITIES
from registry.core.wording.text import directions, sentences
from registry.search.embedding import default_embedder
from tests.search.listings import listing
from tests.support.candidates import ranking_of as ranked


def test_words_in_one_place_come_before_words_in_several() -> None:
    apart = listing("apart.example", "Sensors", ("readings", "air of a place"), ("numbers", "quality of a place"))
    together = listing("together.example", "Sensors", ("readings", "air quality of a place"), ("numbers", "of a place"))
    ranking = ranked("air quality", apart, together)
    assert ranking.hosts == ["together.example", "apart.example"]
    assert ranking.parts["words"][0] >= ranking.parts["words"][1]
    apart_look, together_look = (close_look(ranking.features, candidate) for candidate in (0, 1))
    assert apart_look.covers.tolist() == pytest.approx([0.0, 0.5, 0.5])
    assert together_look.covers.tolist() == pytest.approx([0.0, 1.0, 0.0])


def test_the_own_text_is_a_place() -> None:
    ranking = ranked("single sign-on", listing("a.example", "Access: single sign-on for all", ("list_users", "users")))
    assert close_look(ranking.features, 0).covers.tolist() == pytest.approx([1.0, 0.0])


def test_the_parts_differ_from_row_to_row_and_add_up() -> None:
    ranking = ranked(
        "air quality",
        listing("a.example", "Air quality", ("measure", "air quality")),
        listing("b.example", "Air freight", ("send", "freight by air")),
        listing("c.example", "Quality of life"),
    )
    hits = [explain(ranking, position) for position in range(3)]
    assert len({tuple(hit.parts.items()) for hit in hits}) == 3
    for hit in hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.relevance)
        assert hit.parts[TOGETHER] > 0


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("html to pdf", [("html", "pdf")]),
        ("a PDF from HTML", [("html", "pdf")]),
        ("Convert an HTML page into PDF files", [("html", "pdf"), ("page", "pdf"), ("html", "file"), ("page", "file")]),
        ("I want to fly", []),
        ("to", []),
        ("", []),
    ],
)
def test_directions_are_what_becomes_what(text: str, expected: list[tuple[str, str]]) -> None:
    assert sorted(directions(text)) == sorted(expected)


def test_the_reverse_direction_is_no_answer() -> None:
    reverse = listing("reverse.example", "Voices", ("text_to_speech", "text to speech"), score=90)
    right = listing("right.example", "Listening machines of every kind", ("write_down", "speech to text, in words"))
    ranking = ranked("speech to text", reverse, right)
    assert ranking.hosts == ["right.example", "reverse.example"]
    assert [explain(ranking, position).confident for position in (0, 1)] == [True, False]
    both = listing("both.example", "Both", ("text_to_speech", "text to speech, or speech to text"))
    assert explain(ranked("speech to text", both), 0).confident


def test_rows_far_below_the_first_are_left_out() -> None:
    near = listing("near.example", "Parcel tracking: track a parcel", ("track_parcel", "track a parcel"))
    far = [listing(f"far{n}.example", f"Shop {n}: " + "anything else " * 40 + "parcel") for n in range(5)]
    ranking = ranked("track parcel", near, *far)
    assert len(ranking) == 6
    assert answers(ranking).hosts == ["near.example"]
    assert len(answers(ranked("nothing", near))) == 0


@pytest.mark.parametrize(
    ("text", "action", "verb"),
    [
        ("please delete my account", RequestedAction.REMOVE, "delete"),
        ("create invoice", RequestedAction.CREATE, "create"),
        ("I want to rent a van", None, "rent"),
        ("job postings", None, None),
        ("the schedule of the meeting", RequestedAction.SCHEDULE, "schedule"),
        ("", None, None),
    ],
)
def test_the_action_of_a_question_is_its_first_verb(
    text: str, action: RequestedAction | None, verb: str | None
) -> None:
    assert (action_of_question(text), head_verb(text)) == (action, verb)


def test_the_action_of_a_capability_is_in_its_name() -> None:
    names = ("invoices_create", "deleteInvoice", "Get weather", "weather", "", "order_cancel_v2", "get_stop_times")
    assert [action_of_capability(name) for name in names] == [
        RequestedAction.CREATE,
        RequestedAction.REMOVE,
        RequestedAction.READ,
        None,
        None,
        RequestedAction.REMOVE,
        RequestedAction.READ,
    ]


def test_capabilities_of_the_asked_action_come_first() -> None:
    calls = [("invoices_delete", "an invoice"), ("invoices_list", "an invoice"), ("invoices_create", "an invoice")]
    for question, expected in (("create an invoice", 2), ("delete an invoice", 0), ("show an invoice", 1)):
        best = explain(ranked(question, listing("a.example", "Books", *calls)), 0).capabilities[0]
        assert best.name == calls[expected][0]


@pytest.mark.parametrize(
    ("question", "expected"),
    [("invoice", "invoices_create"), ("my invoices", "invoices_list"), ("invoices to pay", "invoices_create")],
)
def test_the_bare_name_of_things_is_read_and_of_one_thing_made(question: str, expected: str) -> None:
    in_order_of_equals = ("delete", "create", "list")
    calls = [(f"invoices_{verb}", "an invoice to pay") for verb in in_order_of_equals]
    hit = explain(ranked(question, listing("a.example", "Books", *calls)), 0)
    assert hit.capabilities[0].name == expected


def test_of_near_equals_the_name_without_unasked_words_comes_first() -> None:
    calls = [("geocode_address_bulk", "geocode an address"), ("geocode_address", "geocode an address")]
    hit = explain(ranked("geocode address", listing("a.example", "Maps", *calls)), 0)
    assert [capability.name for capability in hit.capabilities] == ["geocode_address", "geocode_address_bulk"]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I need to buy a phone with a good camera. Can you help me find one?", 1),
        ("Weather forecast for Sunday morning in Bern. Then book two seats on the morning train!", 2),
        ("Hello! I need to buy a phone with a good camera today.", 1),
        (" ", 0),
    ],
)
def test_a_sentence_of_few_words_is_read_with_its_neighbour(text: str, parts: int) -> None:
    assert len(sentences(text)) == parts
    assert " ".join(sentences(text)) == text.strip()


OFFICE = listing(
    "office.example",
    "Town office: parking permits for residents, forms, and moves to another street",
    ("tell_move", "Tell the town about your new street"),
)
BANK = listing(
    "bank.example",
    "Business account",
    ("invoices_send", "Send an invoice to a customer"),
    ("payouts_create", "Pay money out to a supplier by wire"),
)
CLOUD = listing(
    "cloud.example",
    "Machines for your containers",
    ("machines_stop", "Stop a running container"),
    ("machines_start", "Start a machine"),
    ("order_cancel_v2", "An order for more machines"),
)


@pytest.mark.parametrize(
    ("question", "asked", "confident"),
    [
        ("a parking permit for a resident", OFFICE, {}),
        ("tell the town my new street", OFFICE, {"tell_move"}),
        ("send money to a supplier", BANK, {"payouts_create"}),
        ("send an invoice to a customer", BANK, {"invoices_send"}),
        ("run a container", CLOUD, {}),
        ("stop a running container", CLOUD, {"machines_stop"}),
        ("cancel the order for machines", CLOUD, {"order_cancel_v2"}),
    ],
)
def test_each_capability_has_a_confidence_of_its_own(question: str, asked: Listing, confident: set[str]) -> None:
    hit = explain(ranked(question, asked, embedder=default_embedder()), 0)
    assert hit.confident
    assert {match.name for match in hit.capabilities if match.confident} == set(confident)


def test_what_removes_does_not_lead_unless_asked() -> None:
    for question, first in (("running container", "machines_start"), ("stop the container", "machines_stop")):
        assert explain(ranked(question, CLOUD, embedder=default_embedder()), 0).capabilities[0].name == first
    only = listing("only.example", "Accounts", ("account_delete", "Delete an account"))
    (match,) = explain(ranked("my account", only), 0).capabilities
    assert (match.name, match.confident) == ("account_delete", False)


def test_another_verb_of_the_same_action_matches_the_verb() -> None:
    calls = [("reserve_table", "a table of a restaurant"), ("paint_table", "a table of a restaurant")]
    first, second = explain(
        ranked("book a table", listing("a.example", "Tables", *calls), embedder=default_embedder()), 0
    ).capabilities
    assert (first.name, second.name) == ("reserve_table", "paint_table")
    assert first.confidence > second.confidence
    assert first.score == second.score


def test_a_capability_without_a_vector_can_lead() -> None:
    many = [(f"parcel_label_{number}", "a label") for number in range(EMBEDDED_CAPABILITIES)]
    listed = listing("a.example", "Parcels", *many, ("track_parcel", "Track a parcel"))
    best = explain(ranked("track a parcel", listed, embedder=default_embedder()), 0).capabilities[0]
    assert (best.name, best.confident) == ("track_parcel", True)


def test_the_verb_alone_is_hardly_a_match() -> None:
    books = listing("books.example", "Book club: book of the month, a book a day", ("find_book", "book"))
    tables = listing("tables.example", "A restaurant and its many rooms, kitchens and people", ("show_table", "table"))
    for embedder, first in ((default_embedder(), tables), (None, books)):
        ranking = ranked("book a table", books, tables, embedder=embedder)
        best = int(ranking.parts["words"].argmax())
        assert ranking.features.candidates.hosts[best] == first.host


def test_particulars_do_not_count_against_an_answer() -> None:
    weather = listing("weather.example", "Weather: forecast for every town", ("forecast", "the weather of a town"))
    other = listing("other.example", "Towns: guides to Lisbon and to Oslo", ("guide", "a guide to a town"))
    for when in ("in Lisbon", "in Oslo on 3 March", "for Mrs Adeyemi at 10:30 tomorrow"):
        ranking = ranked(f"the weather {when}", weather, other)
        first, *rest = [explain(ranking, position) for position in range(len(ranking))]
        assert (first.host, first.cover, first.confident) == ("weather.example", 1.0, True)
        assert not any(hit.confident for hit in rest)
    assert explain(ranked("Lisbon", weather, other), 0).host == "other.example"
