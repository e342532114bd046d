"""One program for each contestant: a task comes as a JSON file, the result leaves as one line of JSON."""
