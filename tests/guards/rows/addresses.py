"""Which addresses may be dialled, and that nothing but the judged one is."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_TRANSPORT = "tests/crawler/test_transport.py::"
_ADDRESS = "tests/core/test_addresses.py::"
_SPECIAL = "tests/core/test_special_purpose.py::"
_SSRF = "tests/crawler/test_ssrf.py::test_no_refused_address_is_dialled_and_every_public_control_is_reached"
_EVERY = "tests/crawler/test_guards.py::test_every_address_is_judged_and_an_allowed_one_is_picked"

GUARDS: Final = (
    Guard(
        "address-judged", "address policy where the dial happens", Edit(r"if \w+ is None:", "if True:"), (_EVERY, _SSRF)
    ),
    Guard(
        "every-answer-judged",
        "every DNS answer is judged",
        Edit(r"= (\w+\(\w+\))", r"= \1 if refused is None else None"),
        (_EVERY,),
    ),
    Guard(
        "iana-ipv4",
        "IANA registry, IPv4",
        Edit(r" if \w+ in \w+\)", " if False)"),
        (f"{_ADDRESS}test_special_purpose_addresses_are_refused",),
    ),
    Guard(
        "iana-ipv6",
        "IANA registry, IPv6",
        Edit(r" if \w+ in \w+\)", " if False)"),
        (f"{_ADDRESS}test_special_purpose_addresses_are_refused",),
    ),
    Guard(
        "ipv6-global-unicast",
        "IPv6 only inside 2000::/3",
        Edit("is None and", "and"),
        (f"{_ADDRESS}test_special_purpose_addresses_are_refused",),
    ),
    Guard(
        "address-zone", "no address with a zone", NEVER, (f"{_ADDRESS}test_anything_but_one_plain_address_is_refused",)
    ),
    Guard(
        "refreshed-blocks",
        "blocks that IANA reserved since the release",
        Edit(r" if \w+ in \w+\)", " if False)"),
        (f"{_SPECIAL}test_a_new_row_refuses_its_block_until_it_is_removed",),
    ),
    Guard(
        "registry-prefix-length",
        "a registry that would close the internet, by size",
        NEVER,
        (f"{_SPECIAL}test_a_registry_that_would_close_the_internet_is_refused",),
    ),
    Guard(
        "registry-public-addresses",
        "a registry that would close the internet, by its best-known addresses",
        NEVER,
        (
            f"{_SPECIAL}test_a_registry_that_would_close_the_internet_is_refused",
            f"{_SPECIAL}test_a_registry_that_would_close_ipv6_is_refused",
        ),
    ),
    Guard(
        "registry-known-blocks",
        "a registry that forgot what everybody knows",
        NEVER,
        (f"{_SPECIAL}test_a_registry_without_what_everybody_knows_is_refused",),
    ),
    Guard(
        "registry-half",
        "half a registry",
        NEVER,
        (f"{_SPECIAL}test_a_registry_without_what_everybody_knows_is_refused",),
    ),
    Guard(
        "registry-length",
        "a registry of any length",
        NEVER,
        (f"{_SPECIAL}test_what_is_no_registry_is_refused[too many]",),
    ),
    Guard("no-search-domains", "names are not completed by search domains", Edit(r" \| [\w.]+_NOSEARCH"), (_SSRF,)),
    Guard(
        "one-look-up",
        "a name is looked up once in a visit",
        Edit(r"= \w+ if [^#\n]* else ([^#\n]*\))", r"= (self._pins.clear(), \1)[1]"),
        (f"{_CRAWLER}test_ssrf.py::test_a_name_that_changes_its_address_is_dialled_only_at_judged_addresses",),
    ),
    Guard(
        "empty-host",
        "no host, no look-up",
        NEVER,
        (f"{_CRAWLER}test_guards.py::test_an_empty_host_is_refused_without_a_look_up",),
    ),
    Guard(
        "table-port",
        "the table has port 443 only",
        NEVER,
        (f"{_CRAWLER}test_guards.py::test_a_malformed_entry_is_refused",),
    ),
    Guard(
        "table-addresses",
        "the table has addresses only",
        Edit("raise .* from None", "pass"),
        (f"{_CRAWLER}test_guards.py::test_a_malformed_entry_is_refused",),
    ),
    Guard(
        "table-alone",
        "with a table alone nothing else resolves",
        Edit(r"raise .*\)", 'return Pin(host, "127.0.0.1", HTTPS_PORT, limiter_key=host)'),
        (f"{_CRAWLER}test_guards.py::test_the_table_logs_a_warning_and_nothing_else_resolves",),
    ),
    Guard(
        "pinned-address",
        "the judged address is the one that is dialled",
        SKIP,
        (f"{_VISIT}test_a_visit_finds_the_document_over_one_connection",),
    ),
    Guard(
        "pinned-host",
        "a request never leaves its pin",
        NEVER,
        (f"{_TRANSPORT}test_a_url_that_the_pin_does_not_cover_is_never_dialled",),
    ),
    Guard(
        "pin-per-visit",
        "each visit has the address that it judged",
        Edit(r"(\w+\.setdefault\([^)]*\)) == \w+", r"\1"),
        (f"{_VISIT}test_a_client_is_shared_only_for_the_same_pin",),
    ),
    Guard(
        "no-proxy",
        "no proxy of the environment",
        Edit(r"\.no_proxy\(\)"),
        (f"{_TRANSPORT}test_proxies_of_the_environment_are_not_used",),
    ),
)
