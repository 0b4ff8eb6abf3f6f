"""What is known of the machines that code is generated for.

`description.py` says what a target is; `x86.py`, `aarch64.py` and `scalar.py` describe some;
`host.py` finds the one that this machine is.
"""

from groundstate.compiler.target.description import ANY_CPU, SUBGROUP_SIZES, Target

__all__ = ["ANY_CPU", "SUBGROUP_SIZES", "Target"]
