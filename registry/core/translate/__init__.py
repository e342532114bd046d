"""Any service as a document of another format, as far as that format can say it truthfully; what is lost is listed."""

from registry.core.translate.task import Loss
from registry.core.translate.translation import TARGETS, Translation, Untranslatable, translate

__all__ = ["TARGETS", "Loss", "Translation", "Untranslatable", "translate"]
