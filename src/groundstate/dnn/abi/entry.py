"""Where the C library enters Python: it calls `start` once, when a program first needs it."""

from __future__ import annotations

import importlib

from groundstate.dnn.abi import api

NOUNS = ("engines", "descriptors", "memories", "attributes", "post_ops", "primitives", "words")
"""The modules that hold handlers. Importing one registers what it answers."""


def start(library_path: str) -> dict[str, api.Handler]:
    """The handler of each C function."""
    del library_path  # the one beside the driver's, which `native` has opened
    for noun in NOUNS:
        importlib.import_module(f"groundstate.dnn.abi.{noun}")
    return api.HANDLERS
