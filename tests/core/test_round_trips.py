"""Round trips of documents: from the model alone, a writer writes back every field that its reader has filled.

A member that is read into one field and written from another would be lost here, and be promised where the other
field is known. The way back, from any model, is tested in `test_translate_any`.
"""

import json

import pytest

from registry.core.assessing.assess import assess_body
from registry.core.names.domains import host_of
from registry.core.translating import TARGETS, Translation
from registry.core.translating.sources import ITEM, model
from tests.core.manifests import FOUND
from tests.core.test_specification_examples import EXAMPLES
from tests.core.translations import carried_indexes, invented, judge, translated

UNWRITTEN = {
    # the domain is the host; order and state of undeclared actions; words for types, and enumerations in entities
    "awp": {"name", "relations/dependencies", "relations/degraded", "params/properties", "result/properties"},
    "atp": {"policies/rate_limit/burst"},
    "woa": {"invocations/kind", "invocations/endpoint", "description"},  # other transports; an agent with operations
    "awas": {"relations/workflows"},
    "adp": {"tags"},  # the group of a capability
    "a2a": {"protocols", "invocations/auth"},  # the addresses of other protocols; what one skill demands
}
"""Fields that these documents fill and that are not written back; each is a loss that the translation lists."""


@pytest.mark.parametrize("slug", TARGETS)
def test_every_field_of_a_valid_document_comes_back(slug: str) -> None:
    documents = [
        (one.url, one.value) for one in FOUND if one.slug == slug and one.name.startswith(("valid", "minimal"))
    ]
    documents += [(EXAMPLES[slug]().url, EXAMPLES[slug]().value)] if slug in EXAMPLES else []
    lost = set()
    for url, value in documents:
        host = host_of(url) or ""
        service = assess_body(json.dumps(value).encode(), url).service
        assert service is not None
        translation = translated(service, slug, host)
        assert isinstance(translation, Translation), translation
        reread = judge(translation, slug, host).service
        assert reread is not None and invented(translation, service, reread, slug) == []
        before, after = model(service, ""), model(reread, "")
        kept = [before.capabilities[index][1] for index in carried_indexes(translation, service, slug)]
        pairs = [(before.service, after.service), *zip(kept, (leaves for _, leaves in after.capabilities), strict=True)]
        lost |= {path for old, new in pairs for path, _ in old - new if path[0] != "native"}
    unwritten = tuple(UNWRITTEN[slug])
    names = {"/".join(part for part in path if part != ITEM) for path in lost}
    assert {name for name in names if not name.startswith(unwritten)} == set()
    assert all(any(name.startswith(part) for name in names) for part in unwritten), "it is written by now"
