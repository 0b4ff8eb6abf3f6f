"""Passes of checked mode: they put beside operations what tells when they go wrong."""
