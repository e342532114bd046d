"""Serve recorded sites over TLS on loopback, with certificates of a throw-away certificate authority."""

import asyncio
import contextlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import trustme
import uvicorn
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from registry.demo.sites import Site

NAMES_PER_CERTIFICATE = 50
"""Certificates list every host, because rustls refuses wildcards below a public suffix; grouping keeps them small."""

USUAL_PORT = 8443
"""The same in most runs, so that a copied command works the next day."""

_START_SECONDS = 30


@dataclass(frozen=True, slots=True)
class SampleServer:
    """`connect_to`: one HOST:443:ADDRESS:PORT entry for each site. `ca_file`: PEM to trust (SSL_CERT_FILE). `port`: of
    127.0.0.1, for all sites but dead ones. `reached`: the hosts that got a request; it grows while the server runs."""

    connect_to: tuple[str, ...]
    ca_file: Path
    port: int
    reached: set[str] = field(default_factory=set)


def app_of(sites: Mapping[str, Site], reached: set[str]) -> ASGIApp:
    """Return one ASGI application for all sites; the Host header selects the site. It adds each host to `reached`."""

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        request = Request(scope)
        site = sites.get((request.url.hostname or "").lower())
        if site is not None:
            reached.add(site.host)
        response = await _respond(site, request) if site else Response(status_code=421)
        await response(scope, receive, send)

    return app


async def _respond(site: Site, request: Request) -> Response:
    reply = site.reply(request.url.path)
    if reply.delay:
        await asyncio.sleep(reply.delay)
    if reply.status == 200 and request.headers.get("if-none-match") == reply.headers.get("ETag"):
        return Response(status_code=304, headers={"ETag": reply.headers["ETag"]})
    response = Response(reply.body, reply.status)
    response.headers.update(reply.headers)
    return response


@contextlib.contextmanager
def serve(sites: Mapping[str, Site], folder: Path) -> Iterator[SampleServer]:
    """Serve until the block ends; later changes of `sites` count.

    The CA's certificate is written to `folder`; its key never leaves memory.
    """
    authority, untrusted_authority = trustme.CA(), trustme.CA()
    ca_file = folder / "demo-ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    with _listening() as listening, socket.socket() as refusing:
        refusing.bind(("127.0.0.1", 0))
        port, refusing_port = listening.getsockname()[1], refusing.getsockname()[1]  # bound but not listening: refused
        reached: set[str] = set()
        app = app_of(sites, reached)
        config = uvicorn.Config(app, log_level="critical", access_log=False, lifespan="off", http="httptools")
        config.load()
        config.ssl = _context(sites, authority, untrusted_authority)
        with _running(uvicorn.Server(config), listening):
            ports = {site.host: refusing_port if site.file.state == "dead" else port for site in sites.values()}
            connect_to = tuple(f"{host}:443:127.0.0.1:{number}" for host, number in ports.items())
            yield SampleServer(connect_to, ca_file, port, reached)


def _listening() -> socket.socket:
    """Return a socket that listens on USUAL_PORT, or on any port if that is in use."""
    for port in (USUAL_PORT, 0):
        listening = socket.socket()
        try:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listening.bind(("127.0.0.1", port))
            listening.listen()  # at once: of two programs that have bound a port, one may listen
            return listening
        except OSError:
            listening.close()
            if not port:
                raise
    raise AssertionError("unreachable")


@contextlib.contextmanager
def _running(server: uvicorn.Server, listening: socket.socket) -> Iterator[None]:
    thread = threading.Thread(target=server.run, args=([listening],), name="sample-web", daemon=True)
    thread.start()
    deadline = time.monotonic() + _START_SECONDS
    while not server.started and thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.01)
    if not server.started:
        raise RuntimeError("the sample web did not start")
    try:
        yield
    finally:
        server.should_exit = server.force_exit = True
        thread.join(_START_SECONDS)


def _context(sites: Mapping[str, Site], authority: trustme.CA, untrusted_authority: trustme.CA) -> ssl.SSLContext:
    """Return a context that selects the certificate of a host's group by server name (SNI)."""
    trusted = [site.host for site in sites.values() if site.file.state != "untrusted"]
    starts = range(0, len(trusted), NAMES_PER_CERTIFICATE)
    groups = [(authority, trusted[start : start + NAMES_PER_CERTIFICATE]) for start in starts]
    groups += [(untrusted_authority, [site.host]) for site in sites.values() if site.file.state == "untrusted"]
    by_name: dict[str, ssl.SSLContext] = {}
    for issuer, names in groups:
        context = _tls_context()
        issuer.issue_cert(*names).configure_cert(context)
        by_name |= dict.fromkeys(names, context)

    def choose(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> int | None:
        if name not in by_name:
            return ssl.ALERT_DESCRIPTION_UNRECOGNIZED_NAME
        connection.context = by_name[name]
        return None

    default_context = _tls_context()
    default_context.sni_callback = choose
    return default_context


def _tls_context() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context
