"""Responses of Meilisearch become one pool, with the same columns as from the records themselves."""

import random

import numpy as np
import orjson
import pytest

from registry.core.ranking import CandidateSet, ParsedQuery, parse_query
from registry.core.ranking.copies import standing_of
from registry.core.ranking.naming import MOST_NAMED
from registry.search.backend import SearchDocument, make_document
from registry.search.meilisearch import hits, layout
from registry.search.meilisearch.admin import QueryResult, ResponseHit
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.folding_contract import POST, copies_of
from tests.search.listings import listing
from tests.search.vector_contract import WORDS, random_services
from tests.support.candidates import Candidate, count_corpus, side_by_side
from tests.support.embedder import WordEmbedder

OTHER = WordEmbedder("wp_other", WORDS.dims)


def hit(document: SearchDocument) -> ResponseHit:
    """Return the hit as the server would return the stored document."""
    return ResponseHit.model_validate_json(orjson.dumps(layout.service_document(document, document.record.model)))


def leg(*documents: SearchDocument, near: bool = False, total: int | None = None) -> QueryResult:
    response = {"hits": [hit(document) for document in documents], "estimatedTotalHits": total or len(documents)}
    return QueryResult.model_validate(response | {"semanticHitCount": len(documents)} if near else response)


def candidates_of(documents: list[SearchDocument], model: str) -> CandidateSet:
    return side_by_side(
        (
            Candidate(document.listing.host, document.listing.score, document.record, standing_of(document.listing))
            for document in documents
        ),
        model,
    )


@pytest.mark.parametrize("model", [WORDS.id, OTHER.id, ""])
def test_columns_are_those_of_the_records(model: str) -> None:
    """Some documents have vectors of this model, some of another, some none."""
    embedders = (WORDS, OTHER, None)
    documents = [
        make_document(service, embedders[number % 3])
        for number, service in enumerate([*random_services(20, seed=5), MAIL, MAPS, POST])
    ]
    candidates, expected = hits.read([hit(document) for document in documents], model), candidates_of(documents, model)
    assert (candidates.hosts, candidates.model) == (expected.hosts, expected.model)
    columns = ("scores", "lengths", "term_starts", "terms", "counts", "row_starts", "vectors", "scales", "spreads")
    for column in columns:
        assert np.array_equal(getattr(candidates, column), getattr(expected, column)), column
    for column in ("offers", "levels", "offered", "listed"):
        assert np.array_equal(getattr(candidates.standings, column), getattr(expected.standings, column)), column
    for place in range(len(documents)):
        assert candidates.capabilities(place).encode() == expected.capabilities(place).encode()


def test_no_hits_are_no_candidates() -> None:
    assert len(hits.read([], WORDS.id)) == 0


def test_records_of_another_version_are_left_out() -> None:
    """While an index is rebuilt, legs may respond from either version."""
    good, other, cut = (hit(make_document(service, WORDS)) for service in (MAIL, SHOP, MAPS))
    other.r, cut.r = b"wpr0" + other.r[4:], cut.r[:40]
    assert list(hits.read([other, good, cut], WORDS.id).hosts) == ["mail.example"]


def test_a_service_found_by_several_legs_is_one_candidate() -> None:
    mail, maps = make_document(MAIL, WORDS), make_document(MAPS, WORDS)
    legs = [leg(mail, maps, near=True), leg(mail), leg(mail, total=7)]
    stats, answers = count_corpus([mail.record, maps.record]), hits.Answers(legs, [])
    pool = hits.pool("g.1", stats, answers, parse_query("email", WORDS), 200)
    assert sorted(pool.candidates.hosts) == ["mail.example", "maps.example"]
    assert (pool.generation, pool.matching) == ("g.1", 7)


def test_a_pool_over_the_limit_keeps_the_best_words_and_the_nearest_vectors() -> None:
    crowd = [make_document(listing(f"h{number}.example", "Weather: all day long, everywhere")) for number in range(9)]
    best, near = make_document(listing("best.example", "Weather")), make_document(MAIL, WORDS)
    documents = [*crowd, best]
    random.Random(3).shuffle(documents)
    stats = count_corpus(document.record for document in [*documents, near])
    question = ParsedQuery("weather", {"weather": "weather"}, np.ones(WORDS.dims, np.float32), None, WORDS.id)
    answers = hits.Answers([leg(near, near=True), leg(*documents)], [])
    pool = hits.pool("g.1", stats, answers, question, 3)
    assert {"best.example", "mail.example"} <= set(pool.candidates.hosts)
    assert (len(pool.candidates), pool.matching) == (4, 10)


def test_the_oldest_copy_stands_for_those_that_were_found() -> None:
    original, shop, *copies = (make_document(service) for service in (POST, SHOP, *copies_of(POST, 30)))
    stats = count_corpus(document.record for document in (original, shop, *copies))
    found, named = [leg(*copies[5:25]), leg(*copies[9:12], near=True), leg(shop)], [leg(copies[17])]
    (offer,) = hits.offers_in(found) - {0}
    oldest, copied = [leg(original)], {offer: leg(original, *copies[:27], total=31)}
    answers = hits.Answers(found, named, oldest, copied)
    pool = hits.pool("g.1", stats, answers, parse_query("copy017.example parcel"), 200)
    assert sorted(pool.candidates.hosts) == ["copy017.example", "pigeons.example", "shop.example"]
    behind = dict(zip(pool.candidates.hosts, map(pool.candidates.copies, range(3)), strict=True))
    assert (behind["pigeons.example"].hosts[0], behind["pigeons.example"].total) == ("copy000.example", 29)
    assert "copy017.example" not in behind["pigeons.example"].hosts
    assert [pool.candidates.hosts[position] for position in pool.candidates.named] == ["copy017.example"]
    as_found = hits.Answers(found, named)
    assert len(hits.pool("g.1", stats, as_found, parse_query("parcel"), 200).candidates) == 21


def test_a_named_service_is_added_once_and_those_named_in_full_first() -> None:
    services = [listing(f"pigeonpost.tld{n}", "Anything", domain=f"pigeonpost.tld{n}") for n in range(9)]
    documents = [make_document(service) for service in services]
    stats = count_corpus(document.record for document in documents)
    answers = hits.Answers([leg(documents[8])], [leg(*documents)])
    pool = hits.pool("g.1", stats, answers, parse_query("pigeonpost.tld8"), 200)
    assert len(set(pool.candidates.hosts)) == len(pool.candidates) == MOST_NAMED
    assert pool.candidates.hosts[0] == "pigeonpost.tld8"
