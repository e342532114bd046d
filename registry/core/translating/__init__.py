"""Translate a service into another format, as far as that format can express it truthfully; losses are listed."""

from registry.core.format_support.writing.task import Loss
from registry.core.translating.sources import SourceDocument
from registry.core.translating.translation import TARGETS, Translation, Untranslatable, declare, translate

__all__ = ["TARGETS", "Loss", "SourceDocument", "Translation", "Untranslatable", "declare", "translate"]
