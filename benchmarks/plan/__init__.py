"""What the pure part of a visit costs a host: plan, controls, verdicts. `python -m benchmarks.plan`."""
