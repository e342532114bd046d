"""What comes over a connection: how much, how slowly, from whom."""

from typing import Final

from tests.guards.guard import Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_ANSWERS = "tests/crawler/test_translate.py::test_answers"
_TRANSPORT = "tests/crawler/test_transport.py::"
_PLAN = "tests/core/plan/"

GUARDS: Final = (
    # bytes
    Guard(
        "header section at most 64 KiB",
        "crawler/transport.py",
        "4 * len(fields) > HEADER_CAP",
        "4 * len(fields) < 0",
        (f"{_ANSWERS}[70 KB of headers]",),
    ),
    Guard(
        "body at most its cap",
        "crawler/transport.py",
        "if body.full and document and not keep_head:",
        "if False:",
        (f"{_CRAWLER}test_translate.py::test_texts_are_cut_where_manifests_are_refused",),
    ),
    Guard(
        "pages that are no documents are short",
        "crawler/transport.py",
        "else min(cap, PAGE_KEPT)",
        "else cap",
        (f"{_CRAWLER}test_translate.py::test_pages_that_are_no_documents_may_be_broken",),
    ),
    Guard(
        "pages that are no documents are not read for ever",
        "crawler/transport.py",
        "if body.full and (document or raw > PAGE_DRAINED):",
        "if body.full and document:",
        (f"{_CRAWLER}test_translate.py::test_endless_page_that_is_no_document_is_left",),
    ),
    Guard(
        "a body comes in few pieces",
        "crawler/transport.py",
        "if pieces > MAX_CHUNKS:",
        "if False:",
        (f"{_TRANSPORT}test_a_body_in_too_many_pieces_is_given_up",),
    ),
    Guard(
        "connections that pour are shut",
        "crawler/floods.py",
        "if size > IN_ALL * times or size - self._before.get(descriptor, 0) > at_once:",
        "if False:",
        (f"{_CRAWLER}test_floods.py::test_a_host_that_pours_interim_responses_is_left_at_once",),
    ),
    Guard(
        "only connections of visits are shut",
        "crawler/floods.py",
        "if peer in self._clients.addresses() and",
        "if",
        (f"{_CRAWLER}test_floods.py::test_other_connections_of_the_process_are_nobodys_business",),
    ),
    Guard(
        "bodies share one room",
        "crawler/room.py",
        "if wanted - self._taken > self._room.left:",
        "if False:",
        (f"{_CRAWLER}test_room.py",),
    ),
    Guard(
        "what a visit keeps counts in the room",
        "crawler/visit.py",
        "                    session.share.keep(plan.held)",
        "                    pass",
        (f"{_CRAWLER}test_room.py::test_who_finds_no_room_is_visited_later_and_nothing_stays_taken",),
    ),
    Guard(
        "large bodies are judged beside the loop",
        "crawler/visit.py",
        "if size > OFF_LOOP_BYTES:",
        "if False:",
        (f"{_VISIT}test_large_bodies_are_judged_in_a_thread",),
    ),
    Guard(
        "what the resolver remembers is forgotten",
        "crawler/guards.py",
        "if self.looked_up % FORGET == 0:",
        "if self.looked_up == 0:",
        ("tests/crawler/test_txt_records.py::test_answers_are_forgotten_while_their_time_to_live_lasts",),
    ),
    Guard(
        "validators that would be header fields",
        "crawler/translate.py",
        "if probe.etag and _FIELD_VALUE.fullmatch(probe.etag):",
        "if probe.etag:",
        (f"{_VISIT}test_known_document_is_asked_for_conditionally",),
    ),
    Guard(
        "no cookies",
        "crawler/transport.py",
        ".default_cookie_store(False)",
        ".default_cookie_store(True)",
        (f"{_VISIT}test_cookies_are_not_sent_back",),
    ),
    Guard(
        "gzip unpacks no further than the cap",
        "crawler/transport.py",
        "gzip.decompress(chunk, self._cap + 1 - self._size)",
        "gzip.decompress(chunk)",
        (f"{_TRANSPORT}test_a_bomb_is_unpacked_no_further_than_its_cap",),
    ),
    Guard(
        "gzip is complete", "crawler/transport.py", 'raise Broken("gzip_truncated")', "pass", (f"{_ANSWERS}[gzip cut]",)
    ),
    Guard(
        "gzip is one member",
        "crawler/transport.py",
        '        if gzip.unused_data:\n            raise Broken("gzip_trailing_data")',
        "",
        (f"{_ANSWERS}[gzip twice over]",),
    ),
    Guard(
        "other encodings are refused",
        "crawler/transport.py",
        '    raise Broken("encoding", codings[0]',
        '    return "identity"\n    raise Broken("encoding", codings[0]',
        (f"{_ANSWERS}[brotli]",),
    ),
    # time
    Guard(
        "deadline of a request",
        "crawler/transport.py",
        ".timeout(timedelta(seconds=seconds))",
        "",
        (f"{_ANSWERS}[silent]",),
    ),
    Guard(
        "deadline of a connection",
        "crawler/transport.py",
        "            .connect_timeout(self._connect_timeout)\n",
        "",
        (f"{_CRAWLER}test_translate.py::test_handshakes[never answers]",),
    ),
    Guard(
        "deadline of a host",
        "crawler/visit.py",
        "if self._seconds <= 0:",
        "if False:",
        (f"{_VISIT}test_host_that_never_lets_go_is_left_at_its_deadline",),
    ),
    Guard(
        "visits end before their lease",
        "crawler/visit.py",
        "if max(now, self._pace.due) >= self._until:",
        "if False:",
        (f"{_VISIT}test_visit_is_cut_before_the_lease_runs_out",),
    ),
    Guard(
        "silent hosts are given up",
        "registry/core/patience.py",
        "self._timeouts >= MAX_TIMEOUTS",
        "False",
        (f"{_PLAN}test_endings.py::test_timeouts_end_the_host_after_five_in_a_row",),
    ),
    Guard(
        "hosts that limit us are left alone",
        "registry/core/patience.py",
        "self._limited >= MAX_RATE_LIMITED",
        "False",
        (f"{_PLAN}test_endings.py::test_a_host_that_limits_us_twice_is_left_alone",),
    ),
    Guard(
        "bot checks end a visit",
        "registry/core/patience.py",
        'or reason == "challenge"',
        "",
        (f"{_PLAN}test_endings.py::test_a_challenge_ends_the_host",),
    ),
    Guard(
        "Retry-After counts",
        "registry/core/revisit.py",
        "    asked = min(history.retry_after or timedelta(), RETRY_MOST)",
        "    asked = timedelta()",
        ("tests/core/test_revisit.py::test_a_host_may_ask_for_time_between_an_hour_and_a_day",),
    ),
    Guard(
        "Retry-After, a day at most",
        "registry/core/revisit.py",
        "    asked = min(history.retry_after or timedelta(), RETRY_MOST)",
        "    asked = history.retry_after or timedelta()",
        ("tests/core/test_revisit.py::test_a_host_may_ask_for_time_between_an_hour_and_a_day",),
    ),
    Guard(
        "Retry-After of thousands of digits",
        "registry/core/verdicts.py",
        "return min(int(field), MAX_RETRY_AFTER) if len(field) < 20 else MAX_RETRY_AFTER",
        "return min(int(field), MAX_RETRY_AFTER)",
        ("tests/core/test_verdicts.py::test_retry_after",),
    ),
    # TLS
    Guard(
        "certificates are verified",
        "crawler/transport.py",
        ".https_only(True)",
        ".https_only(True).danger_accept_invalid_certs(True)",
        (f"{_CRAWLER}test_translate.py::test_certificates",),
    ),
)
