"""The consoles of the commands. What they print contains no control character but line feeds and Rich's own styles.

Apart from `common`, because Rich takes long to import, and help and refusals do without it.
"""

from collections.abc import Iterable
from typing import Any

from rich.console import Console, ConsoleOptions, RenderableType
from rich.markup import escape
from rich.segment import Segment

from registry.cli.clean import visible, visible_lines


class CleanConsole(Console):
    """A console that cleans every text that it renders, in tables, progress bars and statuses too.

    Highlighting and emoji codes are off, because they would change texts of sites.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**{"highlight": False, "emoji": False, **options})

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            if segment.control or segment.text.isprintable():
                yield segment
            else:
                yield Segment(visible_lines(segment.text), segment.style)


def escaped(text: str) -> str:
    """Return untrusted text for a string with Rich's markup: printable characters, without any markup."""
    return escape(visible(text))


console = CleanConsole()


errors = CleanConsole(stderr=True)
