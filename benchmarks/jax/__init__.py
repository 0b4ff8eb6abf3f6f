"""JAX on our device, against JAX's own CPU back end."""
