"""What a Meilisearch engine answers becomes one pool: the same columns as from the records themselves."""

import random

import numpy as np
import orjson
import pytest

from registry.core.ranking import Candidates, CorpusStats, Question, ask
from registry.search.backend import SearchDocument, make_document
from registry.search.meilisearch import hits, layout
from registry.search.meilisearch.answers import Hit, Result
from tests.search.contract import MAIL, MAPS, SHOP
from tests.search.listings import listing
from tests.search.vector_contract import WORDS, some
from tests.support.candidates import Candidate, side_by_side
from tests.support.embedder import WordEmbedder

OTHER = WordEmbedder("wp_other", WORDS.dims)


def hit(one: SearchDocument) -> Hit:
    """As it comes back from where it was stored."""
    return Hit.model_validate_json(orjson.dumps(layout.service(one, one.record.model)))


def leg(*documents: SearchDocument, near: bool = False, total: int | None = None) -> Result:
    found = {"hits": [hit(one) for one in documents], "estimatedTotalHits": total or len(documents)}
    return Result.model_validate(found | {"semanticHitCount": len(documents)} if near else found)


def of(documents: list[SearchDocument], model: str) -> Candidates:
    return side_by_side((Candidate(one.listing.host, one.listing.score, one.record) for one in documents), model)


@pytest.mark.parametrize("model", [WORDS.id, OTHER.id, ""])
def test_columns_are_those_of_the_records(model: str) -> None:
    """Some with vectors of this model, some of another one, some with none."""
    embedders = (WORDS, OTHER, None)
    documents = [
        make_document(one, embedders[number % 3]) for number, one in enumerate([*some(20, seed=5), MAIL, MAPS])
    ]
    held, wanted = hits.read([hit(one) for one in documents], model), of(documents, model)
    assert (held.hosts, held.model) == (wanted.hosts, wanted.model)
    columns = ("scores", "lengths", "term_starts", "terms", "counts", "row_starts", "vectors", "scales", "spreads")
    for column in columns:
        assert np.array_equal(getattr(held, column), getattr(wanted, column)), column
    for place in range(len(documents)):
        assert held.capabilities(place).encode() == wanted.capabilities(place).encode()


def test_nothing_is_no_candidate() -> None:
    assert len(hits.read([], WORDS.id)) == 0


def test_records_of_another_version_are_left_out() -> None:
    """While an index is rebuilt, legs may answer from either."""
    good, other, cut = (hit(make_document(one, WORDS)) for one in (MAIL, SHOP, MAPS))
    other.r, cut.r = b"wpr0" + other.r[4:], cut.r[:40]
    assert list(hits.read([other, good, cut], WORDS.id).hosts) == ["mail.example"]


def test_a_service_that_several_legs_found_is_one_candidate() -> None:
    mail, maps = make_document(MAIL, WORDS), make_document(MAPS, WORDS)
    legs = [leg(mail, maps, near=True), leg(mail), leg(mail, total=7)]
    pool = hits.pool("g.1", CorpusStats.of([mail.record, maps.record]), legs, ask("email", WORDS), 200)
    assert sorted(pool.candidates.hosts) == ["mail.example", "maps.example"]
    assert (pool.generation, pool.matching) == ("g.1", 7)


def test_of_more_than_the_limit_those_with_the_best_words_stay_and_the_nearest_beside_them() -> None:
    crowd = [make_document(listing(f"h{number}.example", "Weather: all day long, everywhere")) for number in range(9)]
    best, near = make_document(listing("best.example", "Weather")), make_document(MAIL, WORDS)
    found = [*crowd, best]
    random.Random(3).shuffle(found)
    stats = CorpusStats.of(one.record for one in [*found, near])
    question = Question("weather", {"weather": "weather"}, np.ones(WORDS.dims, np.float32), None, WORDS.id)
    pool = hits.pool("g.1", stats, [leg(near, near=True), leg(*found)], question, 3)
    assert {"best.example", "mail.example"} <= set(pool.candidates.hosts)
    assert (len(pool.candidates), pool.matching) == (4, 10)
