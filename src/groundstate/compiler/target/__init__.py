"""What is known of the machines that code is generated for."""

from groundstate.compiler.target.description import Target

__all__ = ["Target"]
