"""The web sites: one nginx with TLS 1.3 and EC P-256 certificates of an authority created per run, and the name server.

Every normal host has robots.txt and a front page. Everything else is 404, except for the one manifest that one host in
33 has. The other manners of web.py are separate virtual servers.
"""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.request import urlopen

import trustme

from benchmarks.assess.documents import KINDS, Maker
from benchmarks.crawl import web
from benchmarks.crawl.nameserver import SLOW_PORT

STATUS_PORT = 8080
MANIFESTS = (
    "a2a",
    "mcp-server-card",
    "adp",
    "awp",
    "llms-txt",
    "atp",
    "woa",
    "awas",
    "api-catalog",
    "agent-skills-index",
)
"""Formats of the hosts with a hit, in turns."""

_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<meta name="description" content="{about}"><link rel="stylesheet" href="/style.css"><link rel="icon" href="/icon.svg">
<meta property="og:title" content="{title}"></head><body><nav><a href="/">Home</a> <a href="/shop">Shop</a>
<a href="/about">About us</a> <a href="https://partner.example.com/">Partners</a></nav><main><h1>{title}</h1>
{text}</main><footer><a href="/imprint">Imprint</a> <a href="/privacy">Privacy</a></footer></body></html>
"""


@dataclass
class Farm:
    """A running farm. `authority`: PEM file for SSL_CERT_FILE."""

    authority: Path
    _status_requests: int = 0

    def requests(self) -> int:
        """Return the number of requests answered so far, without those of this method itself."""
        self._status_requests += 1
        with urlopen(f"http://127.0.0.1:{STATUS_PORT}/", timeout=5) as response:
            return int(response.read().split()[9]) - self._status_requests


@contextlib.contextmanager
def running(folder: Path, hosts: int, *, logged: bool = False) -> Iterator[Farm]:
    """Run web server and name server while the block runs. `logged`: each request is a line of `access.log` in the
    folder: time in milliseconds, client's address, host."""
    authority = _lay_out(folder, hosts, logged)
    nginx = shutil.which("nginx", path=os.pathsep.join((os.environ.get("PATH", ""), "/usr/sbin"))) or "nginx"
    command = [sys.executable, "-m", "benchmarks.crawl.nameserver"]
    with (
        subprocess.Popen([nginx, "-p", str(folder), "-c", str(folder / "nginx.conf")]) as server,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as name_server,
    ):
        try:
            assert name_server.stdout is not None
            if name_server.stdout.readline() != "ready\n":
                sys.exit("the name server did not start")
            farm = Farm(authority)
            _wait_for(farm, server)
            yield farm
        finally:
            assert name_server.stdin is not None
            name_server.stdin.close()
            server.terminate()


def _wait_for(farm: Farm, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(100):
        if server.poll() is not None:
            break
        with contextlib.suppress(OSError):
            farm.requests()
            return
        time.sleep(0.1)
    sys.exit("nginx did not start")


def _lay_out(folder: Path, hosts: int, logged: bool) -> Path:
    """Write certificates, pages and configuration; return the authority's file."""
    authority, stranger = trustme.CA(), trustme.CA()
    (folder / "certificates").mkdir()
    for manner in web.SERVED:
        for suffix in web.suffixes(manner):
            issuer = stranger if manner == "badcert" else authority
            issued = issuer.issue_cert(f"*.{suffix}", key_type=trustme.KeyType.ECDSA)
            issued.private_key_and_cert_chain_pem.write_to_path(str(folder / "certificates" / f"{suffix}.pem"))
    authority.cert_pem.write_to_path(str(folder / "authority.pem"))
    _write_pages(folder, hosts)
    (folder / "nginx.conf").write_text(configuration(folder, logged=logged))
    return folder / "authority.pem"


def _write_pages(folder: Path, hosts: int) -> None:
    make = Maker(11, "site.example")
    text = "\n".join(f"<p>{make.sentence()}</p>" for _ in range(40))
    pages = folder / "pages"
    pages.mkdir()
    (pages / "home.html").write_text(_PAGE.format(title="A small shop", about=make.sentence(), text=text))
    (pages / "lost.html").write_text(_PAGE.format(title="Not found", about="", text="<p>There is no such page.</p>"))
    (pages / "robots.txt").write_text("User-agent: *\nDisallow: /cart\nDisallow: /admin/\n\nSitemap: /sitemap.xml\n")
    for number in range(hosts):
        if web.is_hit(number):
            _write_manifest(folder / "sites" / web.name_of(number), number)


def _write_manifest(site: Path, number: int) -> None:
    """Write one document and, for ADP, the capability details that it links to."""
    slug = MANIFESTS[number // web.HIT_EVERY % len(MANIFESTS)]
    path, _, maker = KINDS[slug]
    make = Maker(number, site.name)
    document = maker(make)
    _write(site, path, document)
    if slug == "adp":
        for capability in document["capabilities"]:
            detail = KINDS["adp-detail"][2](make) | {"name": capability["name"]}
            _write(site, capability["detail_url"].removeprefix(f"https://{site.name}"), detail)


def _write(site: Path, path: str, document: object) -> None:
    target = site / path.lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(document if isinstance(document, str) else json.dumps(document, indent=2, ensure_ascii=False))


def configuration(folder: Path, *, logged: bool = False) -> str:
    """Return nginx.conf: a virtual server for each manner and suffix, one process.

    No master process, because it could not change its groups in an unprivileged user's namespace.
    """
    servers = [_server(folder, manner, suffix) for manner in web.SERVED for suffix in web.suffixes(manner)]
    log = (
        f"log_format plain '$msec $remote_addr $host'; access_log {folder}/access.log plain"
        if logged
        else "access_log off"
    )
    scratch = "".join(f" {kind}_temp_path {folder}/tmp;" for kind in _SCRATCH)
    return f"""daemon off; master_process off; pid {folder}/nginx.pid; error_log stderr crit;
{"user root;" if os.geteuid() == 0 else ""} worker_rlimit_nofile 20000;
events {{ worker_connections 19000; multi_accept on; }}
http {{
  {log}; server_tokens off; keepalive_timeout 75s; keepalive_requests 1000; ssl_protocols TLSv1.2 TLSv1.3;
  server_names_hash_max_size 8192; server_names_hash_bucket_size 128;{scratch}
  default_type application/json;
  types {{ text/html html; text/plain txt; text/markdown md; application/json json; }}
  server {{ listen 127.0.0.1:{STATUS_PORT}; location / {{ stub_status; }} }}
  server {{ listen 443 ssl backlog=8192; server_name _; ssl_reject_handshake on; }}
{"".join(servers)}}}
"""


_SCRATCH = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def _server(folder: Path, manner: str, suffix: str) -> str:
    certificate = folder / "certificates" / f"{suffix}.pem"
    return (
        f"  server {{ listen 443 ssl; server_name *.{suffix};\n"
        f"    ssl_certificate {certificate}; ssl_certificate_key {certificate};\n"
        f"    root {folder}/pages; {_MANNERS[manner].format(folder=folder)} }}\n"
    )


_HOME = "try_files /home.html =404;"
_MANNERS = {
    "site": "error_page 404 /lost.html; location = /robots.txt {{ }} location = /lost.html {{ internal; }}"
    f" location = / {{{{ {_HOME} }}}} location / {{{{ root {{folder}}/sites/$host; }}}}",
    "catchall": f"location / {{{{ {_HOME} }}}}",
    "forbidden": "location / {{ return 403; }}",
    "badcert": "location / {{ return 404; }}",
    "slow": f"location / {{{{ proxy_pass http://127.0.0.1:{SLOW_PORT}; }}}}",
}
