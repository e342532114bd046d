"""The demo: crawl sample sites over TLS, search them, serve the API."""


class DemoError(RuntimeError):
    """The demo cannot continue; the message says why and where to look."""
