"""docker-compose.yml brought up by a real engine, in a network namespace without a way out. `make containers`."""
