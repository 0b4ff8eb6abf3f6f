"""The compiler over everything that ships: finds the SPIR-V in libraries and compiles all of it."""
