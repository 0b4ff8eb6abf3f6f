"""Random attacks on everything that takes what strangers hand over."""
