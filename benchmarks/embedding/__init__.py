"""How the embedding table that ships with the package is made: `python -m benchmarks.embedding.build --help`."""
