"""What of Scrapy is switched off."""

from typing import Final

from tests.guards.guard import Edit, Guard

_SETTINGS = "tests/crawler/test_scrapy_settings.py::"

GUARDS: Final = (
    Guard(
        "scrapy-handlers",
        "Scrapy's own handlers",
        Edit(r"\*\*dict\.fromkeys\(.*?\)\),"),
        (f"{_SETTINGS}test_only_our_own_scheme_has_a_handler",),
    ),
    Guard(
        "scrapy-proxy",
        "Scrapy's proxy",
        Edit("= False", "= True"),
        (f"{_SETTINGS}test_features_that_bypass_the_guards_or_add_requests_are_off[HTTPPROXY_ENABLED]",),
    ),
    Guard(
        "scrapy-telnet",
        "Scrapy's telnet console",
        Edit("= False", "= True"),
        (f"{_SETTINGS}test_features_that_bypass_the_guards_or_add_requests_are_off[TELNETCONSOLE_ENABLED]",),
    ),
    Guard(
        "scrapy-remote-control",
        "Scrapy's remote control",
        Edit("= False", "= True"),
        (f"{_SETTINGS}test_features_that_bypass_the_guards_or_add_requests_are_off[REMOTE_CONTROL_ENABLED]",),
    ),
)
