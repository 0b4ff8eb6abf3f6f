"""Ray and MPI on several devices, in environments that are too large for the ordinary tests.

`make test-ray` and `make test-mpi` make these environments and run the suites.
"""
