"""Receivers of webhooks for tests: they verify each message with the library that real receivers use."""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from standardwebhooks.webhooks import Webhook

from tests.support.sites import Answer, Exchange, Reply

HOST = "receiver.example"
URL = f"https://{HOST}/hook"


@dataclass
class Receiver:
    """Answers challenges, and each further message with the next of `answers`, then with 204. `messages` holds them,
    as (id, content), each of them verified with `secret` once that is set."""

    answers: list[Answer] = field(default_factory=list)
    secret: str | None = None
    messages: list[tuple[str, Any]] = field(default_factory=list)
    challenges: int = 0
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)

    async def __call__(self, exchange: Exchange) -> None:
        content = json.loads(exchange.body)
        if self.secret is not None:
            assert Webhook(self.secret).verify(exchange.body, dict(exchange.headers)) == content
        if content["type"] == "webhook.challenge":
            self.challenges += 1
            await exchange.send(Reply(content["data"]["challenge"], type="text/plain").encode())
            return
        self.messages.append((exchange.headers["webhook-id"], content))
        self._arrived.set()
        answer = self.answers.pop(0) if self.answers else Reply(status=204, type=None)
        if isinstance(answer, Reply):
            await exchange.send(answer.encode())
        else:
            await answer(exchange)

    async def received(self, number: int) -> Sequence[tuple[str, Any]]:
        """Return the messages, as soon as there are this many."""
        return await self.received_when(lambda: len(self.messages) >= number)

    async def received_when(self, condition: Callable[[], bool]) -> Sequence[tuple[str, Any]]:
        while not condition():
            self._arrived.clear()
            await self._arrived.wait()
        return self.messages
