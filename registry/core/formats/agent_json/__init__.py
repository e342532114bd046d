"""agent.json 1.x: an origin with intents and an address for payments, at `/.well-known/agent.json` or `/agent.json`."""

from typing import Final

from registry.core.format_support.account import Part
from registry.core.format_support.format import Format, Role
from registry.core.format_support.shapes import OBJECT, TEXT
from registry.core.formats.agent_json import adhoc, rules
from registry.core.formats.agent_json.read import SLUG, dialect, read
from registry.core.model.findings import rules_in

__all__ = ["FORMAT", "at_card_path", "dialect", "wrapped"]

at_card_path, wrapped = adhoc.dialect, adhoc.recognise_wrapped

_INTENT: Final = {**dict.fromkeys(("name", "description", "endpoint", "method"), TEXT), "price": OBJECT}

FORMAT: Final = Format(
    slug=SLUG,
    title="agent.json",
    spec="agent.json 1.3",
    cited_as="agent.json ",
    about=(
        "A site names the tasks that agents may do there, and what it pays or charges for them. Runtimes of "
        "agents read it on their first visit."
    ),
    link="https://github.com/FransDevelopment/agent-json",
    example={
        "version": "1.3",
        "origin": "example.com",
        "payout_address": "0x000000000000000000000000000000000000dEaD",
        "display_name": "City weather",
        "description": "Tells the weather of any city.",
        "intents": [
            {
                "name": "get_weather",
                "description": "Tell the weather of a city.",
                "endpoint": "/weather",
                "method": "GET",
                "parameters": {"city": {"type": "string", "required": True, "description": "Name of the city."}},
                "returns": {"type": "object"},
            },
        ],
    },
    paths=("/.well-known/agent.json", "/agent.json"),
    media_types=("application/json",),
    role=Role.SERVICE,
    read=read,
    parts=(Part("/intents/[]", "intent", members=_INTENT),),
    types={"/display_name": TEXT, "/description": TEXT, "/version": TEXT, "/payout_address": TEXT},
    rules=rules_in(rules),
    asks=frozenset({"capability.undescribed"}),
    promised_paths=(),
    precedence=60,
)
