"""Our library, through either of its APIs."""

from __future__ import annotations

from pathlib import Path

from groundstate import dnnl
from groundstate.dnn.primitive import creators
from tests.dnn.reference.client import Session, shared_library
from tests.dnn.reference.families import FAMILIES

APIS = ("python", "c")
THERE = [
    name
    for name in FAMILIES
    if any(function.startswith(f"dnnl_{name}_") for function in creators())
]
"""The families that ours has; what is not there answers unimplemented."""


class ContenderMissing(Exception):  # noqa: N818 - says what is missing
    """The API that was asked for is not there."""


def contender(api: str) -> Session:
    """A session with our library: its Python functions, or its shared library."""
    if api == "python":
        return Session(dnnl, "gpu")
    library = Path(dnnl.library_path())
    if not library.exists():
        raise ContenderMissing(f"{library.name} is not built: make native")
    return Session(shared_library(str(library)), "gpu")
