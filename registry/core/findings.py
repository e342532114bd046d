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
    NOT_YAML = "document.not_yaml"
    YAML_ALIASES = "document.yaml_aliases"

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
    AWP_VERSION = "awp.version"
    AWP_DOMAIN = "awp.domain"
    AWP_INTENT = "awp.intent"
    AWP_ACTIONS = "awp.actions"
    AWP_ACTION = "awp.action"
    AWP_ACTION_ID = "awp.action_id"
    AWP_ACTION_CALL = "awp.action_call"
    AWP_VIA_UNKNOWN = "awp.via_unknown"
    AWP_VIA_WITHOUT_ENDPOINT = "awp.via_without_endpoint"
    AWP_VERSION_UNKNOWN = "awp.version_unknown"
    AWP_PATH = "awp.path"
    AWP_LEGACY = "awp.legacy"
    AWP_NO_ACTIONS = "awp.no_actions"
    AWP_ACTION_DESCRIPTION = "awp.action_description"
    AWP_ACTION_INPUTS = "awp.action_inputs"
    AWP_ACTION_OUTPUTS = "awp.action_outputs"
    AWP_ACTION_AUTH = "awp.action_auth"
    AWP_METHOD = "awp.method"
    AWP_PROTOCOL_VERSION = "awp.protocol_version"
    AWP_DEPENDENCY_UNKNOWN = "awp.dependency_unknown"
    AWP_ALIAS = "awp.alias"
    AWP_VERSION_FORM = "awp.version_form"
    AWP_MEMBER_TYPE = "awp.member_type"
    AWP_WORD = "awp.word"
    AWP_PROTOCOL_ID = "awp.protocol_id"
    AWP_PROTOCOL_ENDPOINT = "awp.protocol_endpoint"
    AWP_ACTION_UNKNOWN = "awp.action_unknown"
    AWP_ENTITY_UNKNOWN = "awp.entity_unknown"
    AWP_TYPE_UNKNOWN = "awp.type_unknown"
    AWP_INPUT_TYPE = "awp.input_type"
    AWP_OPTIONS = "awp.options"
    AWP_SENSITIVITY = "awp.sensitivity"
    AWP_NO_ERRORS = "awp.no_errors"
    AWP_RECOVERY = "awp.recovery"
    AWP_DEPENDENCY_CYCLE = "awp.dependency_cycle"
    AWP_SYNTHETIC_ORIGIN = "awp.synthetic_origin"

    # --- atp
    ATP_HTTP = "atp.http"
    ATP_REQUIRED = "atp.required"
    ATP_CAPABILITIES = "atp.capabilities"
    ATP_CAPABILITY = "atp.capability"
    ATP_CAPABILITY_REQUIRED = "atp.capability_required"
    ATP_CONTEXT = "atp.context"
    ATP_SEMVER = "atp.semver"
    ATP_ID = "atp.id"
    ATP_SEMANTIC_TYPE = "atp.semantic_type"
    ATP_PROVIDER = "atp.provider"
    ATP_PARAMETER = "atp.parameter"
    ATP_METHOD = "atp.method"
    ATP_SIDE_EFFECTS = "atp.side_effects"
    ATP_CONFIRMATION = "atp.confirmation"
    ATP_WORKFLOW_STEP = "atp.workflow_step"
    ATP_REFERENCE = "atp.reference"
    ATP_SIZE = "atp.size"
    ATP_CORS = "atp.cors"
    ATP_LAX = "atp.lax"
    ATP_PATH = "atp.path"
    ATP_MEMBER_TYPE = "atp.member_type"
    ATP_WORD = "atp.word"
    ATP_ADDRESS = "atp.address"
    ATP_CACHING = "atp.caching"
    ATP_MAX_AGE = "atp.max_age"
    ATP_ETAG = "atp.etag"
    ATP_OAUTH = "atp.oauth"
    ATP_NO_OAUTH = "atp.no_oauth"
    ATP_NO_USER_FLOW = "atp.no_user_flow"
    ATP_API_KEY = "atp.api_key"
    ATP_IDENTITY = "atp.identity"
    ATP_WINDOW = "atp.window"
    ATP_PARAMETER_TEXT = "atp.parameter_text"
    ATP_CONSTRAINT = "atp.constraint"
    ATP_SCHEMA = "atp.schema"
    ATP_WORKFLOW = "atp.workflow"
    ATP_WORKFLOW_BRANCH = "atp.workflow_branch"
    ATP_TERMS = "atp.terms"

    # --- woa
    WOA_VERSION = "woa.version"
    WOA_AGENTS = "woa.agents"
    WOA_AGENT = "woa.agent"
    WOA_AGENT_ID = "woa.agent_id"
    WOA_AGENT_REQUIRED = "woa.agent_required"
    WOA_TRANSPORT_UNKNOWN = "woa.transport_unknown"
    WOA_REST = "woa.rest"
    WOA_MCP = "woa.mcp"
    WOA_SCHEMA = "woa.schema"
    WOA_VERSION_NUMBER = "woa.version_number"
    WOA_OBJECT_SCHEMA = "woa.object_schema"
    WOA_TRANSPORT_NAME = "woa.transport_name"
    WOA_OPERATION = "woa.operation"
    WOA_MEDIA_TYPE = "woa.media_type"
    WOA_CACHING = "woa.caching"
    WOA_TRANSPORTS = "woa.transports"
    WOA_HTTP = "woa.http"
    WOA_PATH = "woa.path"
    WOA_MEMBER_TYPE = "woa.member_type"
    WOA_SCHEMA_DRAFT = "woa.schema_draft"
    WOA_PLACEHOLDER = "woa.placeholder"

    # --- awas
    AWAS_REQUIRED = "awas.required"
    AWAS_ACTION = "awas.action"
    AWAS_ACTION_REQUIRED = "awas.action_required"
    AWAS_DIALECT = "awas.dialect"
    AWAS_ACTION_TEXT = "awas.action_text"
    AWAS_PARAMETER = "awas.parameter"
    AWAS_METHOD = "awas.method"
    AWAS_ENUM = "awas.enum"
    AWAS_WINDOW = "awas.window"
    AWAS_SIZE = "awas.size"
    AWAS_ID = "awas.id"
    AWAS_BRIDGE = "awas.bridge"
    AWAS_BRIDGE_LINK = "awas.bridge_link"
    AWAS_BRIDGE_SCHEMA = "awas.bridge_schema"
    AWAS_HINT = "awas.hint"
    AWAS_PATH = "awas.path"
    AWAS_VERSION = "awas.version"
    AWAS_NO_ACTIONS = "awas.no_actions"
    AWAS_MEMBER_TYPE = "awas.member_type"
    AWAS_WORD = "awas.word"
    AWAS_VALUE_TYPE = "awas.value_type"
    AWAS_ADDRESS = "awas.address"
    AWAS_RESULT = "awas.result"
    AWAS_SELECTOR = "awas.selector"
    AWAS_EXAMPLE = "awas.example"
    AWAS_KEBAB = "awas.kebab"
    AWAS_EXTENSION = "awas.extension"
    AWAS_CORS = "awas.cors"
    AWAS_CACHING = "awas.caching"

    # --- adp
    ADP_VERSION = "adp.version"
    ADP_REQUIRED = "adp.required"
    ADP_BASE_URL = "adp.base_url"
    ADP_AUTH = "adp.auth"
    ADP_CAPABILITIES = "adp.capabilities"
    ADP_CAPABILITY = "adp.capability"
    ADP_CAPABILITY_REQUIRED = "adp.capability_required"
    ADP_DESCRIPTION_LENGTH = "adp.description_length"
    ADP_DESCRIPTION_LONG = "adp.description_long"
    ADP_DESCRIPTION_SHORT = "adp.description_short"
    ADP_NAME = "adp.name"
    ADP_BASE_SLASH = "adp.base_slash"
    ADP_HEADER = "adp.header"
    ADP_OAUTH = "adp.oauth"
    ADP_PRICING = "adp.pricing"
    ADP_DETAIL_ELSEWHERE = "adp.detail_elsewhere"
    ADP_PATH = "adp.path"
    ADP_CORS = "adp.cors"
    ADP_CACHING = "adp.caching"
    ADP_MEMBER_TYPE = "adp.member_type"
    ADP_ADDRESS = "adp.address"
    ADP_PLAN = "adp.plan"

    # --- adp-detail
    ADP_DETAIL_REQUIRED = "adp_detail.required"
    ADP_DETAIL_MEMBER = "adp_detail.member"
    ADP_DETAIL_METHOD = "adp_detail.method"
    ADP_DETAIL_PARAMETER = "adp_detail.parameter"
    ADP_DETAIL_EXAMPLE = "adp_detail.example"
    ADP_DETAIL_TYPE = "adp_detail.type"

    # --- a2a
    A2A_UNNAMED = "a2a.name"
    A2A_NO_SKILL = "a2a.no_skill"
    A2A_SKILL = "a2a.skill"
    A2A_NO_ENDPOINT = "a2a.no_endpoint"
    A2A_REQUIRED = "a2a.required"
    A2A_MISDECLARED = "a2a.misdeclared"
    A2A_HYBRID = "a2a.hybrid"
    A2A_PROVIDER_NAME = "a2a.provider_name"
    A2A_CAPABILITIES = "a2a.capabilities"
    A2A_SKILL_TEXT = "a2a.skill_text"
    A2A_SNAKE_CASE = "a2a.snake_case"
    A2A_INTERFACE = "a2a.interface"
    A2A_ENDPOINT_DOUBTFUL = "a2a.endpoint_doubtful"
    A2A_SIGNATURE = "a2a.signature"

    # --- mcp-server-card, mcp-json, mcp-server-json
    MCP_REQUIRED = "mcp.required"
    MCP_NAME = "mcp.name"
    MCP_NOTHING = "mcp.nothing"
    MCP_SCHEMA = "mcp.schema"
    MCP_LONG_TEXT = "mcp.long_text"
    MCP_VERSION_RANGE = "mcp.version_range"
    MCP_BLANK = "mcp.blank"
    MCP_NO_REMOTE = "mcp.no_remote"
    MCP_REMOTE = "mcp.remote"
    MCP_TOOL = "mcp.tool"
    MCP_UNSPECIFIED = "mcp.unspecified"
    MCP_OLD_RECORD = "mcp.old_record"

    # --- ai-catalog
    CATALOG_ENTRY = "catalog.entry"
    CATALOG_DISPLAY_NAME = "catalog.display_name"
    CATALOG_IDENTIFIER = "catalog.identifier"
    CATALOG_QUERIES = "catalog.queries"
    CATALOG_TRUST = "catalog.trust"
    CATALOG_REPEATED = "catalog.repeated"
    CATALOG_DRAFT = "catalog.draft"
    CATALOG_TYPE = "catalog.type"
    CATALOG_SHAPE = "catalog.shape"

    # --- api-catalog
    LINKSET_EMPTY = "linkset.empty"
    LINKSET_ANCHOR = "linkset.anchor"
    LINKSET_RELATION = "linkset.relation"
    LINKSET_OTHER_SHAPE = "linkset.other_shape"

    # --- openapi
    OPENAPI_TITLE = "openapi.title"
    OPENAPI_EMPTY = "openapi.empty"
    OPENAPI_VERSION = "openapi.version"
    OPENAPI_SERVER = "openapi.server"
    OPENAPI_OPERATION_ID = "openapi.operation_id"
    OPENAPI_REFERENCE = "openapi.reference"
    OPENAPI_CUT = "openapi.cut"

    # --- llms-txt
    LLMS_TITLE = "llms.title"

    # --- agent-skills-index
    SKILLS_REQUIRED = "skills.required"
    SKILLS_SCHEMA = "skills.schema"
    SKILLS_TYPE = "skills.type"
    SKILLS_URL = "skills.url"
    SKILLS_DIGEST = "skills.digest"
    SKILLS_NAME = "skills.name"
    SKILLS_LONG_TEXT = "skills.long_text"

    # --- ucp
    UCP_NOT_AN_OBJECT = "ucp.not_an_object"
    UCP_NO_SERVICES = "ucp.no_services"
    UCP_VERSION = "ucp.version"
    UCP_NO_CAPABILITIES = "ucp.no_capabilities"
    UCP_TRANSPORT = "ucp.transport"
    UCP_SHAPE = "ucp.shape"

    # --- acp
    ACP_REQUIRED = "acp.required"
    ACP_DECLARATION = "acp.declaration"
    ACP_SERVICE = "acp.service"

    # --- x402
    X402_NO_RESOURCE = "x402.no_resource"
    X402_SHAPE = "x402.shape"
    X402_ACCEPTS = "x402.accepts"

    # --- ai-plugin
    AI_PLUGIN_REQUIRED = "ai_plugin.required"
    AI_PLUGIN_MEMBER = "ai_plugin.member"

    # --- agents-json
    AGENTS_JSON_REQUIRED = "agents_json.required"
    AGENTS_JSON_MEMBER = "agents_json.member"
    AGENTS_JSON_PART = "agents_json.part"

    # --- anp
    ANP_UNNAMED = "anp.name"

    # --- agent-permissions
    PERMISSIONS_RULE = "permissions.rule"

    # --- aid
    AID_VERSION = "aid.version"
    AID_REQUIRED = "aid.required"
    AID_ADDRESS = "aid.address"
    AID_WORD = "aid.word"
    AID_SIZE = "aid.size"

    # --- oauth metadata, identity
    OAUTH_ADDRESS = "oauth.address"
    IDENTITY_PRIVATE_KEY = "identity.private_key"

    # --- several documents of one host (merge.py)
    SIGNATURE_VERIFIED = "signature.verified"
    SIGNATURE_BROKEN = "signature.broken"
    SIGNATURE_NO_KEY = "signature.no_key"
    SIGNATURE_UNSUPPORTED = "signature.unsupported"
    POINTER_UNANSWERED = "pointer.unanswered"
    POINTER_LIVE_ENDPOINT = "pointer.live_endpoint"
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
    text (at most EVIDENCE_CHARS characters), "" where the absence itself is the evidence. `count`: more than 1 where
    the finding stands for others like it that are not kept.
    """

    reason: Reason
    pointer: str = ""
    evidence: str = ""
    count: int = 1
