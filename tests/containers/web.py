"""The sample web of tests/containers, run in a container: FOLDER/HOST/PATH over TLS on port 443, by the Host header."""

import http.server
import ssl
import sys
from pathlib import Path

FOLDER = Path(sys.argv[1])


class Site(http.server.SimpleHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def translate_path(self, path: str) -> str:
        host = Path(self.headers.get("Host", "none").partition(":")[0]).name
        return str(FOLDER / host / path.partition("?")[0].lstrip("/"))

    def list_directory(self, path: str) -> None:  # type: ignore[override]
        self.send_error(404)


context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(FOLDER / "site.pem")
server = http.server.ThreadingHTTPServer(("0.0.0.0", 443), Site)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()
