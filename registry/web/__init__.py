"""The web pages: the registry for people, rendered on the server from the API's answers.

Every page works without script. Pages show mostly foreign text, so `text.visible` is applied to every value that a
template prints, and the policy of `rendering` lets a browser run only the script of this package.
"""
