"""How fast one core assesses documents: read, recognise, validate, normalise. `python -m benchmarks.assess`."""
