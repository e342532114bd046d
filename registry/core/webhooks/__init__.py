"""Webhooks: who wants to hear of which events, what is sent to it, how that is signed, and when it is sent again.

The wire format is that of Standard Webhooks, version 1 (https://www.standardwebhooks.com, spec/standard-webhooks.md).
"""
