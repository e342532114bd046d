"""Objects that the garbage collector skips while the API serves."""

import gc

from registry.api.app import settled


def test_objects_are_frozen_only_while_serving() -> None:
    with settled():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
