"""How many hosts a crawler visits with one second of CPU, and what waits cost: `python -m benchmarks.crawl`.

A farm of web sites on public addresses that exist only in a network namespace without a way out; every contestant is
a process of its own and asks the same hosts the same paths over verified TLS. docs/performance.md has the figures.
"""
