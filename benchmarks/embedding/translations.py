"""Short texts in English and ten other languages, from the translations of openly licensed programs and dictionaries.

`language_sources.json` names the sources; each is unpacked in a folder of its name, a repository as `git archive` of
its commit. Nothing of them is in the package but numbers fitted on them, single words and parts of words.
"""

import json
import re
import struct
import xml.etree.ElementTree as ET
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import yaml  # type: ignore[import-untyped]  # the package ships no types

LANGUAGES: Final = ("de", "fr", "es", "pt", "it", "nl", "pl", "ja", "zh", "ar")
DICTIONARY: Final = "wordnet"

_CHARS, _WORDS = 240, 25  # longer texts are left out: they are explanations, not names


class Pair(NamedTuple):
    english: str
    foreign: str
    source: str


Reader = Callable[[Path, str], Iterator[tuple[str, str]]]

_MARKUP: Final = re.compile(
    r"<[^>]{1,200}>|\[%key:[^\]]*%\]|%\([A-Za-z_.]+\)[sd]|%[sd]|%\d+\$s|\{\{[^}]*\}\}|\{[^{}]*\}|https?://\S+|&[a-z]+;|\*\*|`"
)


def translations(root: Path, language: str) -> list[Pair]:
    """Return the distinct pairs of one language, in the order of the sources."""
    found: dict[tuple[str, str], Pair] = {}
    for source, reader in READERS.items():
        for english, foreign in reader(root, language):
            pair = Pair(_clean(english), _clean(foreign), source)
            if _is_useful(pair):
                found.setdefault(pair[:2], pair)
    return list(found.values())


def _clean(text: str) -> str:
    text = text.replace("\\n", " ")
    if "|" in text or ("{" in text and (" plural" in text or "select" in text)):
        return ""
    return " ".join(_MARKUP.sub(" ", text).split()).strip(' :.-*"')


def _is_useful(pair: Pair) -> bool:
    english, foreign, _ = pair
    return (
        0 < len(english) <= _CHARS - 40
        and 0 < len(foreign) <= _CHARS
        and english.lower() != foreign.lower()
        and len(english.split()) <= _WORDS
        and re.search(r"[A-Za-z]{2}", english) is not None
        and re.search(r"[^\W\d_]", foreign) is not None
    )


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _leaves(inner, f"{path}{key}.")
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, f"{path}{place}.")
    elif isinstance(value, str):
        yield path, value


def _same_places(english: Any, foreign: Any) -> Iterator[tuple[str, str]]:
    """Yield the texts at the same place of two trees."""
    known = dict(_leaves(english))
    yield from ((known[path], text) for path, text in _leaves(foreign) if path in known)


