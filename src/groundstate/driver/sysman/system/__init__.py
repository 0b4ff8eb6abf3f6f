"""Readers of what the machine tells about itself in /sys and /proc."""
