"""What is known of a kernel without changing it."""
