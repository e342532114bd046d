"""The shapes of requests and responses, each declared once.

A shape is a TypedDict whose fields carry their description and an example. FastAPI derives the OpenAPI schema from it,
and `example_of` assembles the example. A shape of a body also validates it (`registry.edge.bodies`). The code that
builds an answer returns the shape, so a missing or unknown key is a type error, or projects a record onto it
(`rows.project`). Answers are plain dictionaries: tests, not the product, compare them with their schemas.

In each shape the keys of Agent Discovery Protocol registries come first. All shapes may grow.
"""
