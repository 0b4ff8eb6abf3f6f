"""Which file each generator's lines go to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from registry.generators import (
    capture,
    capture_script,
    capture_structs,
    dnnl,
    dnnl_c,
    dnnl_cpp,
    functions,
    handlers,
    implemented,
    pointers,
    python,
    python_types,
    pyzes_types,
    shared_structs,
    stream_format,
    stubs,
    sysman,
    tables,
    tracer,
    types,
)
from registry.model import NAMESPACES

ROOT = Path(__file__).parent.parent

Generator = Callable[[], Iterator[str]]

OUTPUTS: dict[str, Generator] = {
    "docs/reference/implemented.md": implemented.generate,
    "native/generated/ze_types.h": types.generate,
    "native/generated/functions.h": functions.generate_header,
    "native/generated/functions.c": functions.generate_source,
    "native/generated/shared.h": shared_structs.generate_header,
    "native/generated/tables.c": tables.generate,
    "native/generated/tracer.c": tracer.generate_source,
    "native/generated/tracer.h": tracer.generate_header,
    **{
        f"native/generated/stubs_{namespace}.c": partial(stubs.generate, namespace)
        for namespace in NAMESPACES
    },
    "native/capture/generated/exports.c": capture.generate_exports,
    "native/capture/generated/loader.c": capture.generate_loader,
    "native/capture/generated/script_hooks.c": capture_script.generate_hooks,
    "native/capture/generated/script_tables.c": capture_script.generate_tables,
    "native/capture/generated/stream_format.h": stream_format.generate_header,
    "native/capture/generated/structs.h": capture_structs.generate_header,
    "native/capture/generated/structs.c": capture_structs.generate_source,
    **{
        f"native/capture/generated/record_{namespace}.c": partial(
            capture.generate_recorders, namespace
        )
        for namespace in NAMESPACES
    },
    "src/groundstate/native_layouts.py": shared_structs.generate_python,
    "src/groundstate/capture/stream/formats.py": stream_format.generate_python,
    "src/groundstate/capture/pointers.py": pointers.generate,
    "src/groundstate/driver/functions.py": handlers.generate,
    "src/groundstate/driver/sysman/functions.py": sysman.generate,
    **{
        f"src/groundstate/{namespace}.py": partial(python.generate, namespace)
        for namespace in NAMESPACES
    },
    **{
        f"src/groundstate/{namespace}.pyi": partial(python_types.generate, namespace)
        for namespace in NAMESPACES
    },
    "src/groundstate/pyzes.pyi": pyzes_types.generate,
    "src/groundstate/include/groundstate/dnnl.h": dnnl_c.generate_header,
    "src/groundstate/include/groundstate/dnnl_enums.hpp": dnnl_cpp.generate,
    "native/dnnl/generated/functions.h": dnnl_c.generate_functions_header,
    "native/dnnl/generated/stubs.c": dnnl_c.generate_stubs,
    "src/groundstate/dnn/types.py": dnnl.generate_types,
    "src/groundstate/dnn/tags.py": dnnl.generate_tags,
    "src/groundstate/dnn/declarations.py": dnnl.generate_declarations,
}


def text_of(generator: Generator) -> str:
    return "\n".join(generator()).rstrip("\n") + "\n"


def write_all() -> list[str]:
    """Write what is stale; the paths that changed."""
    written = []
    for name, generator in OUTPUTS.items():
        path, text = ROOT / name, text_of(generator)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            written.append(name)
    return written


def stale() -> list[str]:
    """One summary for each file that differs from what its generator prints."""
    summaries = []
    for name, generator in OUTPUTS.items():
        path = ROOT / name
        present = path.read_text(encoding="utf-8") if path.exists() else ""
        expected = text_of(generator)
        if present != expected:
            summaries.append(_summary(name, present, expected))
    return summaries


def _summary(name: str, present: str, expected: str) -> str:
    difference = list(
        difflib.unified_diff(
            present.splitlines(),
            expected.splitlines(),
            name,
            f"{name} (generated)",
            lineterm="",
            n=0,
        )
    )
    shown = difference[:20]
    if len(difference) > len(shown):
        shown.append(f"... {len(difference) - len(shown)} more lines")
    return "\n".join(shown)
