"""What the records of the MCP registry's API say of services, and which services have none."""

from typing import Any

import pytest

from registry.core.calling.server_records.record import LEFT_OUT, MAX_BYTES, MAX_SERVERS, server_records
from registry.core.calling.server_records.validation import issues
from registry.core.model.services import (
    Auth,
    AuthScheme,
    Capability,
    Input,
    Invocation,
    Package,
    Protocol,
    Service,
)

HOST = "mcp.example.com"


def service(*endpoints: str, **members: Any) -> Service:
    protocols = tuple(Protocol("mcp", None, endpoint, "streamable-http") for endpoint in endpoints)
    return Service(
        **{"name": "Weather", "version": "1.0.0", "description": "Forecasts.", "protocols": protocols, **members}
    )


def only(described: Service, host: str = HOST) -> dict[str, Any]:
    """Return the only record, which is valid."""
    (record,) = server_records(host, described).records
    server = {**record.server, "version": record.version or "2026.11.24"}
    assert issues(server) == ()
    return server


def whole(name: str, endpoint: str, title: str | None = None, description: str | None = None) -> Capability:
    call = Invocation("rpc", endpoint)
    return Capability(f"mcp:{name}", title or name, description, whole_server=True, invocations=(call,))


def test_a_name_is_the_reversed_host_and_the_service() -> None:
    assert only(service(f"https://{HOST}/mcp"))["name"] == "com.example.mcp/weather"


@pytest.mark.parametrize(
    ("name", "slug"),
    [
        ("Déjà Vu!", "deja-vu"),
        ("天气", "v1-mcp"),
        ("_default_", "default"),
        ("x", "v1-mcp"),
        ("com.other/books", "books"),
        ("A" * 300, "a" * 64),
        (None, "v1-mcp"),
        ("...", "v1-mcp"),
    ],
)
def test_the_second_part_of_a_name_is_always_valid(name: str | None, slug: str) -> None:
    assert only(service(f"https://{HOST}/v1/mcp", name=name))["name"] == f"com.example.mcp/{slug}"


def test_the_port_of_an_endpoint_is_no_part_of_the_name() -> None:
    server = only(service(f"https://{HOST}:8443/mcp"))
    assert server["name"] == "com.example.mcp/weather"
    assert server["remotes"] == [{"type": "streamable-http", "url": f"https://{HOST}:8443/mcp"}]


def test_a_name_has_room_for_the_longest_host() -> None:
    host = "a." * 88 + "b" * 13 + ".com"
    assert only(service(f"https://{host}/mcp", name="a-.long-one"), host)["name"].endswith(".a.a/mcp")


def test_a_host_too_long_for_a_name_is_left_out() -> None:
    host = ".".join(["a" * 60] * 4)
    assert server_records(host, service(f"https://{host}/mcp")).left_out == "host"


@pytest.mark.parametrize(
    ("version", "kept"),
    [
        ("1.0.0", True), ("v2", True), ("2.0.0-rc.1+build.7", True), ("2025-06-01", True), ("1.0-x64", True),
        ("latest", False), ("^1.0", False), ("~1", False), (">=1.0", False), ("<2", False), ("=1.0.0", False),
        ("1.x", False), ("1.2.*", False), ("X.1", False), ("1.0 - 2.0", False), ("1 || 2", False), ("", False),
        ("a" * 300, False), ("1/2", False), ("1\n2", False),
    ],
)  # fmt: skip
def test_only_one_version_is_a_version(version: str, kept: bool) -> None:
    (record,) = server_records(HOST, service(f"https://{HOST}/mcp", version=version)).records
    assert (record.version is not None) is kept


def test_a_long_description_is_cut_at_a_word_and_kept_in_full() -> None:
    text = "Forecasts the weather " * 12
    (record,) = server_records(HOST, service(f"https://{HOST}/mcp", description=text)).records
    cut = record.server["description"]
    assert len(cut) <= 100 and cut.endswith("the weather Forecasts…")
    assert record.notes["description"] == text.strip()
    assert record.notes["adjusted"] == ["description_cut"]


def test_a_description_of_one_long_word_is_cut() -> None:
    assert len(only(service(f"https://{HOST}/mcp", description="x" * 500))["description"]) == 100


def test_a_server_without_description_gets_a_true_one() -> None:
    (record,) = server_records(HOST, service(f"https://{HOST}/mcp", description=None)).records
    assert record.server["description"] == f"MCP server of {HOST}"
    assert record.notes["adjusted"] == ["description_made"]


@pytest.mark.parametrize(
    ("stated", "url", "kind"),
    [
        ("streamable-http", "https://mcp.example.com/mcp", "streamable-http"),
        ("http", "https://mcp.example.com/mcp", "streamable-http"),
        ("SSE", "https://mcp.example.com/mcp", "sse"),
        (None, "https://mcp.example.com/mcp", "streamable-http"),
        (None, "https://mcp.example.com/v1/sse?x=1", "sse"),
    ],
)
def test_transports_are_named_as_the_api_does(stated: str | None, url: str, kind: str) -> None:
    described = service(protocols=(Protocol("mcp", None, url, stated),))
    assert only(described)["remotes"][0]["type"] == kind


