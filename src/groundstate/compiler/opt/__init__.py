"""Passes that make a kernel faster."""
