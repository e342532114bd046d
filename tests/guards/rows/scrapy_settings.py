"""What of Scrapy is switched off."""

from typing import Final

from tests.guards.guard import Guard

_SETTINGS = "tests/crawler/test_scrapy_settings.py::"

GUARDS: Final = (
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
