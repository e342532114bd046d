"""The log of outages: of the database, its disk, the embedded PostgreSQL, the search server.

An outage fails hundreds of calls a minute. It is logged where the calls are made, so that their callers need not: a
warning with the reason at its beginning, one a minute while it lasts, and one line at its end.
"""

import math
import threading
import time
from typing import Any, Final

import structlog

LINE_SECONDS: Final = 60.0
"""Least time between two warnings of one outage, also if calls fail and work by turns."""

QUIET_SECONDS: Final = 2.0
"""An outage is over at the first call that works this long after the last failure."""

MAX_REASONS: Final = 1_000

log = structlog.get_logger(__name__)


class Outage:
    """The failures of one service, as this process sees them, from any of its threads."""

    def __init__(self, begun: str, ended: str, quiet_seconds: float = QUIET_SECONDS) -> None:
        """`begun`, `ended`: the events that are logged."""
        self._begun, self._ended = begun, ended
        self._quiet_seconds = quiet_seconds
        self._mutex = threading.Lock()
        self._since: float | None = None
        self._failed_at = 0.0
        self._failures = 0  # since the last line
        self._is_told = False
        self._silent_until = -math.inf

    @property
    def is_on(self) -> bool:
        return self._since is not None

    def failed(self, reason: str, now: float | None = None) -> None:
        """Note a failed call. `reason` is logged, so it holds no text of a site. `now`: in monotonic seconds."""
        now = time.monotonic() if now is None else now
        with self._mutex:
            self._since = now if self._since is None else self._since
            self._failed_at = now
            self._failures += 1
            if now < self._silent_until:
                return
            self._silent_until, self._is_told = now + LINE_SECONDS, True
            seconds, failures, self._failures = round(now - self._since), self._failures, 0
        log.warning(self._begun, reason=reason, seconds=seconds, failures=failures)

    def worked(self, now: float | None = None) -> None:
        """Note a call that worked."""
        if self._since is None:
            return
        now = time.monotonic() if now is None else now
        with self._mutex:
            if self._since is None or now - self._failed_at < self._quiet_seconds:
                return
            seconds, is_told = round(now - self._since), self._is_told
            self._since, self._is_told = None, False
        if is_told:
            log.info(self._ended, seconds=seconds)


_silent_until: dict[tuple[str, str], float] = {}
"""Event and reason -> when it may be logged again."""


def log_failure(logger: Any, event: str, error: BaseException, **facts: object) -> None:
    """Log failed work as a warning, with the reason if that is a text of this program or of the system: the texts of
    other errors may hold what sites sent.

    Errors with a member `is_outage` say that the database or the index cannot do it now. If it is true, the outage is
    logged anyway, and this at DEBUG only. Each other reason is logged once a minute.
    """
    facts["error"] = type(error).__name__
    reason = str(error) if hasattr(error, "is_outage") else getattr(error, "strerror", None)
    if reason is None:
        logger.warning(event, **facts)
        return
    now = time.monotonic()
    if getattr(error, "is_outage", False) or now < _silent_until.get((event, reason), -math.inf):
        logger.debug(event, reason=reason, **facts)
        return
    if len(_silent_until) >= MAX_REASONS:
        _silent_until.clear()
    _silent_until[event, reason] = now + LINE_SECONDS
    logger.warning(event, reason=reason, **facts)
