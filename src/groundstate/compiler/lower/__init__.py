"""Passes that put simpler operations in the place of others."""
