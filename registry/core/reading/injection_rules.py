"""Rules about texts that address the model of their reader: prompt injection and tool poisoning.

None of them costs points: no specification of a format speaks of them, and a pattern is a reason to look, not a proof.
"""

from registry.core.model.findings import SAFETY, WARNING, Rule

# fmt: off

OVERRIDE = Rule(
    "injection.override", WARNING, points=0, section=SAFETY, spec="OWASP LLM01:2025 Prompt Injection",
    says="A text tells its reader to set its own instructions aside.",
    fix="Describe what the service does, and give no orders to the model that reads the description.",
)
ROLE_MARKUP = Rule(
    "injection.role_markup", WARNING, points=0, section=SAFETY, spec="OWASP LLM01:2025 Prompt Injection",
    says="A text holds the markup of chat prompts, which pretends to be a message of another role.",
    fix="Remove the markup, or write it so that no prompt template reads it, for example as a name without brackets.",
)
HIDDEN_TEXT = Rule(
    "injection.hidden_text", WARNING, points=0, section=SAFETY, spec="Unicode UTR 36 section 3; UTS 39 section 5",
    says="A text holds characters that people cannot see and models read.",
    fix="Write the text again without invisible, control and direction characters.",
)
SECRECY = Rule(
    "injection.secrecy", WARNING, points=0, section=SAFETY, spec="OWASP LLM01:2025 Prompt Injection",
    says="A text tells its reader to keep something from the user, or to act against the user's word.",
    fix="Let the user see and decide: remove the order, or say what the service itself does.",
)
DISCLOSURE = Rule(
    "injection.disclosure", WARNING, points=0, section=SAFETY, spec="OWASP LLM02:2025 Sensitive Information Disclosure",
    says="A text asks its reader for secrets, files, prompts or a whole conversation.",
    fix="Ask only for what a call needs, as a described parameter, and for credentials as an authentication scheme.",
)
STEERING = Rule(
    "injection.steering", WARNING, points=0, section=SAFETY, spec="OWASP LLM01:2025 Prompt Injection",
    says="A text tells its reader which tools of others to avoid, or to call this one first whatever the task is.",
    fix="Say when the capability is of use; leave the choice between tools to the agent.",
)
ENCODED_PAYLOAD = Rule(
    "injection.encoded_payload", WARNING, points=0, section=SAFETY, spec="OWASP LLM01:2025 Prompt Injection",
    says="A sentence holds a long run of encoded data.",
    fix="Move data out of descriptions: into an example, a document of its own, or a link.",
)
DATA_LINK = Rule(
    "injection.data_link", WARNING, points=0, section=SAFETY, spec="OWASP LLM02:2025 Sensitive Information Disclosure",
    says="A text holds a link or image whose query is to be filled with data of the reader.",
    fix="Describe such a call as a capability with parameters; link only to fixed addresses.",
)
