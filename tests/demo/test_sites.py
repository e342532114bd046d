"""Recorded sites: the meaning of the files in a folder, and serving over TLS that clients can verify."""

import json
import ssl
from http.client import HTTPSConnection
from pathlib import Path

import pytest

from registry.demo.server import SampleServer, serve
from registry.demo.sites import SAMPLE_WEB, BadSite, load_sites
from tests.support.hang import HANG_SECONDS


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, body in files.items():
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(body)
    return folder


def test_paths_serve_their_files(tmp_path: Path) -> None:
    sites = load_sites(
        write(
            tmp_path,
            {
                "expected.tsv": "beside the sites, not one of them",
                "a.example/_index": "<h1>home</h1>",
                "a.example/agent.json": "{}",
                "a.example/.well-known/agent/_index": "adp",
                "a.example/.well-known/agent/caps/x": "detail",
                "a.example/notes.md": "# notes",
            },
        )
    )
    site = sites["a.example"]
    assert list(sites) == ["a.example"]
    assert site.reply("/").headers["Content-Type"].startswith("text/html")
    assert site.reply("/agent.json").headers["Content-Type"] == "application/json"
    assert site.reply("/.well-known/agent").body == b"adp"
    assert site.reply("/.well-known/agent").headers["Content-Type"] == "text/plain; charset=utf-8"
    assert site.reply("/.well-known/agent/caps/x").body == b"detail"
    assert site.reply("/notes.md").headers["Content-Type"].startswith("text/markdown")
    for unknown in ("/nope", "/.well-known", "/_index", "/_site.json", "/../expected.tsv", "//agent.json"):
        assert site.reply(unknown).status == 404, unknown


@pytest.mark.parametrize(
    ("name", "body", "media_type"),
    [
        ("agent", b'{"name": "Kiosk"}', "application/json"),
        ("agent", b"\xef\xbb\xbf\n [1]", "application/json"),
        ("agent", b'{"cut": ', "application/json"),
        ("agent.v2", b"{}", "application/json"),
        (".well-known/agent/_index", b"{}", "application/json"),
        ("api", b"# tides\nopenapi: 3.1.0\n\ninfo: {title: Tides}\n", "application/yaml"),
        ("api", b"---\nopenapi: 3.1.0\n", "application/yaml"),
        ("page", b"\n<!DOCTYPE html><title>Kiosk</title>", "text/html; charset=utf-8"),
        ("page", b"<h1>Kiosk</h1>", "text/html; charset=utf-8"),
        ("feed", b'<?xml version="1.0"?><feed/>', "application/xml"),
        ("sitemap", b"<urlset></urlset>", "application/xml"),
        ("llms", b"# Kiosk\n\n> Sells tickets.\n", "text/markdown"),
        ("notes", b"Note: this is prose.\n", "text/plain; charset=utf-8"),
        ("notes", "ä".encode() * 2_000, "text/plain; charset=utf-8"),
        ("empty", b"", "text/plain; charset=utf-8"),
        ("logo", b"\x89PNG\r\n\x1a\n\0", "application/octet-stream"),
        ("blob", b"\xff\xfe\xfd", "application/octet-stream"),
        ("logo.png", b"{}", "image/png"),
        ("data.txt", b"{}", "text/plain; charset=utf-8"),
    ],
)
def test_content_sets_the_media_type_where_no_extension_does(
    tmp_path: Path, name: str, body: bytes, media_type: str
) -> None:
    file = tmp_path / "a.example" / name
    file.parent.mkdir(parents=True)
    file.write_bytes(body)
    reply = load_sites(tmp_path)["a.example"].reply("/" + name.removesuffix("/_index"))
    assert (reply.body, reply.headers["Content-Type"]) == (body, media_type)


@pytest.mark.parametrize("name", ["a b", "Upper.example", "b\u00fccher.example", "x" * 70 + ".example", "a..example"])
def test_a_folder_that_is_not_named_as_a_host_is_left_out(tmp_path: Path, name: str) -> None:
    write(tmp_path, {"a.example/agent.json": "{}", f"{name}/agent.json": "{}", ".git/config": "hidden"})
    with pytest.raises(BadSite, match="host"):
        load_sites(tmp_path)
    errors: list[BadSite] = []
    assert list(load_sites(tmp_path, errors.append)) == ["a.example"]
    assert name in str(errors[0])


def test_files_are_added_changed_and_removed_while_a_site_is_served(tmp_path: Path) -> None:
    folder = tmp_path / "a.example"
    site = load_sites(write(tmp_path, {"a.example/agent.json": "{}", "secret": "no"}))["a.example"]
    write(folder, {"agent.json": "[]", ".well-known/claim.txt": "mine", "_site.json": "{}"})
    assert site.reply("/agent.json").body == b"[]"
    assert (site.reply("/.well-known/claim.txt").status, site.reply("/.well-known/claim.txt").body) == (200, b"mine")
    (folder / "link").symlink_to(tmp_path / "secret")
    hidden = ("/../secret", "/link", "/_site.json", "//agent.json", "/.well-known", "/a\0b", "/" + "\u4e2d" * 5_000, "")
    assert {path: site.reply(path).status for path in hidden} == dict.fromkeys(hidden, 404)
    (folder / "agent.json").unlink()
    assert site.reply("/agent.json").status == 404


