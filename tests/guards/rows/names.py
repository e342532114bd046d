"""Names, URLs, and where a redirect may lead."""

from typing import Final

from tests.guards.guard import Guard

_VISIT = "tests/crawler/test_visit.py::"
_ANSWERS = "tests/crawler/test_translate.py::test_answers"
_DOMAIN = "tests/core/test_domains.py::"
_PLAN = "tests/core/plan/"
_REDIRECT = "tests/core/test_verdicts.py::"

GUARDS: Final = (
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
        "hosts that no resolver could ask for",
        "registry/core/domains.py",
        "return host if _can_be_resolved(host) else None",
        "return host",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "URLs of at most 2,048 characters",
        "registry/core/domains.py",
        "return canonical if len(canonical) <= MAX_URL_CHARS else None",
        "return canonical",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "URLs that are too long to be parsed",
        "registry/core/domains.py",
        "if len(url) > 4 * MAX_URL_CHARS:",
        "if False:",
        (f"{_DOMAIN}test_hosts_and_fetchable_urls",),
    ),
    Guard(
        "a name and nothing beside it",
        "registry/core/domains.py",
        "    _refuse_decoration(text)\n    name =",
        "    name =",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "letters, digits and hyphens",
        "registry/core/domains.py",
        "if not _LDH.fullmatch(label):",
        "if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "xn-- parts are what they say",
        "registry/core/domains.py",
        'if label[2:4] == "--":',
        "if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "parts of a name: length",
        "registry/core/domains.py",
        "    if len(label) > 63:",
        "    if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "parts of a name: number",
        "registry/core/domains.py",
        "    if len(labels) > MAX_LABELS:",
        "    if False:",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "names below which others register",
        "registry/core/domains.py",
        "    if not domain:\n",
        "    if False:\n",
        (f"{_DOMAIN}test_refused_with_a_code",),
    ),
    Guard(
        "top levels that nobody has",
        "registry/core/domains.py",
        "    if not suffix:\n",
        "    if False:\n",
        (f"{_DOMAIN}test_refused_with_a_code",),
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
        "two Locations",
        "crawler/visit.py",
        'if "location" in wire.repeated:',
        "if False:",
        (f"{_ANSWERS}[two locations]",),
    ),
    Guard(
        "redirects are paid for",
        "registry/core/plan.py",
        "            return Stop(Outcome.SKIPPED, NO_BUDGET)",
        "            pass",
        (f"{_PLAN}test_redirects.py::test_a_redirect_that_the_budget_has_no_request_for_is_not_followed",),
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
        (f"{_PLAN}test_redirects.py::test_robots_count_for_the_end_of_a_redirect_too",),
    ),
)