@pytest.mark.parametrize(
    ("endpoint", "reason"),
    [
        ("wss://mcp.example.com/mcp", "transport"),
        ("http://mcp.example.com/mcp", "address"),
        ("https://localhost/mcp", "address"),
        ("https://10.0.0.1/mcp", "address"),
        ("https://mcp.example.com/%zz", "address"),
        ("https://{host}/mcp", "variable"),
        ("https://{tenant}.example.com/mcp", "variable"),
        ("https://mcp.example.com/{?query}", "variable"),
        ("https://mcp.example.com/{a b}/mcp", "variable"),
        ("https://mcp.example.com/{a", "address"),
    ],
)
def test_an_address_that_clients_refuse_is_left_out(endpoint: str, reason: str) -> None:
    result = server_records(HOST, service(endpoint))
    assert (result.records, result.left_out) == ((), reason)
    assert reason in LEFT_OUT


def test_a_bad_remote_does_not_cost_the_good_one() -> None:
    (record,) = server_records(HOST, service("https://localhost/mcp", f"https://{HOST}/mcp")).records
    assert [remote["url"] for remote in record.server["remotes"]] == [f"https://{HOST}/mcp"]
    assert record.notes["left_out"] == ["address"]


def test_variables_are_declared() -> None:
    described = service(
        f"https://{HOST}/{{tenant}}/:region/mcp?key={{secret}}",
        native={
            "mcp-server-card": {
                "variables": {"tenant": {"description": "Yours.", "default": "demo", "isRequired": True}}
            }
        },
        auth=Auth((AuthScheme("api_key", "query", "key"),), True),
    )
    server = only(described)
    assert server["remotes"][0] == {
        "type": "streamable-http",
        "url": f"https://{HOST}/{{tenant}}/{{region}}/mcp?key={{secret}}",
        "variables": {
            "tenant": {"description": "Yours.", "default": "demo", "isRequired": True},
            "secret": {"isRequired": True, "isSecret": True},
            "region": {"isRequired": True},
        },
    }


def test_a_variable_of_the_host_has_no_value_that_leads_inside() -> None:
    variables = {"host": {"default": "127.0.0.1", "choices": ["a.example.com", "localhost"], "description": "Where."}}
    described = service("https://{host}/mcp", native={"mcp-server-card": {"variables": variables}})
    assert only(described)["remotes"][0]["variables"] == {"host": {"description": "Where."}}


@pytest.mark.parametrize(
    ("scheme", "header"),
    [
        (
            AuthScheme("bearer", "header", "Authorization", "Bearer"),
            {"name": "Authorization", "value": "Bearer {token}"},
        ),
        (AuthScheme("bearer"), {"name": "Authorization", "value": "Bearer {token}"}),
        (AuthScheme("api_key", "header", "X-Key", note="Ask us."), {"name": "X-Key", "description": "Ask us."}),
        (AuthScheme("oauth2", authorization_url="https://a.example/"), None),
        (AuthScheme("api_key", "header", "Bad\r\nName"), None),
        (AuthScheme("api_key", "query", "key"), None),
    ],
)
def test_credentials_are_headers_of_the_remote(scheme: AuthScheme, header: dict[str, str] | None) -> None:
    headers = only(service(f"https://{HOST}/mcp", auth=Auth((scheme,), True)))["remotes"][0].get("headers", [])
    assert len(headers) == (header is not None)
    if header is not None:
        assert headers[0].items() >= header.items()
        assert headers[0]["isRequired"] is True


def test_one_of_several_credentials_is_not_required() -> None:
    schemes = (AuthScheme("bearer"), AuthScheme("api_key", "header", "X-Key"))
    headers = only(service(f"https://{HOST}/mcp", auth=Auth(schemes, True)))["remotes"][0]["headers"]
    assert [header["isRequired"] for header in headers] == [False, False]


def test_servers_of_one_host_have_records_of_their_own() -> None:
    described = service(
        f"https://{HOST}/a/mcp", f"https://{HOST}/a/sse", f"https://{HOST}/b/mcp", f"https://{HOST}/c/mcp",
        capabilities=(
            whole("com.x/alpha", f"https://{HOST}/a/mcp", "Alpha", "First."),
            Capability("t", "t", invocations=(Invocation("mcp_tool", f"https://{HOST}/b/mcp", name="t"),)),
            whole("alpha", f"https://{HOST}/c/mcp/"),
        ),
    )  # fmt: skip
    records = server_records(HOST, described).records
    assert [record.name for record in records] == [f"com.example.mcp/{slug}" for slug in ("alpha", "b-mcp", "alpha-2")]
    assert [len(record.server["remotes"]) for record in records] == [2, 1, 1]
    assert [record.version for record in records] == ["1.0.0", None, None]
    assert [record.server["description"] for record in records] == ["First.", *[f"MCP server of {HOST}"] * 2]


