"""Write back the members that only this format knows, as its reader kept them in the model (`native`)."""

from collections.abc import Mapping
from typing import Any

from registry.core.model.services import Capability, Service


def with_native(slug: str, holder: Service | Capability, written: Mapping[str, Any]) -> dict[str, Any]:
    """Return the written members with those of the format `slug` that the model keeps beside its fields.

    What is written from a field of the model counts where both have it; objects are united.
    """
    return _united(written, holder.native.get(slug, {}))


def _united(written: Mapping[str, Any], kept: Mapping[str, Any]) -> dict[str, Any]:
    """Return both objects as one. The depth is that of the kept value, which its reader limited."""
    united = {**kept, **written}
    for key in kept.keys() & written.keys():
        if isinstance(kept[key], Mapping) and isinstance(written[key], Mapping):
            united[key] = _united(written[key], kept[key])
    return united
