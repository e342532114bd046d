"""What was seen in a document, as codes. Sentences, points, remedies and references live in scoring/rubric.py."""

from dataclasses import dataclass
from enum import StrEnum

EVIDENCE_CHARS = 200


class Severity(StrEnum):
    """How a finding is graded (formats.md section 0): error drops the part, warning deviates, info is a note."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Reason(StrEnum):
    """One code per rule; grouped by the format whose specification makes the rule. Each has a row in RUBRIC."""

    # --- bytes: why a body was not read (reader.py)
    NOT_UTF8 = "document.encoding"
    EMPTY = "document.empty"
    NOT_JSON = "document.not_json"
    TRUNCATED = "document.truncated"
    COMMENT = "document.comment"
    TRAILING_COMMA = "document.trailing_comma"
    DUPLICATE_KEY = "document.duplicate_key"
    FRONT_MATTER = "document.front_matter"
    TOO_LARGE = "document.too_large"
    TOO_DEEP = "document.depth"
    TOO_MANY = "document.too_many"
    TEXT_TOO_LONG = "document.text_too_long"
    NUMBER = "document.number"
    NUL = "document.nul"

    # --- recognition: read, and what became of it (assess.py)
    BYTE_ORDER_MARK = "document.byte_order_mark"
    HTML = "document.html"
    TEXT = "document.text"
    NOT_AN_OBJECT = "document.not_an_object"
    UNRECOGNISED = "document.unrecognised"
    FOREIGN = "document.foreign"
    STATED_ABSENCE = "document.stated_absence"
    CONTENT_TYPE = "document.content_type"
    HTML_TYPE = "document.html_type"

    # --- every format (manifest.py)
    TEMPLATE = "manifest.template"
    DUPLICATE_ID = "manifest.duplicate_id"
    TOO_MANY_CAPABILITIES = "manifest.too_many_capabilities"
    CLAIM_ELSEWHERE = "manifest.claim_elsewhere"
    DECLARED_INACTIVE = "manifest.declared_inactive"
    ENDPOINT_NOT_PUBLIC = "endpoint.not_public"
    ENDPOINT_INVALID = "endpoint.invalid"
    ENDPOINT_TEMPLATED = "endpoint.templated"

    # --- awp

    # --- atp

    # --- woa

    # --- awas

    # --- adp

    # --- adp-detail

    # --- several documents of one host (merge.py)
    CONFLICT_NAME = "conflict.name"
    CONFLICT_AUTH = "conflict.auth"
    CONFLICT_PRICING = "conflict.pricing"
    ENDPOINT_OFF_SITE = "endpoint.off_site"
    ADP_DETAIL_UNANSWERED = "adp.detail_unanswered"

    # --- the merged service: what nobody said (scoring/checks.py)
    SERVICE_UNNAMED = "service.unnamed"
    SERVICE_UNDESCRIBED = "service.undescribed"
    SERVICE_WITHOUT_CAPABILITIES = "service.without_capabilities"
    SERVICE_AUTH_UNKNOWN = "service.auth_unknown"
    SERVICE_PRICING_UNKNOWN = "service.pricing_unknown"
    SERVICE_RATE_LIMIT_UNKNOWN = "service.rate_limit_unknown"
    SERVICE_UNVERSIONED = "service.unversioned"
    SERVICE_WITHOUT_TERMS = "service.without_terms"
    SERVICE_PROVIDER_UNKNOWN = "service.provider_unknown"
    SERVICE_WITHOUT_CONTACT = "service.without_contact"
    SERVICE_SYNTHETIC = "service.synthetic"
    CAPABILITY_UNDESCRIBED = "capability.undescribed"
    CAPABILITY_WITHOUT_PARAMS = "capability.without_params"
    CAPABILITY_WITHOUT_RESULT = "capability.without_result"
    CAPABILITY_UNREACHABLE = "capability.unreachable"
    CAPABILITY_SIDE_EFFECTS_UNKNOWN = "capability.side_effects_unknown"
    CAPABILITY_UNCONFIRMED = "capability.unconfirmed"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was seen and where; never a sentence.

    `pointer` is a JSON Pointer (RFC 6901), "" for the whole document. `evidence` is the offending value as short
    text (at most EVIDENCE_CHARS characters), "" where the absence itself is the evidence.
    """

    reason: Reason
    pointer: str = ""
    evidence: str = ""