def _json(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def _codes(language: str, **others: str) -> list[str]:
    """Return the names that a source has for a language."""
    return others.get(language, language).split()


def _files(folder: Path, pattern: str) -> list[Path]:
    return sorted(folder.glob(pattern))


def _map_features(root: Path, language: str) -> Iterator[tuple[str, str]]:
    folder = root / "osm" / "dist" / "translations"
    code = _codes(language, zh="zh-CN")[0]
    english, foreign = (_json(folder / f"{name}.json")[name]["presets"] for name in ("en", code))
    for key, preset in foreign["presets"].items():
        name = english["presets"].get(key, {}).get("name")
        if name and "name" in preset:
            yield name, preset["name"]
            yield from ((name, term) for term in re.split("[,،、]", preset.get("terms", ""))[:12])
    yield from _same_places([english["fields"], english["categories"]], [foreign["fields"], foreign["categories"]])


def _pictures(root: Path, language: str) -> Iterator[tuple[str, str]]:
    for source, part in (("cldr-annotations", "annotations"), ("cldr-annotations-derived", "annotationsDerived")):
        english, foreign = (
            _json(root / source / part / name / "annotations.json")[part]["annotations"] for name in ("en", language)
        )
        for sign, said in foreign.items():
            if sign not in english or (part != "annotations" and re.search("[\U0001f3fb-\U0001f3ff]", sign)):
                continue
            if "tts" in said and "tts" in english[sign]:
                yield english[sign]["tts"][0], said["tts"][0]
            if part == "annotations" and "default" in said and "default" in english[sign]:
                yield ", ".join(english[sign]["default"][:20]), ", ".join(said["default"][:20])
    for part in ("languages", "territories"):
        trees = [_json(root / "cldr-localenames" / "main" / name / f"{part}.json") for name in ("en", language)]
        yield from _same_places(*(next(iter(tree["main"].values())) for tree in trees))


def _home_front(root: Path, language: str) -> Iterator[tuple[str, str]]:
    code = _codes(language, zh="zh-Hans")[0]
    top = root / "home-assistant-frontend" / "hass_frontend" / "static" / "translations"
    for folder in (top, *sorted(path for path in top.iterdir() if path.is_dir())):
        found = [
            [path for path in _files(folder, f"{name}-*.json") if re.fullmatch(rf"{name}-[0-9a-f]{{32}}", path.stem)]
            for name in ("en", code)
        ]
        if all(found):
            yield from _same_places(_json(found[0][0]), _json(found[1][0]))


def _home(root: Path, language: str) -> Iterator[tuple[str, str]]:
    for code in _codes(language, zh="zh-Hans", pt="pt pt-BR"):
        for path in _files(root / "homeassistant" / "homeassistant" / "components", f"*/translations/{code}.json"):
            yield from _same_places(_json(path.with_name("en.json")), _json(path))


_ENTRY: Final = re.compile(r'^(msgid|msgstr(?:\[0\])?) ((?:".*"\s*\n?)+)', re.MULTILINE)
_QUOTED: Final = re.compile(r'"((?:[^"\\]|\\.)*)"')


def _gettext(source: str) -> Reader:
    def read(root: Path, language: str) -> Iterator[tuple[str, str]]:
        for code in _codes(language, zh="zh_Hans zh_CN zh", pt="pt pt_BR"):
            for path in _files(root / source, f"**/{code}/LC_MESSAGES/*.po"):
                for entry in re.split(r"\n\s*\n", path.read_text("utf-8")):
                    texts = {
                        kind[:6]: "".join(_QUOTED.findall(text)).replace('\\"', '"')
                        for kind, text in _ENTRY.findall(entry)
                    }
                    if "fuzzy" not in entry and texts.get("msgid"):
                        yield texts["msgid"], texts.get("msgstr", "")

    return read


def _trees(source: str, place: str, english: str, **codes: str) -> Reader:
    """Return a reader of JSON files, one per language; `place` has `%s` for the name of the language."""

    def read(root: Path, language: str) -> Iterator[tuple[str, str]]:
        for code in _codes(language, **codes):
            yield from _same_places(_json(root / source / (place % english)), _json(root / source / (place % code)))

    return read


def _beside(source: str, english: str, foreign: str, parse: Callable[[str], Any], **codes: str) -> Reader:
    """Return a reader of files whose path names the language; `%s` in `foreign` is its name."""

    def read(root: Path, language: str) -> Iterator[tuple[str, str]]:
        for code in _codes(language, **codes):
            mark = foreign % code
            for path in _files(root / source, "**/*"):
                other = Path(str(path).replace(mark, english))
                if mark in str(path) and path.is_file() and other.is_file():
                    yield from _same_places(parse(other.read_text("utf-8")), parse(path.read_text("utf-8")))

    return read


def _android(text: str) -> dict[str, str]:
    try:
        root = ET.fromstring(text)
    except ET.ParseError:
        return {}
    found = {}
    for element in root:
        items = list(element) if element.tag in ("string-array", "plurals") else [element]
        for place, item in enumerate(items):
            written = "".join(item.itertext()).replace("\\'", "'").replace('\\"', '"')
            found[f"{element.get('name')} {item.get('quantity') or place}"] = written.strip('"')
    return found


_PHP_TEXT: Final = re.compile(r"""'([^']+)'\s*=>\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"),?""")


def _php(text: str) -> dict[str, str]:
    found: dict[str, str] = {}
    path: list[str] = []
    for line in map(str.strip, text.split("\n")):
        if opened := re.fullmatch(r"'([^']+)'\s*=>\s*\[", line):
            path.append(opened[1])
        elif line in ("]", "],", "];"):
            del path[-1:]
        elif text_found := _PHP_TEXT.fullmatch(line):
            written = (text_found[2] or text_found[3] or "").replace("\\'", "'")
            found[".".join([*path, text_found[1]])] = re.sub(r":[a-z_]+", " ", written)
    return found


def _yaml(text: str) -> Any:
    return yaml.safe_load(text) or {}


_SCRIPT_TEXT: Final = re.compile(r"""^\s*['"]?([A-Za-z0-9_-]+)['"]?: ['"](.*)['"],?$""", re.MULTILINE)


def _script(text: str) -> dict[str, str]:
    return {f"{key} {place}": said for place, (key, said) in enumerate(_SCRIPT_TEXT.findall(text))}


def _office(root: Path, language: str) -> Iterator[tuple[str, str]]:
    code = _codes(language, zh="zh_CN")[0]
    folder = root / "libreoffice" / "usr" / "lib" / "libreoffice" / "program" / "resource" / code / "LC_MESSAGES"
    for path in _files(folder, "*.mo"):
        raw = path.read_bytes()
        total, originals, translated = struct.unpack_from("<3I", raw, 8)
        for entry in range(total):
            english, foreign = (_moved(raw, table + 8 * entry) for table in (originals, translated))
            yield re.sub("[~_]", "", english.split("\x04")[-1]), re.sub(r"[~_]|\([~_]?[A-Z]\)", "", foreign)


def _moved(raw: bytes, place: int) -> str:
    length, start = struct.unpack_from("<2I", raw, place)
    return raw[start : start + length].decode().split("\0")[0]


_XML_LANG: Final = "{http://www.w3.org/XML/1998/namespace}lang"


def _labels(source: str) -> Reader:
    def read(root: Path, language: str) -> Iterator[tuple[str, str]]:
        for path in _files(root / source, "**/*Labels*.xml"):
            try:
                tree = ET.fromstring(path.read_text("utf-8"))
            except ET.ParseError:
                continue
            for label in tree.iter("property"):
                said = {value.get(_XML_LANG): (value.text or "").replace("${", "{") for value in label.iter("value")}
                for code in _codes(language, zh="zh zh-CN zh_CN", pt="pt pt-BR pt-PT"):
                    if "en" in said and code in said:
                        yield said["en"], said[code]

    return read


_WORDNETS: Final = {"fr": "fra/wn-data-fra", "it": "ita/wn-data-ita", "pl": "pol/wn-data-pol", "zh": "cow/wn-data-cmn"}


def _wordnet(root: Path, language: str) -> Iterator[tuple[str, str]]:
    if language not in _WORDNETS:
        return
    english: dict[str, list[str]] = {}
    for part in ("noun", "verb", "adj", "adv"):
        for line in (root / "wordnet" / "usr" / "share" / "wordnet" / f"data.{part}").open(encoding="latin-1"):
            if not line.startswith("  "):
                fields = line.split(" ")
                lemmas = [fields[4 + 2 * place] for place in range(int(fields[3], 16))]
                kind = "a" if fields[2] == "s" else fields[2]
                english[f"{fields[0]}-{kind}"] = [re.sub(r"\(.*\)", "", one).replace("_", " ") for one in lemmas]
    foreign: dict[str, list[str]] = defaultdict(list)
    for line in (root / "omw" / "wns" / f"{_WORDNETS[language]}.tab").open(encoding="utf-8"):
        columns = line.rstrip("\n").split("\t")
        if len(columns) >= 3 and columns[1].endswith("lemma"):
            foreign[columns[0]].append(columns[2].replace("_", " ").replace("+", ""))
    for sense, words in foreign.items():
        if same := [word for word in english.get(sense, []) if word.islower()][:4]:
            yield from ((", ".join(same), word) for word in words[:5])


_BRAZIL: Final = {"zh": "zh-CN zh", "pt": "pt-BR pt pt-PT"}
_ANDROID: Final = {"zh": "zh-rCN zh", "pt": "pt-rPT pt-rBR pt"}

READERS: Final[dict[str, Reader]] = {
    "osm": _map_features,
    "cldr": _pictures,
    "home-assistant-frontend": _home_front,
    "homeassistant": _home,
    **{name: _gettext(name) for name in ("apache-superset", "django", "django-allauth", "django-oscar", "wagtail")},
    "medusa": _trees("medusa", "src/i18n/translations/%s.json", "en", zh="zhCN", pt="ptBR"),
    "sylius": _beside(
        "sylius", ".en.yml", ".%s.yml", _yaml,
        zh="zh_CN", pt="pt pt_BR", es="es es_ES", pl="pl pl_PL", nl="nl nl_NL",
    ),
    **{
        name: _beside(name, "/values/", "/values-%s/", _android, **_ANDROID)
        for name in ("aosp-email", "aosp-contacts", "aosp-calendar", "thunderbird", "wikipedia-app")
    },
    "bagisto": _beside("bagisto", "lang/en/", "lang/%s/", _php, zh="zh_CN", pt="pt_BR"),
    "rocketchat": _trees("rocketchat", "app/i18n/locales/%s.json", "en", **_BRAZIL),
    "mattermost": _trees("mattermost", "assets/base/i18n/%s.json", "en", **_BRAZIL),
    "openfoodfacts": _trees("openfoodfacts", "packages/smooth_app/lib/l10n/app_%s.arb", "en", **_BRAZIL),
    "lighthouse": _trees("lighthouse", "shared/localization/locales/%s.json", "en-US", pt="pt pt-PT"),
    "payload": _beside("payload", "languages/en.js", "languages/%s.js", _script),
    "libreoffice": _office,
    "mifos": _trees(
        "mifos", "src/assets/translations/%s.json", "en-US",
        de="de-DE", fr="fr-FR", es="es-MX", it="it-IT", pt="pt-PT",
    ),
    **{name: _labels(name) for name in ("ofbiz-plugins", "ofbiz")},
    DICTIONARY: _wordnet,
}  # fmt: skip
"""The sources, in the order in which a pair is attributed to the first that has it."""
