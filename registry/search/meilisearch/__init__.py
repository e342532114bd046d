"""The second engine: a Meilisearch server, written by one process at a time and queried by any number of processes.

    backend.py       the interface to the registry: `registry.search.backend.Backend`
    query_client.py  the query path: pooled asynchronous calls with a deadline, a concurrency limit, a circuit breaker
    queries.py       translates a parsed query into queries of the engine
    hits.py          the services in a response, as candidates of the ranker
    layout.py        an index: its settings, its documents, the statistics of the collection
    admin.py         indexes, documents and tasks through the official client; responses; keys and their files
    index_writer.py  changes written batch by batch, each with the statistics that result
    index_build.py   an index built beside the live one, then swapped

Reasons and measurements: docs/adr/0012-how-meilisearch-is-asked.md, benchmarks/search-lab.md.
"""
