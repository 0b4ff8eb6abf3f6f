"""The intermediate representation: a kernel as a control-flow graph with values in SSA form.

`kernel` has the graph, `ops` what is known of each operation, `verifier` the rules that every
graph keeps, `printer` and `parser` the graph as text.
"""

from groundstate.compiler.ir.kernel import Block, Kernel, Node, constant_int, constant_node

__all__ = ["Block", "Kernel", "Node", "constant_int", "constant_node"]
