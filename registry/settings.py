"""All settings, with their defaults and descriptions. docs/settings.md is generated from here.

They are read from environment variables with the prefix WAYPOST_; DATABASE_URL, DATABASE_SESSION_URL,
DATABASE_READ_URL and the MEILI_ variables have no prefix. No other module reads settings from os.environ.
"""

import ast
import inspect
import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Final, Literal, cast, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import AliasChoices, Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

POSTGRES_FOLDER: Final = "postgres"
"""Folder of the embedded database, in `data`. Here, because this module is imported fast."""


def default_data_folder() -> Path:
    """Return `$XDG_DATA_HOME/waypost`, else `~/.local/share/waypost`.

    Accounts without a home directory (such as container users) get a folder in the temporary directory.
    """
    base = os.environ.get("XDG_DATA_HOME")
    if base and Path(base).is_absolute():
        return Path(base) / "waypost"
    home = Path(os.path.expanduser("~"))  # noqa: PTH111  (Path.home() raises when there is no home)
    if home.is_absolute() and home != Path("/") and home.is_dir() and os.access(home, os.W_OK):
        return home / ".local" / "share" / "waypost"
    return Path(tempfile.gettempdir()) / f"waypost-{os.getuid()}"


def _unprefixed(name: str) -> AliasChoices:
    return AliasChoices(name.upper(), name)


