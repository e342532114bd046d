"""What the outcome of a visit says about the health of a service."""

from typing import Final

from registry.core.model.documents import Outcome

DOWN: Final = frozenset({Outcome.UNREACHABLE, Outcome.SERVER_ERROR, Outcome.TLS_ERROR})

NOT_MEASURED: Final = frozenset({Outcome.DISALLOWED, Outcome.REFUSED_ADDRESS, Outcome.SKIPPED, Outcome.RATE_LIMITED})
"""Outcomes that say nothing about the service: nothing was requested, or the host asked for a later visit."""
