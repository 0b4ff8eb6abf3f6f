"""Metrics: what they are called, what they mean, and their values. native/metrics/ counts."""
