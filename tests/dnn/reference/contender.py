"""Our library, through either of its doors."""

from __future__ import annotations

import importlib

from tests.dnn.reference.client import Session, shared_library

DOORS = ("python", "c")


class ContenderMissing(Exception):  # noqa: N818 - says what is missing
    """The door that was asked for is not there."""


def contender(door: str) -> Session:
    """A session with our library: its Python functions, or its shared library."""
    if door == "python":
        return Session(importlib.import_module("groundstate.dnnl"), "gpu")
    from groundstate import standin

    library = standin.library().parent / "libgroundstate_dnnl.so.3"
    if not library.exists():
        raise ContenderMissing(f"{library.name} is not built: make native")
    return Session(shared_library(str(library)), "gpu")
