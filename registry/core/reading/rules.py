"""Rules about bytes that cannot be read as a document."""

from registry.core.model.findings import CONFORMANCE, ERROR, INFO, OPERABILITY, Rule

# fmt: off

NOT_UTF8 = Rule(
    "document.encoding", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 8.1",
    says="The body is not UTF-8.",
    fix="Save the file as UTF-8 without a byte order mark.",
)
EMPTY = Rule(
    "document.empty", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 2",
    says="The body is empty.",
    fix="Publish the manifest, or answer 404.",
)
NOT_JSON = Rule(
    "document.not_json", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 2",
    says="The body is not JSON.",
    fix="Run the file through a JSON validator before publishing it.",
)
TRUNCATED = Rule(
    "document.truncated", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 2",
    says="The JSON is truncated.",
    fix="Publish the whole file; check its length and the generator that writes it.",
)
COMMENT = Rule(
    "document.comment", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 2",
    says="The document contains comments, which JSON does not allow.",
    fix="Remove the comments.",
)
TRAILING_COMMA = Rule(
    "document.trailing_comma", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 4",
    says="There is a comma before a closing bracket.",
    fix="Remove the comma.",
)
DUPLICATE_KEY = Rule(
    "document.duplicate_key", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 4",
    says="An object names the same key twice; readers disagree about which one counts.",
    fix="Keep one of the two members.",
)
FRONT_MATTER = Rule(
    "document.front_matter", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 2",
    says="The file starts with front matter: the site generator never rendered it.",
    fix="Let the site generator process the file, or remove the block between the --- lines.",
)
TOO_LARGE = Rule(
    "document.too_large", ERROR, points=0, section=OPERABILITY, spec="RFC 8259 section 9",
    says="The document is larger than any manifest may be.",
    fix="Split the document; link to details instead of holding them.",
)
TOO_DEEP = Rule(
    "document.depth", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 9",
    says="Values are nested deeper than any reader follows.",
    fix="Flatten the document.",
)
TOO_MANY = Rule(
    "document.too_many", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 9",
    says="The document has more members and items than any manifest may have.",
    fix="Split the document.",
)
TEXT_TOO_LONG = Rule(
    "document.text_too_long", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 9",
    says="A text is longer than 100,000 characters.",
    fix="Link to long texts instead of including them.",
)
CUT = Rule(
    "document.cut", INFO, points=0, section=OPERABILITY, spec="RFC 8259 section 9",
    says="A part of the document is beyond a limit of this registry and is not read whole.",
    fix="Shorten the part, or split the document.",
)
NUMBER = Rule(
    "document.number", INFO, points=0, section=CONFORMANCE, spec="RFC 8259 section 6",
    says="A number is outside the range that readers agree on; it is read as a text, or left out.",
    fix="Write integers beyond 2^53 as strings.",
)
NUL = Rule(
    "document.nul", ERROR, points=0, section=CONFORMANCE, spec="RFC 8259 section 7",
    says="A text contains the NUL character.",
    fix="Remove the character U+0000.",
)
NOT_YAML = Rule(
    "document.not_yaml", ERROR, points=0, section=CONFORMANCE, spec="OpenAPI 3.1 section 4.3; YAML 1.2 section 10.2",
    says="The body is not YAML that JSON can express.",
    fix="Run the file through a YAML 1.2 validator; write no tags, and texts as keys.",
)
YAML_ALIASES = Rule(
    "document.yaml_aliases", ERROR, points=0, section=CONFORMANCE, spec="YAML 1.2 section 7.1",
    says="The YAML has a circular alias, or one without its anchor.",
    fix="Write out what the alias stands for.",
)
