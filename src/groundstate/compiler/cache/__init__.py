"""What was costly to compute, on disk.

`disk` keeps bytes under a key. `kernel_cache` keeps what is known of kernels there, code among it.
"""
