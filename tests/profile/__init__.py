"""Profiles: what is known of kernels whose character is known, and how it is told."""
