"""How many hosts a crawler visits per CPU second, and the cost of waiting: `python -m benchmarks.crawl`.

A farm of web sites runs on public addresses inside a network namespace without a route out. Every contestant is a
separate process and requests the same paths of the same hosts over verified TLS. benchmarks/README.md has the figures.
"""
