"""Finds the reply in an event stream while it arrives (HTML standard, "Server-sent events")."""

import re
from collections.abc import Mapping
from typing import Final, Self

from registry.core.model.documents import Post
from registry.core.visiting.tool_lists import EVENT_STREAM, data_of, reply_of

_BLANK_LINE: Final = re.compile(rb"\r\n\r\n|\n\n|\r\r")
_LONGEST_END: Final = 4


class ReplyWatch:
    """Watches one stream for the reply to one request. Each byte is searched once, and each event parsed once."""

    __slots__ = ("_event", "_request_id", "_searched")

    def __init__(self, request_id: int | None) -> None:
        self._request_id = request_id
        self._event = bytearray()
        self._searched = 0

    @classmethod
    def of(cls, post: Post | None, fields: Mapping[str, str]) -> Self | None:
        """Return the watch of an answer; None for a GET, a body in a content coding, or another media type."""
        is_stream = post is not None and fields.get("content-type", "").lower().startswith(EVENT_STREAM)
        return cls(post.request_id) if post and is_stream and not fields.get("content-encoding") else None

    def is_over(self, chunk: bytes) -> bool:
        """Take the next bytes of the stream. Return whether it contains the reply, or no reply is expected."""
        if self._request_id is None:
            return True
        self._event += chunk
        while (end := _BLANK_LINE.search(self._event, max(0, self._searched - _LONGEST_END))) is not None:
            event, self._searched = bytes(self._event[: end.start()]), 0
            del self._event[: end.end()]
            if reply_of(data_of(event), self._request_id) is not None:
                return True
        self._searched = len(self._event)
        return False
