"""Generated services and requests, with text lengths and word frequencies like those of a large registry.

A service belongs to one of forty trades and has a generated name, a place and one to a dozen capabilities; a request
asks for one of the trade's things in an agent's words. The words of a trade are few and shared by thousands of
services; names and places form the long tail (Zipf), so that common and rare words of an index both occur. Nothing is
taken from an existing collection; the same seed gives the same texts.
"""

import random
from collections.abc import Iterator, Sequence
from functools import lru_cache
from math import exp, log
from typing import Final

from registry.core.model.listing import AdpAuthType, AdpPricingType, ListedCapability, Listing, TrustLevel


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


TRADES: Final[dict[str, tuple[str, str]]] = {  # trade -> things, deeds
    "parcel delivery": ("parcel shipment label courier locker pallet return customs", "ship track reschedule insure"),
    "flight travel": ("flight seat boarding-pass luggage layover fare lounge visa", "book rebook compare cancel"),
    "hotels": ("room suite reservation minibar breakfast hostel checkout deposit", "reserve extend cancel upgrade"),
    "restaurants": ("table menu dish allergen waiter tasting takeaway voucher", "reserve order split rate"),
    "groceries": ("basket milk vegetable recipe pantry discount substitution crate", "order restock compare deliver"),
    "banking": ("account transfer balance statement mortgage overdraft iban standing-order", "open send freeze export"),
    "invoicing": ("invoice receipt credit-note ledger reminder tax supplier expense", "issue match remind reconcile"),
    "insurance": ("policy claim premium damage assessor liability deductible cover", "quote file settle renew"),
    "payroll": ("salary payslip bonus overtime pension garnishment contractor timesheet", "run correct approve export"),
    "recruiting": ("candidate vacancy interview resume reference offer shortlist", "screen invite rank publish"),
    "weather": ("forecast rain temperature storm humidity frost pollen radar", "predict warn compare chart"),
    "maps": ("route address geocode traffic detour isochrone elevation parking", "plan resolve measure avoid"),
    "energy": ("meter tariff kilowatt charger battery solar-panel outage heating", "read switch forecast schedule"),
    "real estate": ("apartment listing lease viewing appraisal landlord inventory deed", "search let value inspect"),
    "medicine": ("appointment prescription vaccine allergy lab-result referral dosage", "book refill explain remind"),
    "fitness": ("workout heart-rate marathon stretch calorie sleep posture coach", "log plan adapt share"),
    "pets": ("dog cat vet kennel vaccine collar adoption grooming", "board find register walk"),
    "gardening": ("seedling compost hedge lawn pest irrigation greenhouse soil", "plant diagnose water prune"),
    "music": ("song playlist concert chord lyric vinyl remix metronome", "stream identify transpose mix"),
    "films": ("movie trailer subtitle cinema director series premiere soundtrack", "recommend rate stream schedule"),
    "books": ("novel author library edition chapter audiobook bestseller quotation", "borrow summarise cite review"),
    "news": ("headline article editor source press-release podcast archive", "summarise monitor verify translate"),
    "translation": ("sentence glossary dialect subtitle interpreter grammar alphabet", "translate detect proofread"),
    "photography": ("picture portrait exposure thumbnail watermark gallery lens", "resize retouch tag print"),
    "video": ("clip caption transcoding livestream frame storyboard thumbnail", "cut encode caption broadcast"),
    "software": ("repository pull-request build test deployment incident changelog", "review merge deploy revert"),
    "monitoring": ("alert dashboard latency uptime trace threshold log-line", "watch page aggregate silence"),
    "databases": ("table query index migration replica backup schema partition", "query copy restore tune"),
    "security": ("password certificate breach phishing firewall token audit", "scan rotate revoke report"),
    "domains": ("domain nameserver registrar zone redirect expiry subdomain", "register renew transfer point"),
    "email": ("mailbox newsletter attachment bounce signature spam subject-line", "send filter schedule archive"),
    "calendars": ("meeting invitation slot timezone agenda reminder holiday", "schedule move decline propose"),
    "sales": ("lead pipeline quote forecast discount contract prospect", "qualify enrich assign close"),
    "advertising": ("campaign banner keyword audience impression budget click", "launch pause target report"),
    "law": ("contract clause court trademark deadline notary statute", "draft review file compare"),
    "government": ("passport permit ballot tax-return council grant census", "apply renew appeal look-up"),
    "education": ("course quiz homework teacher diploma lecture flashcard", "enrol grade explain schedule"),
    "science": ("paper dataset citation experiment molecule genome telescope", "search reproduce plot annotate"),
    "sports": ("match league score fixture referee transfer stadium", "follow predict compare stream"),
    "gifts": ("bouquet card wrapping surprise hamper engraving anniversary", "send choose personalise track"),
}
_QUALITIES: Final = _words(
    "fast simple reliable regional international certified small-business enterprise family seasonal real-time bulk "
    "scheduled anonymous multilingual prepaid shared offline premium independent local automated historical"
)
_AUDIENCES: Final = _words(
    "customers teams travellers parents students developers hospitals shops agencies farmers landlords drivers "
    "accountants charities museums startups freelancers warehouses schools tenants"
)
_DESCRIPTIONS: Final = (
    "Lets {people} {deed} a {thing} in {place}.",
    "{Quality} {trade} for {people}: {deed} any {thing} and {deed2} the {thing2}.",
    "Use it to {deed} {thing} data from {place}, with {thing2} details where there are any.",
    "Returns the {thing} for a given {thing2}; {quality} and meant for {people}.",
    "Agents can {deed} or {deed2} a {thing} without talking to anybody.",
)
_REQUESTS: Final = (
    "I need to {deed} a {thing}",
    "{deed} {thing} {place}",
    "can you help me find something that lets {people} {deed} their {thing}?",
    "{thing} {thing2}",
    "We are looking for a {quality} way to {deed} a {thing} in {place} and to {deed2} the {thing2} later.",
    "My {people} keep asking about the {thing}. I would like to {deed} it by myself. Afterwards somebody has to "
    "{deed2} the {thing2}, and all of it should be {quality}. Please tell me what is there for {place}.",
)
_START: Final = _words("b br c ch d dr f fl g gr h j k kl l m n p pr qu r s st t tr v w z")
_MIDDLE: Final = _words("a e i o u ai ea ou")
_END: Final = _words("l n r s t x m nd rk st lo ra ni")


