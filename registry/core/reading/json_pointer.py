"""Build and split the JSON Pointers (RFC 6901) of findings."""

POINTER_KEY_CHARS = 500  # paths of real descriptions have up to 400


def at(pointer: str, *keys: str | int) -> str:
    """Return `pointer` extended by keys or indexes (RFC 6901 section 3); over-long keys are cut."""
    for key in keys:
        part = str(key)[:POINTER_KEY_CHARS]
        if "~" in part or "/" in part:
            part = part.replace("~", "~0").replace("/", "~1")
        pointer = f"{pointer}/{part}"
    return pointer


def keys_of(pointer: str) -> list[str]:
    """Return the keys of a pointer (RFC 6901 section 4), cut as `at` cuts them: the inverse of `at`."""
    return [part.replace("~1", "/").replace("~0", "~")[:POINTER_KEY_CHARS] for part in pointer.split("/")[1:]]
