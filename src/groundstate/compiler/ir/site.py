"""Places of a kernel where a checker may report something.

An instrumentation pass makes a site for each operation that it watches, and names it by its number
in `Kernel.sites`. What is known of it is kept beside the code, as JSON, for whoever turns reports
into findings (driver/checking/kernel_findings.py).
"""

from __future__ import annotations

from typing import Any

from groundstate.compiler.ir.kernel import Node


def make_site(checker: str, node: Node, **facts: object) -> dict[str, Any]:
    """What is known of a site: the checker, the operation, its place in the source, and more."""
    frames = list(node.location.frames()) if node.location is not None else []
    return {
        "checker": checker,
        "operation": node.op,
        "function": node.where,
        "position": node.position,
        "frames": [[each.file, each.line, each.column, each.function] for each in frames],
        **facts,
    }
