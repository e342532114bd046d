"""Services whose every text tries to run something, to hide something, or to be too long."""

from typing import Any, Final

from tests.support.builders import ADP, Page, Site, adp_detail, adp_manifest, adp_site

SCRIPT: Final = "\"><svg/onload=alert(1)><script>alert(2)</script><img src=x onerror=alert(3)>'"
TEMPLATE: Final = "{% print(7 * 7) %}"
NAME: Final = 'Parcel post " onfocus=alert(6) autofocus="\' <svg/onload=alert(7) '
OVERRIDE: Final = "\u202ereverse\u2066isolate\u200bzero\u0007bell"
LONG: Final = "W" * 10_000
URL: Final = "javascript:alert(5)//https://x.example"

SHOUTING: Final = "hostile.example"
LENGTHY: Final = "lengthy.example"
MANY: Final = "many.example"
MANY_CAPABILITIES: Final = 70


def _hostile(host: str, text: str, name: str) -> dict[str, Page]:
    """Return a site that says `text` wherever an ADP manifest has room for a text."""
    manifest: dict[str, Any] = adp_manifest(host, "create_parcel")
    manifest |= {
        "name": text if text == LONG else NAME + OVERRIDE,
        "description": f"Books and tracks parcels with couriers. {text} {TEMPLATE}",
    }
    manifest |= {"homepage": URL, "docs_url": URL, "version": text[:200]}
    manifest["pricing"] = {"type": "paid", "url": URL, "plans": [{"name": text, "price": text, "limits": text}]}
    manifest["provider"] = {"name": text, "url": URL, "contact": text}
    manifest["auth"] = {"type": "api_key", "header": text[:100], "setup_url": URL}
    entry = manifest["capabilities"][0]
    entry |= {"name": name, "description": text, "detail_url": "/caps/one"}
    detail = adp_detail("create_parcel") | {"name": name, "description": text}
    for parameter in detail["parameters"]:
        parameter |= {"description": text, "example": text}
    return {ADP: Page(manifest), "/caps/one": Page(detail)}


SITES: Final[dict[str, Site]] = {
    SHOUTING: _hostile(SHOUTING, SCRIPT + OVERRIDE, SCRIPT),
    LENGTHY: _hostile(LENGTHY, LONG, "W" * 1_000),
    MANY: adp_site(MANY, *(f"action_{number}" for number in range(MANY_CAPABILITIES))),
}
