"""What can go wrong between an action and the database. Bad values are the value's fault, not the caller's."""


class StoreUnavailable(ConnectionError):
    """The server is away, too busy, or gave up on us (deadlock): the same call may succeed later."""


class Unstorable(ValueError):
    """A value that PostgreSQL refuses. Nothing of its transaction was kept; others can be tried without it."""
