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
    assert site.reply("/.well-known/agent").headers["Content-Type"] == "application/octet-stream"
    assert site.reply("/.well-known/agent/caps/x").body == b"detail"
    assert site.reply("/notes.md").headers["Content-Type"].startswith("text/markdown")
    for unknown in ("/nope", "/.well-known", "/_index", "/_site.json", "/../expected.tsv", "//agent.json"):
        assert site.reply(unknown).status == 404, unknown


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
    with pytest.raises(BadSite):
        load_sites(tmp_path)
    with pytest.raises(BadSite):
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
        assert get(served, "h0.example", "/agent.json")[:2] == (200, b'{"n": 0}')
        status, body, etag = get(served, "h59.example", "/agent.json")
        assert (status, body) == (200, b'{"n": 59}')
        assert get(served, "h59.example", "/agent.json", {"If-None-Match": etag or ""})[0] == 304
        assert get(served, "h3.example", "/nope")[0] == 404
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
