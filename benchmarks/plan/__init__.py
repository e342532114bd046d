"""The cost per host of the pure part of a visit: plan, controls, assessment. `python -m benchmarks.plan`."""
