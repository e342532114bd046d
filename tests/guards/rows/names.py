"""Names, URLs, and where a redirect may lead."""

from typing import Final

from tests.guards.guard import NEVER, SKIP, Edit, Guard

_VISIT = "tests/crawler/test_visit.py::"
_ANSWERS = "tests/crawler/test_outcomes.py::test_a_failing_response_has_its_outcome_and_reason"
_DOMAIN = "tests/core/test_domains.py::"
_TOOLS = "tests/crawler/test_tool_lists.py::"
_PLAN = "tests/core/plan/"
_REDIRECT = "tests/core/test_verdicts.py::"

GUARDS: Final = (
    # URLs and names
    Guard(
        "https-url",
        "https only",
        Edit(' != "https"', ' == "file"'),
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_a_redirect_is_followed_or_stopped"),
    ),
    Guard(
        "https-url",
        "port 443 only",
        Edit(r"or \w+\.port or", "or"),
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_a_redirect_is_followed_or_stopped"),
    ),
    Guard(
        "https-url",
        "no user name in a URL",
        Edit(r"or \w+\.has_user:", "or False:"),
        (f"{_DOMAIN}test_hosts_and_fetchable_urls", f"{_REDIRECT}test_a_redirect_is_followed_or_stopped"),
    ),
    Guard("name-not-address", "no address in the place of a name", NEVER, (f"{_DOMAIN}test_hosts_and_fetchable_urls",)),
    Guard(
        "resolvable-host",
        "hosts that no resolver could ask for",
        Edit(r" if \w+\(\w+\) else None"),
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "url-length",
        "URLs of at most 2,048 characters",
        Edit(r" if len\(\w+\) <= \w+ else None"),
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "url-parse-length", "URLs that are too long to be parsed", NEVER, (f"{_DOMAIN}test_hosts_and_fetchable_urls",)
    ),
    Guard("bare-name", "a name and nothing beside it", SKIP, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard("ldh-label", "letters, digits and hyphens", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard("xn-label", "xn-- parts are what they say", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard("label-length", "parts of a name: length", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard("label-count", "parts of a name: number", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard(
        "bare-suffix", "names below which others register", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)
    ),
    Guard("unknown-suffix", "unknown top level domains", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard(
        "numeric-name",
        "a name that ends in a number is an address",
        NEVER,
        (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",),
    ),
    Guard("special-use-name", "special-use names", NEVER, (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",)),
    Guard(
        "invisible-characters",
        "invisible characters in names",
        Edit(r'"Cc", "Cf"\)', '"Cc",)'),
        (f"{_DOMAIN}test_bad_names_are_refused_with_a_code",),
    ),
    Guard(
        "look-alike",
        "look-alikes are flagged",
        Edit("return ", "return False and "),
        (f"{_DOMAIN}test_look_alikes_are_accepted_with_a_flag",),
    ),
    # redirects
    Guard(
        "redirect-same-site",
        "redirects stay on their site",
        NEVER,
        (f"{_REDIRECT}test_a_redirect_is_followed_or_stopped",),
    ),
    Guard(
        "redirect-limit",
        "redirects are counted",
        Edit(r" or len\(\w+\) >= \w+"),
        (f"{_REDIRECT}test_the_number_of_hops_is_limited",),
    ),
    Guard(
        "redirect-limit",
        "redirect loops",
        Edit(r"if \w+ == \w+ or \w+ in \w+ or", "if False or"),
        (f"{_REDIRECT}test_a_redirect_is_followed_or_stopped",),
    ),
    Guard("one-location", "two Locations", NEVER, (f"{_ANSWERS}[redirect to two places]",)),
    Guard(
        "redirect-budget",
        "redirects are paid for",
        SKIP,
        (f"{_PLAN}test_redirects.py::test_a_redirect_that_the_budget_has_no_request_for_is_not_followed",),
    ),
    Guard(
        "redirect-decided-here",
        "each hop is decided by us",
        Edit(r"follow_redirects\(False\)", "follow_redirects(True)"),
        (f"{_VISIT}test_redirects_inside_the_domain_are_followed_hop_by_hop",),
    ),
    Guard(
        "robots-after-redirect",
        "robots.txt of the host that a redirect leads to",
        Edit(" if .* else ", " if True else "),
        (f"{_PLAN}test_redirects.py::test_robots_txt_also_applies_to_the_target_of_a_redirect",),
    ),
    # messages to MCP servers
    Guard(
        "tools-same-site",
        "MCP servers of other sites are not asked",
        Edit(r" and same_site\(.*?\)"),
        (f"{_TOOLS}test_some_endpoints_are_never_asked",),
    ),
    Guard("robots-of-tools", "robots.txt counts for MCP endpoints", NEVER, (f"{_TOOLS}test_robots_txt_is_obeyed",)),
    Guard(
        "tools-pages",
        "pages of MCP tools are counted",
        Edit(r"range\(\w+\)", "range(30)"),
        (f"{_TOOLS}test_endless_pages_are_cut",),
    ),
    Guard(
        "session-id-syntax",
        "MCP session ids are checked",
        NEVER,
        (f"{_TOOLS}test_a_session_id_that_is_no_field_value_is_not_sent",),
    ),
    Guard(
        "post-redirect-host",
        "MCP messages stay on their host",
        NEVER,
        (f"{_TOOLS}test_a_post_is_not_redirected_away",),
    ),
    Guard(
        "post-redirect-method",
        "MCP messages stay a POST",
        NEVER,
        (f"{_TOOLS}test_a_post_is_not_redirected_away",),
    ),
    # checks of addresses for calls
    Guard(
        "call-check-same-site",
        "addresses for calls on other sites are not checked",
        Edit(r" or not same_site\(.*?\)"),
        (f"{_PLAN}test_call_checks.py::test_only_addresses_of_the_site_without_parameters_are_checked",),
    ),
    Guard(
        "call-check-daily",
        "an address for calls is checked once a day",
        Edit(r" if _is_due\(.*\)\]", "]"),
        (f"{_PLAN}test_call_checks.py::test_an_address_is_checked_once_a_day",),
    ),
    Guard(
        "call-check-count",
        "few addresses for calls are checked in a visit",
        Edit(r"\[:MAX_ADDRESSES\]"),
        (f"{_PLAN}test_call_checks.py::test_of_many_addresses_a_few_take_turns",),
    ),
    Guard(
        "robots-of-calls",
        "robots.txt counts for addresses for calls",
        Edit(r"robots\.allowed\(probe\.url\)", "True"),
        (f"{_PLAN}test_call_checks.py::test_robots_txt_is_obeyed_on_every_host",),
    ),
    Guard(
        "call-check-redirect",
        "redirects of addresses for calls are not followed",
        Edit(r" or probe\.method is not None"),
        ("tests/crawler/test_call_checks.py::test_one_request_is_enough_whatever_the_answer",),
    ),
    Guard(
        "call-check-owned",
        "addresses for calls are checked for owners",
        Edit(r"await uow\.claims\.owned\(hosts\)", "hosts"),
        ("tests/actions/test_call_checks.py::test_a_proven_host_is_checked_and_others_are_not",),
    ),
    Guard(
        "call-check-switched-off",
        "owners switch the checks of addresses for calls off",
        SKIP,
        ("tests/actions/test_call_checks.py::test_the_owner_switches_checks_off_and_on",),
    ),
)
