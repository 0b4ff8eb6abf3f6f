"""Checked mode: what is found, and how it is told."""
