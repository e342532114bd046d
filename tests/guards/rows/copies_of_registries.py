"""Dumps of this registry, and mirrors of others: what a hostile origin or a crash cannot do."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_FILES = "tests/store/test_dump_files.py::"
_DUMPS = "tests/actions/test_dumps.py::"
_RECEIVED = "tests/actions/test_received.py::"
_LISTS = "tests/core/test_foreign_lists.py::"
_API = "tests/api/test_dumps.py::"

GUARDS: Final = (
    Guard(
        "mirror-examples",
        "a mirror makes the examples of calls itself",
        Edit(r"list\((.+)\)", r"[call._replace(example=None) for call in \1]"),
        (f"{_RECEIVED}test_examples_of_calls_are_made_here",),
    ),
    # files of a dump
    Guard("one-dump", "one dump at a time is written to a folder", SKIP, (f"{_FILES}test_one_dump_at_a_time",)),
    Guard(
        "dump-paths",
        "only parts that a manifest names are served",
        Edit(r"self\._parts\.get\(name\)", "next(iter(self._parts.values()), None)"),
        (f"{_FILES}test_only_parts_of_a_manifest_are_found", f"{_API}test_only_parts_are_served"),
    ),
    Guard(
        "dump-lines",
        "a record that is too large is left out of a dump",
        NEVER,
        (f"{_DUMPS}test_a_record_that_is_too_large_is_left_out_and_counted",),
    ),
    Guard("dump-part-names", "names of parts are no paths", NEVER, (f"{_FILES}test_a_manifest_that_lies_is_refused",)),
    Guard(
        "dump-ratio",
        "a manifest cannot announce a bomb",
        NEVER,
        (f"{_FILES}test_a_manifest_that_announces_a_bomb_is_refused",),
    ),
    Guard(
        "dump-hash",
        "parts are verified before use",
        NEVER,
        (f"{_FILES}test_a_truncated_or_changed_part_is_refused", f"{_FILES}test_a_wrong_hash_is_refused"),
    ),
    Guard("dump-bomb", "a part ends at its stated size", NEVER, (f"{_FILES}test_a_bomb_ends_at_the_stated_size",)),
    Guard(
        "dump-rows", "a part holds all that is stated", NEVER, (f"{_FILES}test_a_part_holds_what_the_manifest_states",)
    ),
    Guard(
        "dump-line-bytes",
        "a line that is too long is left out alone",
        Edit(r" or len\(rest\) \+ len\(end\) > LINE_BYTES"),
        (f"{_FILES}test_a_line_that_is_too_long_is_left_out_alone",),
    ),
    # records of another registry
    Guard("foreign-bytes", "bytes of an entry", NEVER, (f"{_LISTS}test_an_entry_over_a_bound_is_refused",)),
    Guard("foreign-values", "values of an entry", NEVER, (f"{_LISTS}test_an_entry_over_a_bound_is_refused",)),
    Guard("foreign-entries", "entries of a list", NEVER, (f"{_LISTS}test_an_answer_over_a_bound_is_refused",)),
    Guard(
        "json-strict",
        "repeated keys of an entry",
        Edit("catch_duplicate_keys=True", "catch_duplicate_keys=False"),
        (f"{_LISTS}test_an_entry_over_a_bound_is_refused",),
    ),
    Guard(
        "mirror-batches",
        "records that are parsed at once",
        NEVER,
        ("tests/crawler/test_mirror.py::test_records_are_parsed_a_few_at_a_time",),
    ),
    Guard(
        "record-numbers",
        "numbers that are not finite in records",
        Edit(r"isfinite\(value\)", "True"),
        (f"{_RECEIVED}test_a_number_that_no_encoder_writes_is_refused",),
    ),
    Guard(
        "record-depth",
        "records hold nothing that spoils later answers",
        NEVER,
        (f"{_RECEIVED}test_a_number_that_no_encoder_writes_is_refused",),
    ),
    Guard(
        "record-covering",
        "an opt-out cannot cover other domains",
        NEVER,
        (f"{_RECEIVED}test_an_opt_out_of_a_suffix_is_refused",),
    ),
    Guard("record-host", "a listing is of its host", NEVER, (f"{_RECEIVED}test_a_listing_of_another_host_is_refused",)),
    Guard("record-urls", "documents are of their host", NEVER, (f"{_RECEIVED}test_a_foreign_document_is_refused",)),
    Guard(
        "record-addresses",
        "addresses of private networks in records",
        Edit(r"public_merged\((.*), host\)", r"(\1, ())"),
        (f"{_RECEIVED}test_addresses_of_private_networks_do_not_pass",),
    ),
    # what a mirror applies
    Guard(
        "mirror-own-services",
        "a registry that crawls becomes no mirror",
        NEVER,
        (f"{_DUMPS}test_a_registry_that_crawls_is_no_mirror",),
    ),
    Guard(
        "mirror-order",
        "an older state replaces no newer one",
        NEVER,
        (f"{_DUMPS}test_an_older_state_never_replaces_a_newer_one",),
    ),
    Guard(
        "mirror-own-opt-outs",
        "opt-outs of the mirror itself win",
        NEVER,
        (f"{_DUMPS}test_opt_outs_of_the_copy_itself_win_and_stay",),
    ),
    Guard(
        "mirror-progress",
        "two mirror processes do not mix their progress",
        NEVER,
        (f"{_DUMPS}test_progress_moves_with_the_records_or_not_at_all",),
    ),
    Guard(
        "mirror-decides-nothing",
        "a mirror refuses submissions, claims, owners, reports and rechecks",
        NEVER,
        (
            "tests/actions/test_owners_and_mirrors.py::test_a_mirror_decides_nothing_about_its_entries",
            "tests/api/test_mirrored.py::test_what_the_origin_decides_is_refused",
        ),
    ),
    Guard("mirror-visits-nothing", "a mirror visits no site", NEVER, (f"{_DUMPS}test_a_mirror_visits_nothing",)),
    Guard("mirror-not-rescored", "a mirror is not rescored", NEVER, (f"{_DUMPS}test_a_mirror_is_not_rescored",)),
)
