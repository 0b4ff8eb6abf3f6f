"""Masks, the all-lanes-active path, and speculation on what lanes will do."""
