"""Find the particulars of a question: names of places and people, numbers, amounts, dates, target languages.

They say where, when and how much, not what is wanted. A weather service does not list all towns, so a town that it does
not name is no reason to doubt it. Places and languages are known by name, proper names by their capital letter.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

_DATES = """
january february march april june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
today tomorrow tonight yesterday noon midnight weekend
"""

_PERIODS = """
hour day week weekend month year quarter night morning afternoon evening spring summer autumn winter hours days weeks
months years nights
"""

_NUMBER_WORDS = """
two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty sixty hundred hundreds
thousand thousands million dozen couple
"""

_UNITS = """
dollar dollars euro euros pound pounds yen yuan rupee rupees franc francs krona kronor crowns cents usd eur gbp chf
jpy cny inr aud cad sek nok dkk pln am pm
kg kilo kilos kilogram kilograms g gram grams lb lbs oz ounce ounces ton tons tonne tonnes km kilometre kilometres
kilometer kilometers mile miles m metre metres meter meters cm mm inch inches foot feet litre litres liter liters
gallon gallons minute minutes min mins second seconds people person persons guests adults percent times
"""

_LANGUAGES = """
afrikaans albanian amharic arabic armenian azerbaijani basque bengali bosnian brazilian bulgarian burmese cantonese
catalan chinese croatian czech danish dutch english estonian farsi finnish flemish french galician georgian german
greek gujarati hausa hebrew hindi hungarian icelandic igbo indonesian irish italian japanese kazakh khmer korean
kurdish lao latin latvian lithuanian macedonian malay maltese mandarin marathi mongolian nepali norwegian pashto
persian polish portuguese punjabi romanian russian serbian sinhala slovak slovenian somali spanish swahili swedish
tagalog tamil telugu thai tibetan turkish ukrainian urdu uzbek vietnamese welsh xhosa yiddish yoruba zulu
"""

_PLACES = """
afghanistan albania algeria andorra angola argentina armenia aruba australia austria azerbaijan bahamas bahrain
bangladesh barbados belarus belgium belize benin bermuda bhutan bolivia bosnia botswana brazil brunei bulgaria burundi
cambodia cameroon canada chad chile china colombia congo croatia cuba cyprus czechia denmark djibouti dominica ecuador
egypt england eritrea estonia eswatini ethiopia fiji finland france gabon gambia georgia germany ghana greece
greenland grenada guatemala guinea guyana haiti honduras hungary iceland india indonesia iran iraq ireland israel
italy jamaica japan jordan kazakhstan kenya kosovo kuwait kyrgyzstan laos latvia lebanon lesotho liberia libya
liechtenstein lithuania luxembourg madagascar malawi malaysia maldives mali malta mauritania mauritius mexico moldova
monaco mongolia montenegro morocco mozambique myanmar namibia nepal netherlands holland nicaragua niger nigeria norway
oman pakistan palestine panama paraguay peru philippines poland portugal qatar romania russia rwanda samoa scotland
senegal serbia seychelles singapore slovakia slovenia somalia spain sudan suriname sweden switzerland syria taiwan
tajikistan tanzania thailand togo tonga tunisia turkmenistan uganda ukraine uruguay uzbekistan vanuatu vatican
venezuela vietnam wales yemen zambia zimbabwe europe africa asia america usa uk uae eu scandinavia caribbean

alabama alaska arizona arkansas california colorado connecticut delaware florida hawaii idaho illinois indiana iowa
kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi missouri montana nebraska nevada
ohio oklahoma oregon pennsylvania tennessee texas utah vermont virginia wisconsin wyoming ontario quebec manitoba
alberta bavaria saxony tuscany sicily sardinia lombardy andalusia catalonia provence brittany normandy crete corsica
bali java queensland tasmania

