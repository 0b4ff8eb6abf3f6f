"""Sequences of API calls: generated from the registry, written as JSON, and made."""