def test_the_servers_of_a_host_are_bounded() -> None:
    endpoints = [f"https://{HOST}/{number}/mcp" for number in range(MAX_SERVERS + 5)]
    capabilities = tuple(whole(f"s{number}", endpoint) for number, endpoint in enumerate(endpoints))
    records = server_records(HOST, service(*endpoints, capabilities=capabilities)).records
    assert len(records) == MAX_SERVERS
    assert records[0].notes["left_out"] == ["too_many"]


def test_two_ways_to_one_server_are_one_record() -> None:
    described = service(f"https://{HOST}/mcp", f"https://{HOST}/sse", f"https://{HOST}/mcp")
    assert [remote["url"] for remote in only(described)["remotes"]] == [f"https://{HOST}/mcp", f"https://{HOST}/sse"]


def test_a_package_is_repeated_word_by_word() -> None:
    package = Package(
        "npm", "@a/b", "1.0.0", "npx", ("-y",), ("--root", "{root}"), (Input("KEY", "Yours.", True, True),), "stdio"
    )
    assert only(service(packages=(package,)))["packages"] == [
        {
            "registryType": "npm", "identifier": "@a/b", "version": "1.0.0", "runtimeHint": "npx",
            "transport": {"type": "stdio"}, "runtimeArguments": [{"type": "positional", "value": "-y"}],
            "packageArguments": [
                {"type": "positional", "value": "--root"},
                {"type": "positional", "value": "{root}", "variables": {"root": {"isRequired": True}}},
            ],
            "environmentVariables": [{"name": "KEY", "description": "Yours.", "isRequired": True, "isSecret": True}],
        }
    ]  # fmt: skip


def test_the_tag_of_an_image_is_part_of_its_identifier() -> None:
    packages = (Package("docker", "ghcr.io/a/b", "1.0"), Package("oci", "ghcr.io/a/c:2", "2"))
    found = only(service(packages=packages))["packages"]
    assert [(package["identifier"], "version" in package) for package in found] == [
        ("ghcr.io/a/b:1.0", False), ("ghcr.io/a/c:2", False),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "package",
    [
        Package(command="npx", arguments=("-y", "x")),
        Package("npm"),
        Package("npm", "two words", "1.0"),
        Package("mcpb", "https://example.com/a.mcpb"),
        Package("npm", "x", "1.0", transport="streamable-http"),
        Package("npm", "x", "1.0", transport="streamable-http", url="https://example.com:{port}/mcp"),
        Package("npm", "x", "1.0", arguments=("--url", "http://10.0.0.1/"), transport="stdio"),
    ],
)
def test_a_package_that_the_api_cannot_express_is_left_out(package: Package) -> None:
    assert server_records(HOST, service(packages=(package,))).left_out == "package"


def test_a_range_of_versions_of_a_package_is_left_out() -> None:
    assert "version" not in only(service(packages=(Package("npm", "x", "^1.0"),)))["packages"][0]


def test_links_are_only_what_the_api_allows() -> None:
    server = only(
        service(
            f"https://{HOST}/mcp", homepage="https://example.com/'x'", repository="https://codeberg.org/a/b",
            icon_url="https://example.com/" + "a" * 300,
        )
    )  # fmt: skip
    assert not {"websiteUrl", "repository", "icons"} & set(server)
    server = only(
        service(
            f"https://{HOST}/mcp", homepage="https://example.com/a", repository="https://gitlab.com/a/b/c",
            icon_url="https://example.com/a.png",
        )
    )  # fmt: skip
    assert server["websiteUrl"] == "https://example.com/a"
    assert server["repository"] == {"url": "https://gitlab.com/a/b/c", "source": "gitlab"}
    assert server["icons"] == [{"src": "https://example.com/a.png"}]


def test_remotes_on_other_sites_are_named() -> None:
    (record,) = server_records(HOST, service("https://mcp.elsewhere.net/mcp")).records
    assert record.notes["off_site"] == ["mcp.elsewhere.net"]


def test_a_record_is_bounded() -> None:
    long = tuple(Package("npm", f"p{number}", "1.0", arguments=("x" * 2_000,)) for number in range(50))
    (record,) = server_records(HOST, service(f"https://{HOST}/mcp", packages=long)).records
    assert "packages" not in record.server and record.notes["left_out"] == ["too_large"]
    assert server_records(HOST, service(packages=long)).left_out == "too_large"
    assert MAX_BYTES == 32_768


def test_a_service_without_mcp_has_no_record_and_no_reason() -> None:
    assert server_records(HOST, Service(name="Letters", protocols=(Protocol("adp"),))).left_out is None
    assert server_records(HOST, Service(protocols=(Protocol("mcp"),))).left_out == "no_address"


@pytest.mark.parametrize(
    ("status", "is_deprecated", "reason"), [("deprecated", True, None), ("deleted", False, "withdrawn")]
)
def test_what_a_document_says_of_its_status_holds(status: str, is_deprecated: bool, reason: str | None) -> None:
    result = server_records(HOST, service(f"https://{HOST}/mcp", native={"mcp-server-json": {"status": status}}))
    assert result.left_out == reason
    assert all(record.is_deprecated is is_deprecated for record in result.records)
