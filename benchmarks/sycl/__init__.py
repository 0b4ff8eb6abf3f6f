"""dpnp: one Python program on our device, and on another SYCL device of the same cores."""
