"""Many domains with one manifest: which of them is shown."""

from typing import Final

from tests.guards.guard import NEVER, Edit, Guard

_RANKING = "tests/core/ranking/"
_FOLDING = "tests/actions/test_folding.py::"

GUARDS: Final = (
    Guard(
        "copies-are-folded",
        "copies are folded before candidates are chosen",
        Edit(r"if [\w.]+ else", "if False else"),
        (
            f"{_FOLDING}test_forty_domains_with_one_manifest_are_one_row",
            f"{_FOLDING}test_more_copies_than_candidates_leave_the_other_answers",
        ),
    ),
    Guard(
        "copies-are-folded-by-meilisearch",
        "copies are folded by the second engine, too",
        NEVER,
        ("tests/search/test_meilisearch_hits.py::test_the_oldest_copy_stands_for_those_that_were_found",),
    ),
    Guard(
        "copies-do-not-fill-meilisearch",
        "copies take no place of others in the second engine",
        NEVER,
        ("tests/search/test_meilisearch_folding.py::test_copies_are_folded_however_many_there_are",),
    ),
    Guard(
        "the-oldest-copy-stays",
        "a late copy never replaces the original",
        Edit(r" \| is_older"),
        (
            f"{_RANKING}test_copies.py::test_a_late_copy_that_is_better_proven_stands_beside_the_original",
            f"{_FOLDING}test_a_late_copy_that_is_better_proven_stands_beside_the_original",
        ),
    ),
    Guard(
        "age-of-an-offer",
        "an old domain that becomes a copy is a late copy",
        Edit(r" or .*:(?=  #)", ":"),
        ("tests/actions/test_offered_since.py::test_an_old_domain_that_becomes_a_copy_is_a_late_copy",),
    ),
    Guard(
        "least-words-of-a-copy",
        "services of few words are never copies",
        NEVER,
        (f"{_RANKING}test_fingerprint.py::test_services_of_few_words_are_nobodys_copy",),
    ),
    Guard(
        "named-copies-are-shown",
        "a host is found by its own name, also as a copy",
        Edit(r"if not [\w.]+", "if True"),
        (f"{_FOLDING}test_a_copy_is_found_by_its_own_name",),
    ),
    Guard(
        "few-nearly-equal-services",
        "nearly equal services of many owners do not fill a page",
        Edit(r">= PER_OFFER", ">= len(hits)"),
        (f"{_RANKING}test_nearly_equal.py::test_forty_copies_with_a_word_each_keep_a_few_rows_and_the_rest_come_last",),
    ),
)