class Settings(BaseSettings):
    """All settings. Wrong values are refused; `unknown_variables` finds variables that are not settings.

    The text below each field is its description in docs/settings.md.
    """

    model_config = SettingsConfigDict(env_prefix="WAYPOST_", frozen=True, extra="ignore", validate_default=True)

    # data, database and search
    data: Path = Field(default_factory=default_data_folder)
    """Folder of the embedded database and index."""
    database_url: SecretStr | None = Field(default=None, validation_alias=_unprefixed("database_url"))
    """PostgreSQL to use (postgresql://user:password@host/name). Unset: an embedded server in `data`. Several hosts
    (postgresql://user@a,b/name): the writable one, unless `target_session_attrs` says otherwise."""
    database_session_url: SecretStr | None = Field(default=None, validation_alias=_unprefixed("database_session_url"))
    """The same database without the pooler, if DATABASE_URL names a pooler that shares sessions (PgBouncer in
    transaction mode): for locks, notifications and migrations."""
    database_read_url: SecretStr | None = Field(default=None, validation_alias=_unprefixed("database_read_url"))
    """A replica of DATABASE_URL from which answers read services. Several hosts: a standby is preferred."""
    read_staleness: float = Field(default=2, gt=0, le=60)
    """Seconds that a read from the replica may be behind. If it is further behind, or away, the primary is read."""
    database_pool: int = Field(default=10, ge=1, le=1_000)
    """Connections to the database that one process keeps open in its pool; see operations.md for others."""
    database_overflow: int = Field(default=10, ge=0, le=1_000)
    """Connections beyond the pool that one process may open for a while."""
    database_wait: float = Field(default=10, gt=0, le=600)
    """Seconds that work waits for a free connection of the pool. A request is then answered 503."""
    min_free_mb: int = Field(default=500, ge=0)
    """Megabytes that stay free on the disks of `data`, of the embedded database, of dumps and of the file of opt-outs.
    With less, no site is visited, no dump is written and no index rebuilt until there is space again."""
    opt_out_file: Path | None = None
    """File to which each opt-out is appended before it takes effect. It is replayed at each start, so that an older,
    restored backup brings no site back. Unset: `opt-outs.log` in `data`."""
    embedding: Literal["table", "minilm", "multilingual"] = "table"
    """Model of the sentence vectors. `table`: the static table that ships. `minilm` and `multilingual` (each needs the
    extra of its name): the table with MiniLM or multilingual E5. All processes need the same value; after a change, run
    `waypost reindex`."""
    meili_url: str | None = Field(
        default=None, pattern=r"^https?://[^\s?#]+$", validation_alias=_unprefixed("meili_url")
    )
    """Meilisearch server to search with; use the same name in all processes. Unset: an embedded index in `data`."""
    meili_index: str = Field(
        default="services", pattern=r"^[a-z][a-z0-9-]{0,62}$", validation_alias=_unprefixed("meili_index")
    )
    """Name of its index; two registries on one server need two."""
    meili_search_key: SecretStr | None = Field(default=None, validation_alias=_unprefixed("meili_search_key"))
    """Key that may search the index; sufficient for processes that only answer."""
    meili_indexer_key: SecretStr | None = Field(default=None, validation_alias=_unprefixed("meili_indexer_key"))
    """Key that may write the index; for processes that feed it."""
    meili_tasks_key: SecretStr | None = Field(default=None, validation_alias=_unprefixed("meili_tasks_key"))
    """Key that may see all tasks and the version; for processes that feed the index."""
    meili_keys: Path | None = Field(default=None, validation_alias=_unprefixed("meili_keys"))
    """Folder that `waypost search-keys` wrote; a key set above overrides its file."""
    meili_master_key: SecretStr | None = Field(default=None, validation_alias=_unprefixed("meili_master_key"))
    """Master key of the Meilisearch server; read by `waypost search-keys` alone."""
    public_url: str = Field(default="http://127.0.0.1:8000", pattern=r"^https?://[^\s?#]+$")
    """Where clients reach this API; used for the URLs in its answers."""
    ard_peers: Annotated[tuple[str, ...], NoDecode] = ()
    """Base URLs of other registries that speak ARD, comma separated. A search that asks for referrals gets their
    addresses; they are never called."""

    # identity of the crawler
    contact_url: str | None = Field(default=None, pattern=r"^https?://[^\s()]+$")
    """Page that explains the crawler, opt-out and recheck; sent in the User-Agent. Unset: `/bot` below `public_url`."""
    contact_email: str | None = Field(
        default=None, pattern=r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[A-Za-z0-9-]+(\.[A-Za-z0-9-]+)+$"
    )
    """Mail address of this registry's operators for questions about the crawler; sent in the User-Agent and shown on
    `/bot`."""

    signing_keys: Path | None = None
    """Folder of the private keys that sign the crawler's requests (docs/politeness.md), or one key file (PEM or JSON
    Web Key). `waypost keys` makes keys. Unset: `signing-keys` in `data`. Without a key nothing is signed."""
    signature_agent: str | None = Field(default=None, pattern=r"^https://[A-Za-z0-9.-]+(:[0-9]{1,5})?$")
    """Address (https, no path) at which sites find this registry's key directory; sent in Signature-Agent. Unset: the
    site of `public_url` if that is https. Without such an address nothing is signed."""
    signature_draft: Literal["architecture-03", "protocol-00", "protocol-01"] = "architecture-03"
    """Revision of the Web Bot Auth drafts that signatures follow. Signature-Agent is a string in `architecture-03`,
    which most networks verify (Cloudflare among them), a dictionary in `protocol-00`, and a dictionary with the URL of
    the directory in `protocol-01`."""
    signature_seconds: int = Field(default=60, ge=10, le=3_600)
    """Seconds for which a signature is valid."""
    signature_reuse: int = Field(default=30, ge=0, le=1_800)
    """Seconds for which a signature is sent again to the same host, at most half of `signature_seconds`: signing each
    request would cost a quarter of the crawler's CPU. 0: each request has its own, for sites that accept none twice."""

    # politeness and reach of the crawler
    request_delay: float = Field(default=1.0, ge=0, le=60)
    """Seconds between two requests to one registrable domain."""
    connect_to: Annotated[tuple[str, ...], NoDecode] = ()
    """HOST:PORT:ADDRESS:PORT entries, comma separated, as curl's --connect-to: names that are reached at a given
    address and port and may be special-use names. For demos and tests."""
    resolve: Literal["system", "table"] = "system"
    """`system`: names resolve as on this machine. `table`: only names of `connect_to` resolve."""
    refused_networks: Annotated[tuple[str, ...], NoDecode] = ()
    """Networks that the crawler never connects to, comma separated, in addition to all non-public ones: for example
    your NAT64 prefix, or internal networks with public addresses."""
    hosts_in_flight: int = Field(default=1_000, ge=1, le=20_000)
    """Domains that one crawler process visits at once; each takes some 70 KB of memory and up to two of the process's
    open files."""
    lease_batch: int = Field(default=100, ge=1, le=1_000)
    """Domains taken with one lease."""
    lease_seconds: int = Field(default=1_800, ge=60, le=86_400)
    """How long a lease holds before other workers may take its domains; longer than the worst visit."""
    connect_timeout: float = Field(default=5.0, gt=0, le=60)
    """Seconds for a TCP and TLS connection."""
    request_timeout: float = Field(default=15.0, gt=0, le=120)
    """Seconds for one whole request."""
    host_deadline: float = Field(default=120.0, gt=0, le=3_600)
    """Seconds for the visit of one host, without pauses for politeness."""
    request_budget: int = Field(default=42, ge=1, le=200)
    """Requests to one host in one visit."""
    named_request_budget: int = Field(default=60, ge=1, le=200)
    """The same for a host that was submitted or named (`waypost crawl HOST`, `waypost check HOST`): all paths of all
    formats are requested."""
    detail_budget: int = Field(default=25, ge=0, le=500)
    """ADP capability details fetched in one visit."""
    mcp_tools: Literal["off", "named", "all"] = "named"
    """Which MCP servers are asked for their tools (`tools/list`), if a card names an endpoint that needs no
    credentials. `named`: hosts that were named or submitted. `all`: every host with such a card."""
    call_checks: Literal["off", "owned", "all"] = "owned"
    """Whether visits check that addresses which documents name for calls still answer: `OPTIONS` or `HEAD`, at most 5
    addresses a host and visit, each once a day. `owned`: of hosts whose ownership is proven. `all`: of every host."""
    domain_daily_budget: int = Field(default=120, ge=1, le=10_000)
    """Requests to one registrable domain in 24 hours, over all its hosts; little-known hosts may spend only a part of
    them (docs/crawler.md, "Shares")."""
    block_connections: int = Field(default=64, ge=1, le=10_000)
    """Connections that one crawler process has at once to one block of addresses (/24, IPv6 /48). Networks of shared
    edges are left out."""
    block_daily_budget: int = Field(default=50_000, ge=1)
    """Requests to one block of addresses (/24, IPv6 /48) in a day (UTC), over all processes. Networks of shared edges
    are left out."""

    # the schedule
    recrawl_interval: int = Field(default=3_600, ge=0)
    """Seconds between two runs of the job `recrawl` of `waypost schedule`; 0: not scheduled."""
    rescore_interval: int = Field(default=3_600, ge=0)
    """Seconds between two runs of the job `rescore`; 0: not scheduled."""
    reindex_interval: int = Field(default=604_800, ge=0)
    """Seconds between two runs of the job `reindex`; 0: not scheduled."""
    prune_interval: int = Field(default=86_400, ge=0)
    """Seconds between two runs of the job `prune`; 0: not scheduled."""
    refresh_interval: int = Field(default=604_800, ge=0)
    """Seconds between two runs of the job `refresh`; 0: not scheduled."""
    export_interval: int = Field(default=86_400, ge=0)
    """Seconds between two runs of the job `export`, which dumps; 0: not scheduled."""
    suffix_list_url: str = Field(
        default="https://publicsuffix.org/list/public_suffix_list.dat", pattern=r"^(https://[^\s]+)?$"
    )
    """Where `refresh` asks for the Public Suffix List. Empty: the shipped list stays in force."""
    ipv4_registry_url: str = Field(
        default="https://www.iana.org/assignments/iana-ipv4-special-registry/iana-ipv4-special-registry-1.csv",
        pattern=r"^(https://[^\s]+)?$",
    )
    """Where `refresh` asks for the IANA IPv4 special-purpose registry (CSV). Empty: nowhere."""
    ipv6_registry_url: str = Field(
        default="https://www.iana.org/assignments/iana-ipv6-special-registry/iana-ipv6-special-registry-1.csv",
        pattern=r"^(https://[^\s]+)?$",
    )
    """Where `refresh` asks for the IANA IPv6 special-purpose registry (CSV). Empty: nowhere."""

    # retention (`prune`)
    keep_visits_days: int = Field(default=90, ge=2, le=36_500)
    """Days that visits stay in the ledger; it is pruned by whole months (UTC)."""
    keep_visits_per_host: int = Field(default=3, ge=1, le=10_000)
    """Latest visits of each host that stay in the ledger at any age."""
    archive_visits: bool = False
    """Whether pruning detaches old months of visits as tables `visits_YYYY_MM_archived` instead of dropping them. From
    these tables waypost deletes nothing, also not the visits of forgotten hosts."""
    keep_history_days: int = Field(default=1_095, ge=1, le=36_500)
    """Days that the history of a document stays."""
    keep_versions: int = Field(default=10, ge=1, le=10_000)
    """Latest versions of each document that stay in its history."""
    keep_bodies_days: int = Field(default=90, ge=1, le=36_500)
    """Days that the bytes of a replaced version stay."""
    keep_scores_days: int = Field(default=365, ge=1, le=36_500)
    """Days that earlier scores of a host stay. The last one always stays."""
    keep_changes_days: int = Field(default=365, ge=1, le=36_500)
    """Days that the feed of changes reaches back."""
    keep_candidates_days: int = Field(default=90, ge=1, le=36_500)
    """Days until a host that a document named, and that was examined, may become a candidate again."""
    keep_reports_days: int = Field(default=365, ge=1, le=36_500)
    """Days that a report stays after its decision, and that feedback stays. Open reports always stay."""
    keep_job_runs_days: int = Field(default=90, ge=1, le=36_500)
    """Days that runs of scheduled jobs stay. The last 20 of each stay."""

    # ownership
    claim_recheck_hours: int = Field(default=24, ge=1, le=720)
    """Hours between two verifications of a proven ownership."""

    # webhooks
    webhook_disable_days: int = Field(default=5, ge=1, le=90)
    """Days of failed attempts after which a receiver of webhooks is disabled."""

    # the API
    maintenance: str | None = Field(default=None, max_length=500)
    """Message to clients. While it is set, writes other than opt-outs are refused, and workers and the schedule pause.
    For a database that is being replaced; otherwise `waypost maintenance on` does it for all processes at once."""
    submit_wait: float = Field(default=8.0, ge=0, le=20)
    """Seconds a submission waits for its crawl."""
    read_rate: int = Field(default=600, ge=1)
    """Units of work that the requests of one client may cost in a minute. Most reads cost one; expensive ones and
    documents cost more: see operations.md."""
    page_rate: int = Field(default=300, ge=1)
    """Pages that one client may open in a minute, whatever they show. Their styles, scripts and pictures, and
    badges, cost nothing."""
    submit_rate: int = Field(default=60, ge=1)
    """Submissions one client may make in an hour."""
    max_connections: int = Field(default=2_000, ge=16, le=100_000)
    """Connections that one process of the API accepts. Fewer if the limit of open files is low."""
    max_connections_per_client: int = Field(default=100, ge=1)
    """Connections of one client (an address, or an IPv6 /64); trusted proxies have no limit."""
    compute_processes: int = Field(default=2, ge=1, le=64)
    """Processes of `waypost serve` that work on large documents (validation, translation, large services); each starts
    with the first job that needs it and takes some 130 MB. With two or more, one is reserved for documents that
    clients send."""
    trusted_proxies: Annotated[tuple[str, ...], NoDecode] = ()
    """Addresses or networks whose X-Forwarded-For is believed, comma separated."""

    # watching the API
    serve_metrics: str | None = Field(default=None, pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s:\[\]]+):[0-9]{1,5}$")
    """HOST:PORT at which `waypost serve` answers `/metrics` for Prometheus; keep it private. `--metrics` overrides it.
    Unset: no metrics."""
    errors: Literal["off", "otlp"] = "off"
    """`otlp` (needs the extra `otel`): every process sends its errors, exceptions that end it among them, to an
    OpenTelemetry collector as log records over HTTP; the standard variables OTEL_* say where. Texts of errors are not
    sent: they may hold what sites sent."""
    access_log: bool = False
    """Whether `waypost serve` logs each request at level INFO: method, route (never the address itself, a query or a
    token), status, seconds, bytes, request id, and the client's network (/24, IPv6 /48). Probes are left out."""
    traces: Literal["off", "otlp"] = "off"
    """`otlp` (needs the extra `otel`): `waypost serve` sends a span for each request to an OpenTelemetry collector over
    HTTP; the standard variables OTEL_* say where and how many."""

    # MCP
    mcp_hosts: Annotated[tuple[str, ...], NoDecode] = ()
    """Further values of Host (name or name:port) under which `/mcp` answers, comma separated, as sent by a reverse
    proxy. `public_url` and loopback always work."""
    mcp_origins: Annotated[tuple[str, ...], NoDecode] = ()
    """Further origins (https://name) whose web pages may call `/mcp`, comma separated; `*`: all. Programs other than
    browsers send no origin and always may."""

    # dumps
    dumps: Path | None = None
    """Folder of the dumps that `/dumps/` serves. Unset: `dumps` in `data`."""
    keep_dumps: int = Field(default=2, ge=1, le=1_000)
    """Newest dumps that stay; with 2, a reader can finish an older one."""
    dump_restricted: bool = True
    """Whether dumps contain services whose sites forbid or restrict training; each record says so."""
    dump_terms_url: str | None = Field(default=None, pattern=r"^https?://[^\s]+$")
    """Page with the terms of the dumps; linked from their manifest."""

    # logging
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] | None = None
    """Lowest level of log events that are written. Unset: INFO, but WARNING on a terminal, where the log is text;
    elsewhere each event is a line of JSON."""

    @property
    def contact(self) -> str:
        """Return the page named in the crawler's User-Agent."""
        return self.contact_url or f"{self.public_url.rstrip('/')}/bot"

    @property
    def reachable_at(self) -> str:
        """Return the text in brackets in the crawler's User-Agent: the contact page, and the mail address if set."""
        return f"+{self.contact}" + (f"; {self.contact_email}" if self.contact_email else "")

    @property
    def read_url(self) -> str | None:
        """Return where answers may be read, if that is not DATABASE_URL."""
        if self.database_url is None or self.database_read_url is None:
            return None
        return self.database_read_url.get_secret_value()

    @property
    def dumps_folder(self) -> Path:
        """Return the folder of the dumps."""
        return self.dumps or self.data / "dumps"

    @property
    def session_url(self) -> str | None:
        """Return where sessions last as long as their connection, if that is not DATABASE_URL."""
        if self.database_url is None or self.database_session_url is None:
            return None
        return self.database_session_url.get_secret_value()

    def as_environment(self) -> dict[str, str]:
        """Return these settings as environment variables for a child process. An unset DATABASE_URL is passed as empty.

        The master key is left out: only the command that makes keys from it needs it.
        """
        environment = {"DATABASE_URL": "", "DATABASE_SESSION_URL": "", "DATABASE_READ_URL": ""}
        for name in type(self).model_fields:
            value = getattr(self, name)
            if value is None or name == "meili_master_key":
                continue
            if isinstance(value, SecretStr):
                value = value.get_secret_value()
            environment[variable(name)] = ",".join(value) if isinstance(value, tuple) else str(value)
        return environment

    @field_validator(
        "connect_to", "refused_networks", "trusted_proxies", "mcp_hosts", "mcp_origins", "ard_peers", mode="before"
    )
    @classmethod
    def _comma_separated(cls, value: object) -> object:
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("refused_networks", "trusted_proxies")
    @classmethod
    def _are_networks(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for network in value:
            ip_network(network, strict=False)
        return value

    @field_validator("mcp_hosts", "mcp_origins")
    @classmethod
    def _are_lower_case(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(part.lower().rstrip("/") for part in value)

    @field_validator("ard_peers")
    @classmethod
    def _are_base_urls(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        for url in value:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
                raise ValueError("each must be an http or https URL without a query")
        return tuple(url.rstrip("/") for url in value)

    @field_validator("embedding", mode="before")
    @classmethod
    def _documents_was_removed(cls, value: object) -> object:
        if value == "documents":
            raise ValueError("`documents` was removed: set `minilm`, which uses the same index, or `table` and reindex")
        return value

    @field_validator("*", mode="before")
    @classmethod
    def _blank_is_unset(cls, value: object, info: ValidationInfo) -> object:
        """Take an empty variable for an unset one, as compose files pass it. Elsewhere, an empty text has a meaning."""
        field = cls.model_fields[info.field_name or ""]
        if value == "" and (field.default is None or field.default_factory is not None):
            return field.get_default(call_default_factory=True)
        return value


def variable(name: str) -> str:
    """Return the environment variable of a field of Settings."""
    alias = Settings.model_fields[name].validation_alias
    if isinstance(alias, AliasChoices):
        return str(alias.choices[0])
    return f"{Settings.model_config['env_prefix']}{name.upper()}"


PREFIX: Final = "WAYPOST_"
MAX_UNKNOWN: Final = 20
MAX_VALUE_CHARS: Final = 80
MAX_REASON_CHARS: Final = 160
NOT_SETTINGS: Final = frozenset({"WAYPOST_SHARED", "WAYPOST_SCREENSHOTS", "WAYPOST_CI_SECONDS"})
"""Variables of this project's own tests, as are all that begin with WAYPOST_TEST_."""

_USER_OF_URL: Final = re.compile(r"//[^/?#@\s]*@")  # a name and a password
_WEB_ADDRESS: Final = "an http or https address without a query, such as https://registry.example.org"
_NETWORKS: Final = "IP addresses or networks, separated by commas, such as 10.0.0.0/8"
_ALLOWED: Final[Mapping[str, str]] = {
    "meili_url": "an http or https address without a query, such as http://localhost:7700",
    "meili_index": "lower-case letters, digits and hyphens: a letter first, at most 63 characters",
    "public_url": _WEB_ADDRESS,
    "contact_url": "an http or https address without spaces and round brackets",
    "contact_email": "a mail address, such as crawler@registry.example.org",
    "signature_agent": "an https address without a path, such as https://registry.example.org",
    "suffix_list_url": "an https address, or empty",
    "ipv4_registry_url": "an https address, or empty",
    "ipv6_registry_url": "an https address, or empty",
    "serve_metrics": "HOST:PORT, such as 127.0.0.1:9101",
    "dump_terms_url": "an http or https address",
    "ard_peers": "http or https addresses without a query, separated by commas",
    "refused_networks": _NETWORKS,
    "trusted_proxies": _NETWORKS,
}
"""What is allowed, in words, for fields with a pattern or a validator of their own."""


def allowed(name: str) -> str:
    """Return in words which values a field of Settings takes, such as "a whole number from 1 to 200"."""
    field = Settings.model_fields[name]
    return _ALLOWED.get(name) or _allowed_type(field.annotation) + _allowed_range(field.metadata)


def _allowed_type(annotation: Any) -> str:
    if get_origin(annotation) is Literal:
        return "one of " + ", ".join(get_args(annotation))
    if options := [option for option in get_args(annotation) if option is not type(None)]:
        return "texts, separated by commas" if get_origin(annotation) is tuple else _allowed_type(options[0])
    names: dict[Any, str] = {int: "a whole number", float: "a number", bool: "true or false", Path: "a path"}
    return names.get(annotation, "a text")


def _allowed_range(constraints: list[Any]) -> str:
    limits = {name: getattr(one, name) for one in constraints for name in ("ge", "gt", "le") if hasattr(one, name)}
    low, above, high = (None if limits.get(name) is None else f"{limits[name]:,}" for name in ("ge", "gt", "le"))
    if low is not None:
        return f" from {low} to {high}" if high is not None else f", at least {low}"
    if above is not None:
        return f" above {above}, at most {high}" if high is not None else f" above {above}"
    return ""


def describe_faults(error: ValidationError) -> Iterator[str]:
    """Yield a line for each wrong setting: its variable, what is allowed, and its value unless it is secret."""
    fields = {variable(name).lower(): name for name in Settings.model_fields}
    for fault in error.errors():
        place = str(fault["loc"][0]) if fault["loc"] else ""
        name = fields.get(place.lower(), place)
        if name not in Settings.model_fields:
            yield f"{place}: {fault['msg']}"
            continue
        said = fault["msg"].removeprefix("Value error, ")[:MAX_REASON_CHARS]
        reason = f" ({said})" if fault["type"] == "value_error" else ""
        yield f"{variable(name)}: must be {allowed(name)}; it is {_quoted(name, fault['input'])}{reason}"


def _quoted(name: str, value: object) -> str:
    text = shown_value(name, value)
    if not text:
        return "empty"
    return f"'{text}'" if len(text) <= MAX_VALUE_CHARS else f"'{text[:MAX_VALUE_CHARS]}…'"


def shown_value(name: str, value: object) -> str | None:
    """Return a value of a field of Settings as in the environment, without its secrets; None if it is unset."""
    if value is None or value == ():
        return None
    if is_secret(name):
        return "(not shown)"
    if isinstance(value, bool):
        return str(value).lower()
    return _USER_OF_URL.sub("//…@", ",".join(map(str, value)) if isinstance(value, tuple) else str(value))


def is_secret(name: str) -> bool:
    """Return whether the value of a field of Settings is never shown."""
    return SecretStr in get_args(Settings.model_fields[name].annotation)


def unknown_variables() -> dict[str, str | None]:
    """Return the WAYPOST_ variables of the environment that are no settings, with the setting of the nearest name."""
    known = [variable(name) for name in Settings.model_fields]
    by_rest = {name.removeprefix(PREFIX): name for name in known}  # people write WAYPOST_DATABASE_URL
    unknown: dict[str, str | None] = {}
    for key in sorted(os.environ):
        name = key.upper()  # case does not matter in the names of settings
        if not name.startswith(PREFIX) or name in known or name in NOT_SETTINGS or name.startswith("WAYPOST_TEST_"):
            continue
        nearest = get_close_matches(name.removeprefix(PREFIX)[:MAX_VALUE_CHARS], by_rest, n=1, cutoff=0.5)
        unknown[key[:MAX_VALUE_CHARS]] = by_rest[nearest[0]] if nearest else None
        if len(unknown) == MAX_UNKNOWN:
            break
    return unknown


def is_from_environment(name: str) -> bool:
    """Return whether the environment sets a field of Settings."""
    return variable(name) in {key.upper() for key in os.environ}


def meanings() -> dict[str, str]:
    """Return the text below each field of Settings by the name of the field, on one line."""
    body = cast(ast.ClassDef, ast.parse(inspect.getsource(Settings)).body[0]).body
    return {
        field.target.id: " ".join(str(text.value.value).split())
        for field, text in pairwise(body)
        if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name)
        if isinstance(text, ast.Expr) and isinstance(text.value, ast.Constant)
    }
