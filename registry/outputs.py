"""Which file each generator's lines go to."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from registry import (
    generate_capture,
    generate_capture_script,
    generate_capture_structs,
    generate_dnnl,
    generate_dnnl_c,
    generate_dnnl_cpp,
    generate_functions,
    generate_implemented,
    generate_pointers,
    generate_python,
    generate_python_types,
    generate_pyzes_types,
    generate_stubs,
    generate_sysman,
    generate_tables,
    generate_tracer,
    generate_types,
)
from registry.model import NAMESPACES

ROOT = Path(__file__).parent.parent

Generator = Callable[[], Iterator[str]]

OUTPUTS: dict[str, Generator] = {
    "docs/reference/implemented.md": generate_implemented.generate,
    "native/generated/ze_types.h": generate_types.generate,
    "native/generated/functions.h": generate_functions.generate_header,
    "native/generated/functions.c": generate_functions.generate_source,
    "native/generated/tables.c": generate_tables.generate,
    "native/generated/tracer.c": generate_tracer.generate,
    **{
        f"native/generated/stubs_{namespace}.c": partial(generate_stubs.generate, namespace)
        for namespace in NAMESPACES
    },
    "native/capture/generated/exports.c": generate_capture.generate_exports,
    "native/capture/generated/loader.c": generate_capture.generate_loader,
    "native/capture/generated/script_hooks.c": generate_capture_script.generate_hooks,
    "native/capture/generated/script_tables.c": generate_capture_script.generate_tables,
    "native/capture/generated/structs.h": generate_capture_structs.generate_header,
    "native/capture/generated/structs.c": generate_capture_structs.generate_source,
    **{
        f"native/capture/generated/record_{namespace}.c": partial(
            generate_capture.generate_recorders, namespace
        )
        for namespace in NAMESPACES
    },
    "src/groundstate/capture/pointers.py": generate_pointers.generate,
    "src/groundstate/driver/sysman/functions.py": generate_sysman.generate,
    **{
        f"src/groundstate/{namespace}.py": partial(generate_python.generate, namespace)
        for namespace in NAMESPACES
    },
    **{
        f"src/groundstate/{namespace}.pyi": partial(generate_python_types.generate, namespace)
        for namespace in NAMESPACES
    },
    "src/groundstate/pyzes.pyi": generate_pyzes_types.generate,
    "src/groundstate/include/groundstate/dnnl.h": generate_dnnl_c.generate_header,
    "src/groundstate/include/groundstate/dnnl_enums.hpp": generate_dnnl_cpp.generate,
    "native/dnnl/generated/functions.h": generate_dnnl_c.generate_functions_header,
    "native/dnnl/generated/stubs.c": generate_dnnl_c.generate_stubs,
    "src/groundstate/dnn/types.py": generate_dnnl.generate_types,
    "src/groundstate/dnn/tags.py": generate_dnnl.generate_tags,
    "src/groundstate/dnn/declarations.py": generate_dnnl.generate_declarations,
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
