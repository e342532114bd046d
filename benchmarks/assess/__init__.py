"""How fast one core judges documents: read, recognise, validate, normalise. `python -m benchmarks.assess`."""
