"""Each guard of the crawler and the edit that switches it off: see `table`."""
