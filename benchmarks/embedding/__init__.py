"""Build the embedding table that ships with the package: `python -m benchmarks.embedding.build --help`."""
