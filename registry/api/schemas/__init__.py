"""The shapes of requests and responses, each declared once.

A shape is a TypedDict whose fields carry their description and an example. The code that builds an answer returns the
shape, so a missing or unknown key is a type error. FastAPI derives the OpenAPI schema from it, and `example_of`
assembles the example. Answers are plain dictionaries: nothing is validated on the way out.

In each shape the keys of Agent Discovery Protocol registries come first. All shapes may grow.
"""
