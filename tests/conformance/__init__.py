"""Independent verifiers of the interfaces, run against `waypost demo`: `make conformance`, not part of `make test`."""
