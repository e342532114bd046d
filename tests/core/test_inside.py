"""Which texts are addresses of private networks, in every spelling that a client would follow, and which are not."""

import pytest

from registry.core.names.inside import inside_host

PRIVATE = {
    "http://localhost:3000": "localhost",
    "http://LOCALHOST./x": "localhost",
    "http://localhost../x": "localhost",
    "http://api.localhost/": "api.localhost",
    "https://127.0.0.1/mcp": "127.0.0.1",
    "http://127.1/": "127.0.0.1",
    "http://2130706433/": "127.0.0.1",
    "http://0x7f000001/": "127.0.0.1",
    "http://0177.0.0.1/": "127.0.0.1",
    "http://１２７.0.0.1/": "127.0.0.1",  # full-width digits
    "http://%6c%6f%63alhost/": "localhost",
    "http://loc\u00adalhost/": "localhost",
    "http://169.254.169.254.:80/latest": "169.254.169.254",
    "https://[::1]:8080/{id}": "[::1]",
    "http://[::ffff:10.0.0.1]/": "[::ffff:a00:1]",
    "http://[fe80::1%25eth0]/": "[fe80::1%25eth0]",
    "http://[fe80::1%eth0]/": "[fe80::1%eth0]",
    "http://[::1": "[::1",
    "http://localhost:99999/x": "localhost:99999",
    "https://shop.com@169.254.169.254/": "169.254.169.254",
    "http://user:secret@10.0.0.1/": "10.0.0.1",
    "http://metadata.google.internal/computeMetadata/v1/": "metadata.google.internal",
    "http://host.docker.internal:11434": "host.docker.internal",
    "https://kubernetes.default.svc/": "kubernetes.default.svc",
    "https://printer.local/": "printer.local",
    "http://metadata/": "metadata",
    "http://test/": "test",
    "http://dev/": "dev",
    "http://router.home.arpa/": "router.home.arpa",
    "https://hidden.onion/": "hidden.onion",
    "wss://intranet/agent": "intranet",
    "ftp:localhost": "localhost",
    "http:localhost/x": "localhost",
    "https:/127.0.0.1/x": "127.0.0.1",
    "//127.0.0.1/x": "127.0.0.1",
    "\\\\server\\share": "server",
    " \tht\ttps:\\\\127.0.0.1": "127.0.0.1",
    "http://127.0.0.1/ for more": "127.0.0.1",
    "redis://localhost/0": "localhost",
    "redis://cache:6379": "cache",
    "mcp://db.internal/x": "db.internal",
    "jdbc:postgresql://10.0.0.1/db": "10.0.0.1",
    "git+ssh://git@localhost/x": "localhost",
    "localhost:3000/x": "localhost",
    "10.0.0.1:8080": "10.0.0.1",
    "[::1]:80": "[::1]",
    "[fe80::1%eth0]:80": "[fe80::1]",
    "metadata.google.internal:80": "metadata.google.internal",
    "did:web:localhost%3A8443": "localhost",
    "did:web:metadata.google.internal:agents:7": "metadata.google.internal",
    "https://{x}.localhost/": "x0variable0x.localhost",
    "https://{tenant}.internal/": "x0variable0x.internal",
    "https://127.0.0.{x}/": "127.0.0.x0variable0x",
    "https://10.{x}/": "10.x0variable0x",
    "http://localhost:{port}/x": "localhost",
    "http://localhost/" + "a" * 9_000: "localhost",
    "http://" + "u" * 9_000 + "@localhost/": "u" * 4_089,
}

PUBLIC = (
    "https://ferry.example/mcp", "https://foo.test:8443/", "https://www.shop.com:8443/", "https://com.br/",
    "https://my_bucket.s3.amazonaws.com/x", "https://8.8.8.8/", "https://[2606:4700::1111]/", "8.8.8.8:53",
    "did:web:shop.com", "https://api.fjord-line.com/{tenant}", "https://{domain}/agent.json", "https://{host}:{port}/",
    "https://{sub}.{domain}/", "https://api.{domain}/x", "https://{a}.{b}.{c}.{d}/", "https://<your-domain>/x",
    "https://${HOST}/",
)  # fmt: skip

TEXTS = (
    "see http://127.0.0.1 for more", "http://127.0.0.1 for more", "curl http://localhost:3000/x", "Note: closed",
    '{"url": "http://localhost"}', "mailto:a@localhost", "birds://towns", "ui://widget/x", "file:///etc/passwd", "//",
    "// a comment", "https://", "https://...", "10.0.0.1", "1.0.0.0", "localhost", "eip155:8453", "order:42", "12:30",
    "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "tel:123", "data:text/plain,hi", "urn:air:shop.internal:agent", "",
)  # fmt: skip


@pytest.mark.parametrize(("text", "host"), PRIVATE.items())
def test_an_address_of_a_private_network_is_known_in_every_spelling(text: str, host: str) -> None:
    assert inside_host(text) == inside_host(text, is_address=True) == host


@pytest.mark.parametrize("text", [*PUBLIC, *TEXTS])
def test_public_addresses_and_texts_are_left_alone(text: str) -> None:
    assert inside_host(text) is None


@pytest.mark.parametrize(
    "text",
    ["10.0.0.1", "localhost", "localhost.", "::1", "fe80::1%eth0", "[::1]", "metadata.google.internal", "localhost/x",
     "10.0.0.1/x", "db.internal/x", "１２７.0.0.1"],  # full-width digits
)  # fmt: skip
def test_a_bare_host_counts_where_an_address_is_expected(text: str) -> None:
    assert inside_host(text, is_address=True) is not None
    assert inside_host(text) is None


@pytest.mark.parametrize(
    "text",
    ["shop.com", "8.8.8.8", "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "127", "2001", "intranet", "base",
     "a.example", "10 Downing Street", "12:30", "::", "name@mail.internal", "send/home", ""],
)  # fmt: skip
def test_words_and_numbers_are_no_hosts_even_there(text: str) -> None:
    assert inside_host(text, is_address=True) is None
