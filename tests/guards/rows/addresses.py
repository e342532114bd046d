"""Which addresses may be dialled, and that nothing but the judged one is."""

from typing import Final

from tests.guards.guard import Guard

_CRAWLER = "tests/crawler/"
_VISIT = "tests/crawler/test_visit.py::"
_TRANSPORT = "tests/crawler/test_transport.py::"
_ADDRESS = "tests/core/test_addresses.py::"
_SPECIAL = "tests/core/test_special_purpose.py::"
_SSRF = "tests/crawler/test_ssrf.py::test_no_refused_address_is_dialled_and_every_public_control_is_reached"
_EVERY = "tests/crawler/test_guards.py::test_every_answer_is_judged_and_an_allowed_one_picked"

GUARDS: Final = (
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
        "blocks that IANA reserved since the release",
        "registry/core/addresses.py",
        "for network, row in _more if judged in network",
        "for network, row in _more if False",
        (f"{_SPECIAL}test_a_new_row_closes_its_block_until_it_is_taken_back",),
    ),
    Guard(
        "a registry that would close the internet, by size",
        "registry/core/special_purpose.py",
        "if network.prefixlen < WIDEST[version]:",
        "if False:",
        (f"{_SPECIAL}test_a_registry_that_would_close_the_internet_is_refused",),
    ),
    Guard(
        "a registry that would close the internet, by its best-known addresses",
        "registry/core/special_purpose.py",
        "if any(ip_address(one) in network for one in PUBLIC):",
        "if False:",
        (
            f"{_SPECIAL}test_a_registry_that_would_close_the_internet_is_refused",
            f"{_SPECIAL}test_a_registry_that_would_close_ipv6_is_refused",
        ),
    ),
    Guard(
        "a registry that forgot what everybody knows",
        "registry/core/special_purpose.py",
        "if missing := [prefix for prefix in KNOWN[version] if prefix not in prefixes]:",
        "if missing := []:",
        (f"{_SPECIAL}test_a_registry_without_what_everybody_knows_is_refused",),
    ),
    Guard(
        "half a registry",
        "registry/core/special_purpose.py",
        "if len(rows) < LEAST_SHARE * shipped:",
        "if False:",
        (f"{_SPECIAL}test_a_registry_without_what_everybody_knows_is_refused",),
    ),
    Guard(
        "a registry of any length",
        "registry/core/special_purpose.py",
        "if len(rows) > MOST_ROWS:",
        "if False:",
        (f"{_SPECIAL}test_what_is_no_registry_is_refused[too many]",),
    ),
    Guard(
        "names are not completed by search domains",
        "crawler/guards.py",
        "pycares.ARES_FLAG_EDNS | pycares.ARES_FLAG_NOSEARCH",
        "pycares.ARES_FLAG_EDNS",
        (_SSRF,),
    ),
    Guard(
        "a name is looked up once in a visit",
        "crawler/visit.py",
        "pin = self._at[1] if url.startswith(self._at[0]) else await self._pin(url)",
        "pin = (self._pins.clear(), await self._pin(url))[1]",
        (f"{_CRAWLER}test_ssrf.py::test_name_that_changes_its_address_is_dialled_only_where_it_was_judged",),
    ),
    Guard(
        "no host, no look-up",
        "crawler/guards.py",
        "        if not host:\n",
        "        if False:\n",
        (f"{_CRAWLER}test_guards.py::test_what_has_no_name_is_refused_before_anybody_is_asked",),
    ),
    Guard(
        "the table has port 443 only",
        "crawler/guards.py",
        'if match["port"] != str(HTTPS_PORT):',
        "if False:",
        (f"{_CRAWLER}test_guards.py::test_entry_that_says_too_little_or_too_much_is_refused",),
    ),
    Guard(
        "the table has addresses only",
        "crawler/guards.py",
        """        raise BadEntry(f"connect-to {text!r}: {bare!r} is not an IP address") from None""",
        "        return bare",
        (f"{_CRAWLER}test_guards.py::test_entry_that_says_too_little_or_too_much_is_refused",),
    ),
    Guard(
        "with a table alone nothing else resolves",
        "crawler/guards.py",
        """            raise Unresolved("nxdomain")""",
        '            return Pin(host, "127.0.0.1", HTTPS_PORT, place=host)',
        (f"{_CRAWLER}test_guards.py::test_table_is_loud_and_nothing_else_resolves",),
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
        "each visit has the address that it judged",
        "crawler/transport.py",
        "fits = pins.setdefault(wanted.pin.host, wanted.pin) == wanted.pin",
        "fits = bool(pins.setdefault(wanted.pin.host, wanted.pin))",
        (f"{_VISIT}test_one_name_at_two_addresses_is_two_clients",),
    ),
    Guard(
        "no proxy of the environment",
        "crawler/transport.py",
        "            .no_proxy()\n",
        "",
        (f"{_TRANSPORT}test_proxies_of_the_environment_are_not_used",),
    ),
)
