"""Every guard, the smallest edit of the source that switches it off, and the tests that must then turn red.

A test that stays green without the guard it is meant for tests nothing. `python -m tests.guards` (`make guards`) makes
each edit in a copy of the tree and runs the named tests with and without it; `tests/guards/test_table.py` checks in
every run of the tests that the edits still fit and the tests still exist. docs/safety.md shows the list. Longer than
other modules because it is one table.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Guard:
    """`old` stands exactly once in `file`. `tests`: node ids, of which each must fail once `new` is in its place."""

    name: str
    file: str
    old: str
    new: str
    tests: tuple[str, ...]


_CRAWLER = "tests/crawler/"
_VISIT = f"{_CRAWLER}test_visit.py::"
_ANSWERS = f"{_CRAWLER}test_translate.py::test_answers"
_TRANSPORT = f"{_CRAWLER}test_transport.py::"
_SETTINGS = f"{_CRAWLER}test_scrapy_settings.py::"
_PLACES = f"{_CRAWLER}test_politeness.py::"
_ADDRESS = "tests/core/test_addresses.py::"
_DOMAIN = "tests/core/test_domains.py::"
_PLAN = "tests/core/test_plan.py::"
_REDIRECT = "tests/core/test_verdicts.py::"
_READER = "tests/core/test_reader.py::"
_LEASE = "tests/actions/test_lease.py::"
_SSRF = f"{_CRAWLER}test_ssrf.py::test_no_refused_address_is_dialled_and_every_public_control_is_reached"
_EVERY = f"{_CRAWLER}test_guards.py::test_every_answer_is_judged_and_an_allowed_one_picked"

GUARDS: Final = (
    # addresses
    Guard(
        "address policy where the dial happens", "crawler/guards.py", "if why is None:", "if address:", (_EVERY, _SSRF)
    ),
    Guard(
        "every DNS answer is judged",
        "crawler/guards.py",
        "why = refusal(address)",
        "why = refusal(address) if refused is None else None",
        (_EVERY,),
    ),
    Guard(
        "IANA registry, IPv4",
        "registry/core/addresses.py",
        "for network, row in _NETWORKS_V4 if address in network",
        "for network, row in _NETWORKS_V4 if False",
        (f"{_ADDRESS}test_refused",),
    ),
    Guard(
        "IANA registry, IPv6",
        "registry/core/addresses.py",
        "for network, row in _NETWORKS_V6 if address in network",
        "for network, row in _NETWORKS_V6 if False",
        (f"{_ADDRESS}test_refused",),
    ),
    Guard(
        "IPv6 only inside 2000::/3",
        "registry/core/addresses.py",
        "if named is None and address not in",
        "if named and address not in",
        (f"{_ADDRESS}test_refused",),
    ),
    Guard(
        "no address with a zone",
        "registry/core/addresses.py",
        "if address.scope_id is not None:",
        "if False:",
        (f"{_ADDRESS}test_what_is_not_plainly_one_address_is_refused",),
    ),
    Guard(
        "the judged address is the one that is dialled",
        "crawler/transport.py",
        "builder = builder.resolve(pin.host, pin.address, pin.port)",
        "pass",
        (f"{_VISIT}test_one_host_one_connection_and_the_document_is_found",),
    ),
    Guard(
        "a request never leaves its pin",
        "crawler/transport.py",
        'if not url.startswith(f"https://{pin.host}/"):',
        "if False:",
        (f"{_TRANSPORT}test_a_url_that_the_pin_does_not_cover_is_never_dialled",),
    ),
    Guard(
        "no proxy of the environment",
        "crawler/transport.py",
        "            .no_proxy()\n",
        "",
        (f"{_TRANSPORT}test_proxies_of_the_environment_are_not_used",),
    ),
    # URLs and names
    Guard(
        "https only",
        "registry/core/domains.py",
        'parsed.scheme != "https"',
        'parsed.scheme == "file"',
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_redirects"),
    ),
    Guard(
        "port 443 only",
        "registry/core/domains.py",
        "or parsed.port or",
        "or",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_redirects"),
    ),
    Guard(
        "no user name in a URL",
        "registry/core/domains.py",
        "or parsed.has_user:",
        "or False:",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_redirects"),
    ),
    Guard(
        "no address in the place of a name",
        "registry/core/domains.py",
        "    if not parsed.is_name:\n        return None",
        "    if False:\n        return None",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "a name that ends in a number is an address",
        "registry/core/domains.py",
        "if _NUMERIC.fullmatch(labels[-1]):",
        "if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "special-use names",
        "registry/core/domains.py",
        "if labels[-1] in SPECIAL_USE:",
        "if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "invisible characters in names",
        "registry/core/domains.py",
        'if category in ("Cc", "Cf")',
        'if category in ("Cc",)',
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "look-alikes are flagged",
        "registry/core/domains.py",
        "return looks_alike(",
        "return False and looks_alike(",
        (f"{_DOMAIN}test_look_alikes_are_accepted_with_a_flag",),
    ),
    # redirects
    Guard(
        "redirects stay on their site",
        "registry/core/redirects.py",
        "if not same_site(here, there):",
        "if False:",
        (f"{_REDIRECT}test_redirects",),
    ),
    Guard(
        "redirects are counted",
        "registry/core/redirects.py",
        "or len(hops) >= limit",
        "",
        (f"{_REDIRECT}test_hops_are_counted",),
    ),
    Guard(
        "redirect loops",
        "registry/core/redirects.py",
        "url == from_url or url in hops or",
        "False or",
        (f"{_REDIRECT}test_redirects",),
    ),
    Guard(
        "each hop is decided by us",
        "crawler/transport.py",
        ".follow_redirects(False)",
        ".follow_redirects(True)",
        (f"{_VISIT}test_redirects_inside_the_domain_are_followed_hop_by_hop",),
    ),
    Guard(
        "robots.txt of the host that a redirect leads to",
        "registry/core/plan.py",
        "return decision if robots.allowed(decision.url) else",
        "return decision if True else",
        (f"{_PLAN}test_robots_count_for_the_end_of_a_redirect_too",),
    ),
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
        "a body comes in few pieces",
        "crawler/transport.py",
        "if pieces > MAX_CHUNKS:",
        "if False:",
        (f"{_TRANSPORT}test_a_body_in_too_many_pieces_is_given_up",),
    ),
    Guard(
        "bodies share one room",
        "crawler/room.py",
        "if wanted - self._taken > self._room.left:",
        "if False:",
        (f"{_CRAWLER}test_room.py",),
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
        "silent hosts are given up",
        "registry/core/patience.py",
        "self._timeouts >= MAX_TIMEOUTS",
        "False",
        (f"{_PLAN}test_timeouts_end_the_host_after_five_in_a_row",),
    ),
    # TLS
    Guard(
        "certificates are verified",
        "crawler/transport.py",
        ".https_only(True)",
        ".https_only(True).danger_accept_invalid_certs(True)",
        (f"{_CRAWLER}test_translate.py::test_certificates",),
    ),
    # robots.txt and politeness
    Guard(
        "robots.txt that fails stops the visit",
        "registry/core/robots.py",
        'return cls(reachable=False, reason=f"robots_{status}")',
        'return cls(reason=f"robots_{status}")',
        ("tests/core/test_robots.py::test_the_status_decides_when_there_is_no_file",),
    ),
    Guard(
        "robots.txt is obeyed",
        "registry/core/plan.py",
        "if not robots.allowed(probe.url):",
        "if False:",
        (f"{_PLAN}test_robots_may_forbid_some_paths_only",),
    ),
    Guard(
        "Crawl-delay",
        "crawler/politeness.py",
        "max(self.least, self._delay)",
        "self.least",
        (f"{_PLACES}test_robots_may_ask_for_longer_pauses_never_for_shorter_ones",),
    ),
    Guard(
        "pause between requests",
        "crawler/politeness.py",
        "self.due = self._asked + max(self.least, self._delay)",
        "pass",
        (f"{_VISIT}test_pauses_between_requests_over_all_hosts_of_a_domain",),
    ),
    Guard(
        "connections at once to an address",
        "crawler/politeness.py",
        "self._in(place, connections_at(place))",
        "self._in(place, 10_000)",
        (f"{_PLACES}test_no_more_than_two_at_one_address_and_others_unhindered",),
    ),
    Guard(
        "connections at once to a block",
        "crawler/politeness.py",
        "self._in(block, self._per_block)",
        "self._in(block, 10_000)",
        (f"{_PLACES}test_no_more_than_so_many_in_one_block",),
    ),
    Guard(
        "requests a day to a block",
        "crawler/politeness.py",
        "self._sum(block) >= self._daily",
        "False",
        (f"{_PLACES}test_a_block_that_had_its_requests_is_left_alone_by_every_process",),
    ),
    Guard(
        "requests a day to a domain",
        "crawler/visit.py",
        "self.settings.domain_daily_budget - spent",
        "self.settings.domain_daily_budget",
        (f"{_VISIT}test_budget_of_the_day_is_kept_over_all_hosts",),
    ),
    Guard(
        "requests of one visit",
        "registry/core/patience.py",
        "return self._left[purpose is Purpose.DETAIL] >= requests",
        "return True",
        (f"{_PLAN}test_details_have_a_budget_of_their_own_and_go_on_next_time",),
    ),
    Guard(
        "opted-out hosts are not looked up",
        "crawler/visit.py",
        "OPTED_OUT if is_covered(host, self._closed) else",
        "",
        (f"{_CRAWLER}test_closed_hosts.py",),
    ),
    Guard(
        "opted-out hosts are not leased",
        "registry/actions/frontier/due.py",
        "if is_covered(host.host, opted_out.get(host.domain, ())):",
        "if False:",
        ("tests/actions/test_named_hosts.py::test_a_host_that_opted_out_while_it_waited_is_not_leased",),
    ),
    # the queue
    Guard(
        "one lease for a domain",
        "registry/store/domains.py",
        "SET next_visit_at = %(until)s,",
        "SET next_visit_at = d.next_visit_at,",
        (f"{_LEASE}test_four_workers_share_the_domains_without_taking_one_twice",),
    ),
    Guard(
        "only the holder of a lease records",
        "registry/store/domains.py",
        "ON d.domain = leased.domain AND d.lease_token = leased.token",
        "ON d.domain = leased.domain",
        (f"{_LEASE}test_an_expired_lease_is_taken_again_and_its_first_holder_cannot_complete_it",),
    ),
    Guard(
        "a submission is made once",
        "registry/actions/frontier/submit.py",
        "elif not await _may_repeat(uow, known, now):",
        "elif False:",
        (f"{_LEASE}test_many_submissions_cause_no_more_than_one_visit",),
    ),
    Guard(
        "hosts of one domain that are submitted",
        "registry/actions/frontier/submit.py",
        ">= MAX_WAITING",
        ">= 10**9",
        (f"{_LEASE}test_sub_hosts_of_one_domain_cannot_fill_the_queue",),
    ),
    Guard(
        "hosts of one domain that documents name",
        "registry/actions/frontier/seed.py",
        "if waiting[one.domain] < MAX_HOSTS_NAMED:",
        "if True:",
        ("tests/actions/test_named_hosts.py::test_hosts_that_a_document_names_come_ten_at_a_time",),
    ),
    # documents
    Guard(
        "controls against soft 404",
        "registry/core/controls.py",
        "        if not samples:\n            return None",
        "        return None",
        (f"{_PLAN}test_a_catch_all_page_is_an_absence",),
    ),
    Guard(
        "details on another site",
        "registry/core/following.py",
        "if not same_site(host, home):",
        "if False:",
        (f"{_PLAN}test_details_on_another_site_are_never_asked_for",),
    ),
    Guard(
        "depth of pointers",
        "registry/core/plan.py",
        "case Request(probe) if depth <= probes.MAX_DEPTH and",
        "case Request(probe) if",
        (f"{_PLAN}test_catalogues_that_name_catalogues_end_at_depth_four",),
    ),
    Guard(
        "pointers in a visit",
        "registry/core/plan.py",
        "while self._queue and self._followed < probes.MAX_POINTERS:",
        "while self._queue:",
        (f"{_PLAN}test_at_most_ten_pointers_are_followed",),
    ),
    Guard(
        "endpoints that nobody outside should call",
        "registry/core/endpoints.py",
        'return addresses.refusal(host.strip("[]")) is None',
        "return True",
        ("tests/core/test_endpoints.py::test_what_nobody_outside_should_call_is_removed",),
    ),
    Guard(
        "JSON: depth",
        "registry/core/reader.py",
        "if depth == MAX_DEPTH else None",
        "if depth == -1 else None",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: keys of an object",
        "registry/core/reader.py",
        "if len(value) > MAX_KEYS:",
        "if False:",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: items of an array",
        "registry/core/reader.py",
        "if len(value) > MAX_ITEMS:",
        "if False:",
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: length of a text",
        "registry/core/reader.py",
        'if len(value) > MAX_CHARS or "\\0" in value:',
        'if "\\0" in value:',
        (f"{_READER}test_caps_hold_at_their_edges",),
    ),
    Guard(
        "JSON: NUL",
        "registry/core/reader.py",
        'if len(value) > MAX_CHARS or "\\0" in value:',
        "if len(value) > MAX_CHARS:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: 1e999",
        "registry/core/reader.py",
        "if not isfinite(value):",
        "if False:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: integers",
        "registry/core/reader.py",
        "elif not -MAX_INTEGER <= value <= MAX_INTEGER:",
        "elif False:",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: a key twice",
        "registry/core/reader.py",
        "catch_duplicate_keys=True",
        "catch_duplicate_keys=False",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    Guard(
        "JSON: NaN",
        "registry/core/reader.py",
        "allow_inf_nan=False",
        "allow_inf_nan=True",
        (f"{_READER}test_a_bad_body_has_one_reason",),
    ),
    # Scrapy
    Guard(
        "Scrapy's own handlers",
        "crawler/settings.py",
        '**dict.fromkeys(("http", "https", "file", "data", "s3", "ftp")),',
        "",
        (f"{_SETTINGS}test_only_our_own_scheme_has_a_handler",),
    ),
    Guard(
        "Scrapy's proxy",
        "crawler/settings.py",
        '                "HTTPPROXY_ENABLED",\n',
        "",
        (f"{_SETTINGS}test_what_bypasses_or_multiplies_is_off[HTTPPROXY_ENABLED]",),
    ),
    Guard(
        "Scrapy's telnet console",
        "crawler/settings.py",
        '                "TELNETCONSOLE_ENABLED",\n',
        "",
        (f"{_SETTINGS}test_what_bypasses_or_multiplies_is_off[TELNETCONSOLE_ENABLED]",),
    ),
    Guard(
        "Scrapy's remote control",
        "crawler/settings.py",
        '                "REMOTE_CONTROL_ENABLED",\n',
        "",
        (f"{_SETTINGS}test_what_bypasses_or_multiplies_is_off[REMOTE_CONTROL_ENABLED]",),
    ),
)
