"""How often Python looks for garbage while thousands of visits are under way."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def patient_collector() -> Iterator[None]:
    """What thousands of visits hold lives for half a minute: to look through it for garbage after every 700 new
    objects takes a seventh of the event loop's time."""
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
