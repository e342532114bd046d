"""What Scrapy brings along and would go around the guards is switched off, as Scrapy itself sees it."""

import pytest
from scrapy.settings import Settings as ScrapySettings

from crawler.settings import SCHEME, scrapy_settings
from tests.crawler.support import settings


@pytest.fixture
def chosen() -> ScrapySettings:
    return ScrapySettings(scrapy_settings(settings()))


def test_only_our_own_scheme_has_a_handler(chosen: ScrapySettings) -> None:
    """file: and data: are on by default, and read files."""
    handlers = chosen.getwithbase("DOWNLOAD_HANDLERS")
    assert {scheme for scheme, handler in handlers.items() if handler is not None} == {SCHEME}


@pytest.mark.parametrize(
    "name",
    ["HTTPPROXY_ENABLED", "TELNETCONSOLE_ENABLED", "REMOTE_CONTROL_ENABLED", "REDIRECT_ENABLED", "RETRY_ENABLED",
     "METAREFRESH_ENABLED", "COOKIES_ENABLED", "REFERER_ENABLED", "COMPRESSION_ENABLED"],
)  # fmt: skip
def test_what_bypasses_or_multiplies_is_off(chosen: ScrapySettings, name: str) -> None:
    assert name in ScrapySettings() or name == "REMOTE_CONTROL_ENABLED", "Scrapy has renamed it"
    assert chosen.getbool(name, True) is False
