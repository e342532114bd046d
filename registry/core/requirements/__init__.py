"""Every demand of the five specifications: which findings report it, or why none can.

The page docs/requirements.md is made of this table; tests hold it against the texts and break each demand once.
"""

from collections.abc import Mapping
from types import MappingProxyType

from registry.core.findings import Reason
from registry.core.requirements import adp, atp, awas, awp, woa
from registry.core.requirements.requirement import Level, Requirement

__all__ = ["OURS", "REQUIREMENTS", "Level", "Requirement"]

REQUIREMENTS: Mapping[str, tuple[Requirement, ...]] = MappingProxyType(
    {"awp": awp.ROWS, "atp": atp.ROWS, "woa": woa.ROWS, "awas": awas.ROWS, "adp": adp.ROWS}
)
"""By slug of the format, in the order of the text."""

OURS: Mapping[Reason, str] = MappingProxyType(
    {
        Reason.AWP_LEGACY: "a dialect from before version 0.1, which is still served",
        Reason.AWP_NO_ACTIONS: "the text allows an empty list; nobody is served by it",
        Reason.AWP_ALIAS: "members that one generator writes instead of those of the text",
        Reason.AWP_DEPENDENCY_UNKNOWN: "a prerequisite that does not exist can never be met",
        Reason.ATP_LAX: "the shape of a manifest without its name",
        Reason.ATP_ID: "the published JSON Schema asks for it, the text does not",
        Reason.WOA_PATH: "the text registers the path, and only calls it typical",
        Reason.AWAS_DIALECT: "shapes that no published version describes",
        Reason.AWAS_ID: "version 1.1 of the project's repository asks for it",
        Reason.AWAS_NO_ACTIONS: "the text's first sketch has an empty list; nobody is served by it",
        Reason.AWAS_HINT: "attributes of a page are a hint to its operator, never a manifest",
        Reason.ADP_DESCRIPTION_SHORT: "the reference validator asks for 20 characters, the text for 10",
        Reason.ADP_BASE_SLASH: "the reference client appends detail_url as it is written",
        Reason.ADP_DETAIL_ELSEWHERE: "the reference validator refuses it",
    }
)
"""Reasons of the five formats that no demand of their texts is behind, with what is."""
