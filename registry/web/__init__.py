"""The web pages: the registry for people, rendered on the server from what its API answers.

Every page works without script. What is shown is foreign text in most places: `text.visible` is applied to every value
that a template prints, and the policy of `rendering` lets a browser run nothing but the one script of this package.
"""
