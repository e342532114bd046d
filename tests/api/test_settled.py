"""What the collector of circular garbage leaves out while the API serves."""

import gc

from registry.api.app import settled


def test_what_is_there_when_serving_begins_is_left_out_until_it_ends() -> None:
    with settled():
        assert gc.get_freeze_count() > 0
    assert gc.get_freeze_count() == 0
