"""One program per contestant: it reads its task from a JSON file and prints its result as one line of JSON."""