aachen aberdeen accra adelaide albuquerque alexandria algiers amman amsterdam anchorage ankara antalya antwerp athens
atlanta auckland austin baghdad baku baltimore bamako bangalore bangkok barcelona basel beijing beirut belfast
belgrade bengaluru bergen berlin bern bilbao birmingham bogota bologna bonn bordeaux boston brasilia bratislava bremen
brisbane bristol brooklyn bruges brussels bucharest budapest busan cairo calgary cambridge canberra caracas cardiff
casablanca charlotte chennai chicago cincinnati cleveland cologne colombo columbus copenhagen dakar dallas damascus
delhi denver detroit dhaka doha dortmund dresden dubai dublin durban dusseldorf edinburgh edmonton eindhoven essen
florence fortaleza frankfurt freiburg fukuoka gdansk geneva genoa ghent glasgow gothenburg granada graz grenoble
guadalajara guangzhou hague haifa hamburg hanoi hanover harare havana heidelberg helsinki hiroshima honolulu houston
hyderabad indianapolis innsbruck istanbul izmir jakarta jeddah jerusalem johannesburg kabul kampala karachi kathmandu
kazan khartoum kiev kinshasa kolkata krakow kyiv kyoto lagos lahore lausanne leeds leicester leipzig lille lima
limassol linz lisbon liverpool ljubljana london luanda lucerne lusaka lviv lyon macau madrid malaga malmo managua
manchester manhattan manila maputo marrakech marrakesh marseille medellin melbourne memphis miami milan milwaukee
minneapolis minsk mombasa monterrey montevideo montreal moscow mumbai munich muscat nagoya nairobi naples nashville
newcastle nicosia nottingham nuremberg oakland odesa omaha osaka oslo ottawa oxford palermo paris perth philadelphia
pittsburgh plymouth porto portland prague pretoria pune quito reykjavik riga rome rotterdam sacramento salzburg
santiago sapporo sarajevo seattle seoul seville shanghai sheffield shenzhen singapore skopje sofia southampton
stavanger stockholm strasbourg stuttgart sydney taipei tallinn tampa tbilisi tehran thessaloniki tirana tokyo toronto
toulouse trondheim tunis turin utrecht valencia vancouver venice verona vienna vilnius warsaw washington wellington
winnipeg wuhan yokohama york zagreb zaragoza zurich
"""

_LONG_PLACES = """
abu_dhabi addis_ababa baton_rouge buenos_aires cape_town cape_verde costa_rica czech_republic
dominican_republic el_salvador great_britain ho_chi_minh_city hong_kong ivory_coast kuala_lumpur las_vegas
los_angeles mexico_city new_delhi new_hampshire new_jersey new_mexico new_orleans new_york new_york_city
new_zealand north_america north_carolina north_dakota north_korea northern_ireland phnom_penh puerto_rico
rio_de_janeiro salt_lake_city san_antonio san_diego san_francisco san_jose san_juan santa_barbara
santo_domingo sao_paulo saudi_arabia sierra_leone south_africa south_america south_carolina south_dakota
south_korea sri_lanka st_louis st_petersburg tel_aviv united_arab_emirates united_kingdom united_states
washington_dc west_virginia
"""
"""Countries, large regions and well-known cities. Names that are also common words (Nice, Reading, Turkey, Orange) are
left out: with a capital letter they are proper names."""

_DATE_WORDS: Final = frozenset(_DATES.split())
_PERIOD_WORDS: Final = frozenset(_PERIODS.split())
_NUMBERS: Final = frozenset(_NUMBER_WORDS.split())
_AFTER_NUMBER: Final = _PERIOD_WORDS.union(_UNITS.split())
_LANGUAGE_NAMES: Final = frozenset(_LANGUAGES.split())
_ONE_WORD_PLACES: Final = frozenset(_PLACES.split())
_OTHER_PLACES: Final = frozenset(name.replace("_", " ") for name in _LONG_PLACES.split())
_FIRST_OF_OTHERS: Final = frozenset(name.partition(" ")[0] for name in _OTHER_PLACES)

_WHICH: Final = frozenset(["next", "last", "past", "coming", "this", "every", "each", "per"])
_BEFORE_LANGUAGE: Final = frozenset(["in", "into", "to", "from"])
_TITLES: Final = frozenset(["mr", "mrs", "ms", "miss", "dr", "prof", "professor"])
_NUMBER: Final = re.compile(
    r"\d+(?:st|nd|rd|th|kg|lbs?|oz|km|mi|cm|mm|ml|hrs?|h|mins?|min|sec|am|pm|[kmgt]b|px|eur|usd|gbp)?"
)
_ADDRESS: Final = re.compile(r"[^\s@]{1,64}@[^\s@]{1,255}|[a-z][a-z0-9+.-]{0,20}://\S{1,400}")
"""An e-mail address or a URL."""
_MAX_PLACE_WORDS: Final = 4
_WORD: Final = re.compile(r"[^\W_]+(?:'[^\W\d_]+)?")
_STOPS: Final = frozenset(".?!:")
_PROPER: Final = re.compile(r"[^\W\d_](?:[^\W\d_]|')*[a-z](?:[^\W\d_]|')*")
_MOST_CAPITALS: Final = 0.6
"""Share of capitalised words from which on capitals say nothing: a heading."""


TOWN: Final = "city"
_LANGUAGE: Final = "language"
_TOWNS: Final = re.compile(rf"\b{TOWN}(?:\s+{TOWN})+\b")


class Particulars(NamedTuple):
    """Words in lower case. `kinds`: particulars -> the word for their kind, "" if none helps. `proper`: words with a
    capital letter; they are particulars unless services use them, as the names of products are used."""

    kinds: Mapping[str, str]
    proper: frozenset[str]


NO_PARTICULARS: Final = Particulars({}, frozenset())


@lru_cache(maxsize=1_000)
def find_particulars(text: str) -> Particulars:
    """Return the particulars of a visible text with ASCII marks."""
    matches = list(_WORD.finditer(text))
    words = [match.group().removesuffix("'s").lower() for match in matches]
    kinds = dict.fromkeys(_places(words), TOWN)
    addresses = [match.span() for match in _ADDRESS.finditer(text)]
    kinds |= {
        place: ""
        for place, match in enumerate(matches)
        if any(start <= match.start() < end for start, end in addresses)
    }
    for place, word in enumerate(words):
        before = words[place - 1] if place else ""
        is_period = word in _PERIOD_WORDS and (before in _WHICH or before in _DATE_WORDS)
        if _is_number(word) or word in _DATE_WORDS or is_period or (word in _AFTER_NUMBER and _is_number(before)):
            kinds[place] = ""
        if before in _WHICH and (is_period or word in _DATE_WORDS):
            kinds[place - 1] = ""
        if word in _LANGUAGE_NAMES and before in _BEFORE_LANGUAGE:
            kinds[place] = _LANGUAGE
        if before in _TITLES:
            kinds |= {place - 1: "", place: ""}
    proper = frozenset(words[place] for place in _capitalised(text, matches) if place not in kinds)
    return Particulars({words[place]: kind for place, kind in kinds.items()}, proper)


def with_kinds(text: str, kinds: Mapping[str, str]) -> str:
    """Return the text with its particulars replaced by their kinds, unless no word remains."""
    if not kinds:
        return text
    replaced = _WORD.sub(lambda word: kinds.get(word.group().removesuffix("'s").lower(), word.group()), text)
    replaced = _TOWNS.sub(TOWN, replaced)
    return replaced if _WORD.search(replaced) else text


def _is_number(word: str) -> bool:
    return word in _NUMBERS or _NUMBER.fullmatch(word) is not None


def _places(words: list[str]) -> set[int]:
    found = {place for place, word in enumerate(words) if word in _ONE_WORD_PLACES}
    for place in [place for place, word in enumerate(words) if word in _FIRST_OF_OTHERS]:
        for end in range(place + 2, min(place + _MAX_PLACE_WORDS, len(words)) + 1):
            if " ".join(words[place:end]) in _OTHER_PLACES:
                found.update(range(place, end))
    return found


def _capitalised(text: str, matches: list[re.Match[str]]) -> list[int]:
    """Return the positions of words that begin with a capital letter inside a sentence; none of a heading."""
    capitals = [match.group()[0].isupper() for match in matches]
    if sum(capitals) > _MOST_CAPITALS * len(matches):
        return []
    return [
        place
        for place, match in enumerate(matches)
        if place
        and capitals[place]
        and _PROPER.fullmatch(match.group())
        and _STOPS.isdisjoint(text[matches[place - 1].end() : match.start()].rstrip(" "))
    ]