Trade = tuple[str, Sequence[str], Sequence[str]]


class Texts:
    """A generator of services and requests with one seed."""

    def __init__(self, seed: int = 6) -> None:
        self._chance = random.Random(seed)
        self._trades: list[Trade] = [(name, things.split(), deeds.split()) for name, (things, deeds) in TRADES.items()]

    def services(self, count: int) -> Iterator[Listing]:
        for number in range(count):
            yield self._service(number)

    def requests(self, count: int) -> list[str]:
        """Return `count` distinct requests."""
        requests: dict[str, None] = {}
        while len(requests) < count:
            requests.setdefault(self._fill(self._chance.choice(_REQUESTS), self._chance.choice(self._trades)))
        return list(requests)

    def _service(self, number: int) -> Listing:
        chance, trade = self._chance, self._chance.choice(self._trades)
        name = f"{self._word().title()} {chance.choice(trade[1]).title()}"
        sentences = [self._fill(chance.choice(_DESCRIPTIONS), trade) for _ in range(chance.randint(1, 4))]
        host = f"{name.partition(' ')[0].lower()}-{number}.example"
        auth: AdpAuthType = "none" if number % 3 else "api_key"
        pricing: AdpPricingType = "free" if number % 2 else "paid"
        return Listing(
            domain=host, host=host, name=name, description=" ".join(sentences), trust_level=TrustLevel.VERIFIED,
            score=chance.randint(20, 100), formats=("adp",) if number % 4 else ("mcp",), auth_type=auth,
            pricing_type=pricing, protocols=("http",), capabilities=self._capabilities(trade),
        )  # fmt: skip

    def _capabilities(self, trade: Trade) -> tuple[ListedCapability, ...]:
        chance, capabilities = self._chance, {}
        for _ in range(min(12, 1 + int(chance.expovariate(0.7)))):
            name = f"{chance.choice(trade[2])}_{chance.choice(trade[1])}"
            capabilities[name] = ListedCapability(
                name, self._fill(chance.choice(_DESCRIPTIONS), trade), chance.random() < 0.3
            )
        return tuple(capabilities.values())

    def _fill(self, pattern: str, trade: Trade) -> str:
        chance, (named, things, deeds) = self._chance, trade
        quality = chance.choice(_QUALITIES)
        return pattern.format(
            trade=named, thing=chance.choice(things), thing2=chance.choice(things), deed=chance.choice(deeds),
            deed2=chance.choice(deeds), people=chance.choice(_AUDIENCES), quality=quality, Quality=quality.capitalize(),
            place=self._word().title(),
        )  # fmt: skip

    def _word(self) -> str:
        """Return a place or brand, one of 400,000; the r-th occurs with a frequency proportional to 1/r."""
        return _spelt(int(exp(self._chance.random() * log(400_000))))


@lru_cache(maxsize=400_000)
def _spelt(rank: int) -> str:
    chance = random.Random(rank)
    return "".join(
        chance.choice(_START) + chance.choice(_MIDDLE) + chance.choice(_END)
        for _ in range(1 + (rank > 50) + (rank > 5_000))
    )
