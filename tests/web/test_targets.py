"""Whatever is pressed is at least 24 px high and wide (WCAG 2.2, 2.5.8), except links within running text."""

import pytest
from playwright.sync_api import Browser

from tests.web.looking import WIDTHS, looking
from tests.web.paths import ERRORS, PAGES
from tests.web.test_in_browser import swept

pytestmark = pytest.mark.slow

SMALL = """
() => {
  const blocks = "p, li, dt, dd, td, th, figcaption, label, legend, h1, h2, h3, h4, summary, div, nav, section";
  const words = (element) => element.innerText.replace(/[\\s,;.·:|✓]+/g, "");
  const small = [];
  for (const one of document.querySelectorAll("a[href], button, summary, select, textarea, input:not([type=hidden])")) {
    const box = one.getBoundingClientRect();
    if (!one.checkVisibility() || box.width <= 1 || one.closest(".skip, .unseen")) continue;
    if (["radio", "checkbox"].includes(one.type) && one.labels.length) continue;  // the label is pressed, too
    const isText = one.tagName === "A" && getComputedStyle(one).display === "inline";
    const block = one.parentElement.closest(blocks);
    const others = isText ? [...block.querySelectorAll("a[href], button, .tag, time")] : [];
    const rest = isText ? words(block).length - others.reduce((sum, other) => sum + words(other).length, 0) : 0;
    if (isText && rest > 0) continue;
    if (box.height < 23.9 || box.width < 23.9)
      small.push(`${one.tagName} ${one.innerText.slice(0, 40)} ${box.width.toFixed(1)}x${box.height.toFixed(1)} in `
        + `${block?.tagName}.${block?.className} of ${block?.parentElement.className}`);
  }
  return [...new Set(small)];
}
"""


@pytest.mark.parametrize("path", swept(*PAGES, *ERRORS))
def test_what_is_pressed_is_large_enough(browser: Browser, pages_url: str, path: str) -> None:
    with looking(browser, pages_url) as look:
        look.open(path)
        look.page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
        found = {}
        for width in WIDTHS:
            look.appear("light", width)
            found[width] = look.page.evaluate(SMALL)
        assert {width: small for width, small in found.items() if small} == {}
