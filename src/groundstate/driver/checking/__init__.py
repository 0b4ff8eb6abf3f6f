"""Checked mode in the driver: what its checkers found becomes findings."""
