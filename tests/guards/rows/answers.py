"""What comes over a connection: how much, how slowly, from whom."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_ANSWERS = "tests/crawler/test_outcomes.py::test_a_failing_response_has_its_outcome_and_reason"
_TRANSPORT = "tests/crawler/test_transport.py::"
_PLAN = "tests/core/plan/"

GUARDS: Final = (
    # bytes
    Guard(
        "header-size", "header section at most 64 KiB", Edit(r"> \w+:", "< 0:"), (f"{_ANSWERS}[70 KB in many headers]",)
    ),
    Guard(
        "body-cap",
        "body at most its cap",
        NEVER,
        (f"{_CRAWLER}test_outcomes.py::test_a_text_over_its_cap_is_truncated_and_a_manifest_refused",),
    ),
    Guard(
        "page-size",
        "pages that are no documents are short",
        Edit(r"else min\((\w+), \w+\)", r"else \1"),
        (f"{_CRAWLER}test_outcomes.py::test_a_broken_error_page_keeps_its_status",),
    ),
    Guard(
        "page-drain",
        "pages that are no documents are not read for ever",
        Edit(r"\((\w+) or \w+ > \w+\)", r"\1"),
        (f"{_CRAWLER}test_outcomes.py::test_an_endless_error_page_is_abandoned_with_its_status",),
    ),
    Guard(
        "body-chunks", "a body comes in few pieces", NEVER, (f"{_TRANSPORT}test_a_body_in_too_many_chunks_is_refused",)
    ),
    Guard(
        "flood",
        "flooding connections are shut down",
        NEVER,
        (f"{_CRAWLER}test_flood_monitor.py::test_a_flood_of_interim_responses_ends_the_visit_at_once",),
    ),
    Guard(
        "flood-own-connections",
        "only connections of visits are shut",
        Edit("if .* and ", "if "),
        (f"{_CRAWLER}test_flood_monitor.py::test_other_connections_of_the_process_are_not_limited",),
    ),
    Guard("body-memory", "bodies share one memory budget", NEVER, (f"{_CRAWLER}test_body_memory.py",)),
    Guard(
        "kept-body-memory",
        "kept bodies count in the memory budget",
        SKIP,
        (f"{_CRAWLER}test_body_memory.py::test_a_visit_without_memory_is_skipped_and_all_memory_is_freed",),
    ),
    Guard(
        "large-body-off-loop",
        "large bodies are judged beside the loop",
        NEVER,
        (f"{_VISIT}test_large_bodies_are_judged_in_a_thread",),
    ),
    Guard(
        "dns-cache-reset",
        "what the resolver remembers is forgotten",
        Edit(r" % \w+ == 0", " == 0"),
        ("tests/crawler/test_txt_records.py::test_the_dns_cache_is_bounded",),
    ),
    Guard(
        "validator-syntax",
        "validators that would be header fields",
        Edit(" and .*:(?=  #)", ":"),
        (f"{_VISIT}test_a_known_document_is_requested_conditionally",),
    ),
    Guard(
        "no-cookies",
        "no cookies",
        Edit(r"cookie_store\(False\)", "cookie_store(True)"),
        (f"{_VISIT}test_cookies_are_not_sent_back",),
    ),
    Guard(
        "gzip-cap",
        "gzip unpacks no further than the cap",
        Edit(r"(decompress\(\w+), [^)]*\)", r"\1)"),
        (f"{_TRANSPORT}test_a_decompression_bomb_is_unpacked_only_up_to_its_cap",),
    ),
    Guard("gzip-complete", "gzip is complete", SKIP, (f"{_ANSWERS}[gzip cut]",)),
    Guard("gzip-one-member", "gzip is one member", NEVER, (f"{_ANSWERS}[gzip of two members]",)),
    Guard(
        "unknown-encoding",
        "other encodings are refused",
        NEVER,
        (f"{_ANSWERS}[brotli bomb]",),
    ),
    # time
    Guard(
        "request-timeout", "deadline of a request", Edit(r"\.timeout\(timedelta\([^)]*\)\)"), (f"{_ANSWERS}[silent]",)
    ),
    Guard(
        "connect-timeout",
        "deadline of a connection",
        Edit(r"\.connect_timeout\([^)]*\)"),
        (f"{_CRAWLER}test_outcomes.py::test_a_failing_response_has_its_outcome_and_reason[TLS: silent]",),
    ),
    Guard("host-deadline", "deadline of a host", NEVER, (f"{_VISIT}test_a_slow_host_is_abandoned_at_its_deadline",)),
    Guard(
        "lease-deadline",
        "visits end before their lease",
        NEVER,
        (f"{_VISIT}test_a_visit_is_interrupted_before_its_lease_expires",),
    ),
    Guard(
        "failing-host",
        "silent hosts are given up",
        Edit(r"= [\w.]+ >= \w+", "= False"),
        (f"{_PLAN}test_endings.py::test_timeouts_end_the_host_after_five_in_a_row",),
    ),
    Guard(
        "failing-host",
        "hosts that limit us are left alone",
        Edit(r"or [\w.]+ >= \w+", "or False"),
        (f"{_PLAN}test_endings.py::test_two_rate_limits_end_the_visit",),
    ),
    Guard(
        "bot-check",
        "bot checks and refusals of firewalls end a visit",
        Edit(r" or self\._blocked >= MAX_BLOCKED"),
        (
            f"{_PLAN}test_endings.py::test_two_challenges_in_a_row_end_the_visit",
            f"{_PLAN}test_endings.py::test_two_refusals_of_a_firewall_in_a_row_end_the_visit",
        ),
    ),
    Guard(
        "firewall-control",
        "a bot check is no control",
        Edit(" and is_own"),
        (f"{_PLAN}test_endings.py::test_a_challenge_in_place_of_a_random_name_is_no_soft_404",),
    ),
    Guard(
        "firewall-unknown",
        "what a firewall refuses is not absent",
        NEVER,
        ("tests/core/test_firewalls.py::test_refused_random_names_do_not_make_a_refusal_an_absence",),
    ),
    Guard(
        "firewall-edge",
        "a site's own refusal is not its firewall's",
        Edit(r"is_weak and .*? else", "False else"),
        (
            "tests/core/test_firewalls.py::"
            "test_a_403_of_a_site_behind_a_network_is_its_own_if_the_front_page_is_not_refused",
        ),
    ),
    Guard(
        "retry-after",
        "Retry-After counts",
        Edit(r"= min\(.*\)", "= timedelta()"),
        ("tests/core/test_revisit.py::test_a_host_may_ask_for_time_between_an_hour_and_a_day",),
    ),
    Guard(
        "retry-after",
        "Retry-After, a day at most",
        Edit(r"= min\((.*), \w+\)", r"= \1"),
        ("tests/core/test_revisit.py::test_a_host_may_ask_for_time_between_an_hour_and_a_day",),
    ),
    Guard(
        "retry-after-digits",
        "Retry-After of thousands of digits",
        Edit(r" if len\(\w+\) < 20 else \w+"),
        ("tests/core/test_verdicts.py::test_retry_after",),
    ),
    # TLS
    Guard(
        "verified-certificate",
        "certificates are verified",
        Edit(r"\.https_only\(True\)", ".https_only(True).danger_accept_invalid_certs(True)"),
        (f"{_CRAWLER}test_outcomes.py::test_a_failing_response_has_its_outcome_and_reason[TLS: expired]",),
    ),
)
