"""The second engine: a Meilisearch server, fed by one process at a time and asked by any number.

    backend.py     what the registry sees: `registry.search.backend.Backend`
    asking.py      the query path: one pooled asynchronous call with a budget of time, a bound and a circuit breaker
    legs.py        a question as candidate queries of the engine
    answers.py     what it answers
    hits.py        the services in that, as candidates of the ranker
    layout.py      what an index is: its settings, its documents, the tally of the collection
    admin.py       indexes, documents and tasks through the official client
    feeding.py     changes carried in, batch by batch, each with the tally that it leaves
    building.py    an index built aside, then swapped
    keys.py        the keys with least rights, and who holds which

What is measured and why it is so: docs/search.md, docs/adr/0012-*.md.
"""
