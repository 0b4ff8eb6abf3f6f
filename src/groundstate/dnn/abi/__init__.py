"""What stands behind the C functions: handles become objects, and objects become handles."""