def test_a_site_file_defines_responses(tmp_path: Path) -> None:
    rules = {
        "missing": {"status": 200, "path": "/"},
        "paths": {
            "/old": {"status": 301, "headers": {"Location": "/new"}},
            "/slow": {"delay": 0.5, "path": "/new"},
            "/gone": {"status": 410},
        },
    }
    write(tmp_path, {"a.example/_index": "app", "a.example/new": "new", "a.example/_site.json": json.dumps(rules)})
    site = load_sites(tmp_path)["a.example"]
    assert (site.reply("/old").status, site.reply("/old").headers["Location"]) == (301, "/new")
    assert (site.reply("/slow").delay, site.reply("/slow").body) == (0.5, b"new")
    assert site.reply("/gone").status == 410
    assert (site.reply("/anything").status, site.reply("/anything").body) == (200, b"app")


def test_a_header_may_contain_the_path(tmp_path: Path) -> None:
    rules = {"missing": {"status": 301, "headers": {"Location": "https://www.a.example{path}"}}}
    write(tmp_path, {"a.example/_site.json": json.dumps(rules)})
    reply = load_sites(tmp_path)["a.example"].reply("/x/y.json")
    assert (reply.status, reply.headers["Location"]) == (301, "https://www.a.example/x/y.json")


@pytest.mark.parametrize("text", ["{", '{"missing": {"status": 9}}', '{"unknown": 1}', "[]"])
def test_a_bad_site_file_is_named_in_the_error(tmp_path: Path, text: str) -> None:
    write(tmp_path, {"a.example/_site.json": text})
    with pytest.raises(BadSite, match=r"a\.example/_site\.json"):
        load_sites(tmp_path)


def test_a_folder_without_sites_is_refused(tmp_path: Path) -> None:
    write(tmp_path, {"agent.json": "{}", ".git/config": ""})
    with pytest.raises(BadSite, match="HOST/PATH, such as"):
        load_sites(tmp_path)
    with pytest.raises(BadSite, match="not a folder"):
        load_sites(tmp_path / "absent")


def get(
    served: SampleServer, host: str, path: str, headers: dict[str, str] | None = None
) -> tuple[int, bytes, str | None]:
    """Request by server name and pinned address, like a client that trusts the throw-away authority."""
    entry = next(mapping for mapping in served.connect_to if mapping.startswith(f"{host}:"))
    connection = HTTPSConnection(
        host, context=ssl.create_default_context(cafile=str(served.ca_file)), timeout=HANG_SECONDS
    )
    connection._create_connection = lambda *_args, **_kw: _dial(entry)  # type: ignore[attr-defined]  # http.client's own
    connection.request("GET", path, headers=headers or {})
    response = connection.getresponse()
    result = response.status, response.read(), response.headers.get("ETag")
    connection.close()
    return result


def _dial(entry: str) -> object:
    import socket

    return socket.create_connection(("127.0.0.1", int(entry.rsplit(":", 1)[1])), timeout=HANG_SECONDS)


def test_sites_are_served_over_verified_tls(tmp_path: Path) -> None:
    files = {f"h{n}.example/agent.json": json.dumps({"n": n}) for n in range(60)}  # more than one certificate holds
    files["dead.example/_site.json"] = '{"state": "dead"}'
    files["stranger.example/_site.json"] = '{"state": "untrusted"}'
    (tmp_path / "out").mkdir()
    with serve(load_sites(write(tmp_path / "in", files)), tmp_path / "out") as served:
        assert served.reached == set()
        assert get(served, "h0.example", "/agent.json")[:2] == (200, b'{"n": 0}')
        status, body, etag = get(served, "h59.example", "/agent.json")
        assert (status, body) == (200, b'{"n": 59}')
        assert get(served, "h59.example", "/agent.json", {"If-None-Match": etag or ""})[0] == 304
        assert get(served, "h3.example", "/nope")[0] == 404
        assert served.reached == {"h0.example", "h59.example", "h3.example"}
        with pytest.raises(ConnectionRefusedError):
            get(served, "dead.example", "/")
        with pytest.raises(ssl.SSLCertVerificationError):
            get(served, "stranger.example", "/")


def test_the_sample_web_has_every_format_and_failure() -> None:
    sites = load_sites(SAMPLE_WEB)
    assert len(sites) >= 25
    states = {site.file.state for site in sites.values()}
    assert states == {"up", "dead", "untrusted"}
    assert any(site.file.missing.status == 200 for site in sites.values())
    assert sum(site.file.missing.status in (301, 302) for site in sites.values()) >= 2
    for path in ("/agent.json", "/.well-known/agent.json", "/.well-known/agent", "/.well-known/woa.json"):
        assert sum(path in site.files for site in sites.values()) >= 2, path
    assert (
        sum("/.well-known/ai-actions.json" in site.files or "/ai-actions.json" in site.files for site in sites.values())
        >= 2
    )
