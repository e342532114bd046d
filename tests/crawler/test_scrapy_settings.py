"""The Scrapy project: it is found, and features that would bypass the guards stay off under every command."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scrapy import Spider
from scrapy.crawler import Crawler
from scrapy.settings import Settings as ScrapySettings

from crawler.handler import SCHEME
from crawler.run import project_settings
from crawler.spider import settings_from
from tests.crawler.ssrf.spellings import other_ways
from tests.support.hang import HANG_SECONDS

ROOT = Path(__file__).parents[2]
FOREIGN = ["http", "https", "file", "data", "s3", "ftp"]


@pytest.fixture
def scrapy_settings() -> ScrapySettings:
    return project_settings()


def schemes(settings: ScrapySettings) -> set[str]:
    """Return the schemes with a download handler, after Scrapy has completed its settings for a run without reactor."""
    crawler = Crawler(Spider, settings)
    crawler._apply_reactorless_default_settings()
    handlers = crawler.settings.getwithbase("DOWNLOAD_HANDLERS")
    return {scheme for scheme, handler in handlers.items() if handler is not None}


def test_only_our_own_scheme_has_a_handler(scrapy_settings: ScrapySettings) -> None:
    """file: and data: are on by default and read files; http and https bypass the address guard."""
    assert schemes(scrapy_settings) == {SCHEME}


def test_a_user_handler_does_not_restore_the_handlers_of_scrapy(scrapy_settings: ScrapySettings) -> None:
    scrapy_settings.set("DOWNLOAD_HANDLERS", {"gemini": "somewhere.Handler"}, "cmdline")
    assert schemes(scrapy_settings) == {SCHEME, "gemini"}


@pytest.mark.parametrize("name", ["telnet.TelnetConsole", "remote_control.RemoteControl"])
def test_consoles_stay_off_even_if_a_setting_enables_them(scrapy_settings: ScrapySettings, name: str) -> None:
    path = f"scrapy.extensions.{name}"
    assert path in ScrapySettings()["EXTENSIONS_BASE"], "Scrapy has renamed it"
    assert scrapy_settings.get_component_priority_dict_with_base("EXTENSIONS").get(path) is None


@pytest.mark.parametrize(
    "name",
    ["HTTPPROXY_ENABLED", "TELNETCONSOLE_ENABLED", "REMOTE_CONTROL_ENABLED", "REDIRECT_ENABLED", "RETRY_ENABLED",
     "METAREFRESH_ENABLED", "COOKIES_ENABLED", "REFERER_ENABLED", "COMPRESSION_ENABLED"],
)  # fmt: skip
def test_features_that_bypass_the_guards_or_add_requests_are_off(scrapy_settings: ScrapySettings, name: str) -> None:
    assert name in ScrapySettings() or name == "REMOTE_CONTROL_ENABLED", "Scrapy has renamed it"
    assert scrapy_settings.getbool(name, True) is False


def test_command_line_overrides_environment_and_environment_overrides_module(monkeypatch: pytest.MonkeyPatch) -> None:
    scrapy_settings = project_settings()
    for name in ("WAYPOST_LEASE_BATCH", "WAYPOST_HOSTS_IN_FLIGHT", "WAYPOST_REQUEST_BUDGET"):
        scrapy_settings.set(name, "7", "project")
        monkeypatch.setenv(name, "8")
    monkeypatch.delenv("WAYPOST_REQUEST_BUDGET")
    scrapy_settings.set("WAYPOST_LEASE_BATCH", "9", "cmdline")
    scrapy_settings.set("DATABASE_URL", "postgresql://somewhere/else", "cmdline")
    waypost_settings = settings_from(scrapy_settings)
    assert (waypost_settings.lease_batch, waypost_settings.hosts_in_flight, waypost_settings.request_budget) == (
        9,
        8,
        7,
    )
    assert waypost_settings.database_url is not None
    assert waypost_settings.database_url.get_secret_value() == "postgresql://somewhere/else"


def test_a_wrong_setting_is_named_without_its_value() -> None:
    scrapy_settings = project_settings()
    scrapy_settings.set("WAYPOST_LEASE_BATCH", "secret", "cmdline")
    with pytest.raises(ValueError, match="lease_batch") as error:
        settings_from(scrapy_settings)
    assert "secret" not in str(error.value)


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run Python in the checkout; names resolve by the connect-to table alone, which is empty."""
    environment = {**os.environ, "WAYPOST_RESOLVE": "table"}
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


def scrapy(*arguments: str) -> subprocess.CompletedProcess[str]:
    return python("-m", "scrapy", *arguments)


@pytest.mark.slow
def test_scrapy_finds_the_project() -> None:
    assert scrapy("list").stdout.split() == ["waypost"]
    assert scrapy("settings", "--get", "BOT_NAME").stdout.strip() == "waypost"
    assert (
        json.loads(scrapy("settings", "--get", "EXTENSIONS").stdout)["scrapy.extensions.telnet.TelnetConsole"] is None
    )


FETCHED = """
import json, sys
from scrapy.cmdline import execute
from scrapy.core.downloader.handlers import DownloadHandlers

tried, refused = json.loads(sys.argv.pop()), []
async def download(self, request):
    for url in tried:
        try:
            await plain(self, request.replace(url=url))
        except Exception as error:
            refused.append((url, type(error).__name__))
        else:
            refused.append((url, "answered"))
    print(json.dumps(refused))
    return await plain(self, request)
plain = DownloadHandlers.download_request_async
DownloadHandlers.download_request_async = download
execute()
"""
"""`scrapy fetch`, with many more requests sent through the same download handlers."""


@pytest.mark.slow
@pytest.mark.parametrize("spider", [(), ("--spider", "waypost")])
def test_fetch_and_shell_reach_nothing(tmp_path: Path, spider: tuple[str, ...]) -> None:
    """The URLs of the SSRF tests, a local file, a data URL: no handler exists, and probe:// visits nothing unleased."""
    secret = tmp_path / "secret.txt"
    secret.write_text("found")
    urls = [
        *other_ways("good.example"),
        secret.as_uri(),
        "data:,found",
        "s3://a/b",
        "ftp://127.0.0.1/",
        "probe://127.0.0.1",
    ]
    data = ("-s", f"WAYPOST_DATA={tmp_path}", "-s", "LOG_ENABLED=1")
    completed = python("-c", FETCHED, "fetch", *spider, *data, "https://127.0.0.1/", json.dumps(urls))
    refused = json.loads(next(line for line in completed.stdout.splitlines() if line.startswith("[[")))
    assert [url for url, _ in refused] == urls
    assert {error_name for _, error_name in refused} <= {"NotSupported", "ValueError"}
    shell = scrapy("shell", secret.as_uri(), "-c", "print('answer', response)", *data)
    assert "NotSupported" in shell.stderr + shell.stdout and "answer" not in shell.stdout
