"""Print `docs/implemented.md`: which functions the driver has, read from its sources.

A function is native where a source of `native/` defines `gs_<name>`, and Python where a file of
`src/groundstate/driver` has a function of that name decorated with `@handler`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from registry.generators.python import TITLES
from registry.load import load
from registry.model import NAMESPACES, Function

ROOT = Path(__file__).parents[2]
NATIVE = ROOT / "native"
DRIVER = ROOT / "src" / "groundstate" / "driver"

_NOT_THE_DRIVER = ("generated", "capture", "dnnl", "opencl", "redirect")
_GETTER = re.compile(r"^GS_GETTER\((ze\w+),", re.MULTILINE)
_DEFINITION = re.compile(r"^\w[\w \t*]*[ *\n]gs_(ze\w+)\s*\([^;{}]*\)\s*\{", re.MULTILINE)

INTRODUCTION = """\
# What the driver implements

Printed by `python -m registry` from the sources of the driver; do not edit this page.

"native" is C in `native/`, "Python" is a handler in `src/groundstate/driver/`. A function that is
neither checks its arguments and then answers `ZE_RESULT_ERROR_UNSUPPORTED_FEATURE`.
"""


def generate() -> Iterator[str]:
    functions = list(load().functions.values())
    native, python = native_functions(NATIVE), python_functions(DRIVER)
    yield INTRODUCTION
    yield "| namespace | functions | native | Python | unsupported |\n|---|--:|--:|--:|--:|"
    for namespace in NAMESPACES:
        own = [f for f in functions if f.namespace == namespace]
        yield _summary_row(f"{TITLES[namespace]} (`{namespace}`)", own, native, python)
    yield _summary_row("all", functions, native, python)
    yield from _extensions()
    for namespace in NAMESPACES:
        yield f"\n## {TITLES[namespace].capitalize()} (`{namespace}`)"
        own = [f for f in functions if f.namespace == namespace]
        for noun, group in groupby(sorted(own, key=lambda f: f.noun), key=lambda f: f.noun):
            yield f"\n### {noun.removeprefix(namespace) or 'Global'}\n"
            yield "| function | since | implemented |\n|---|---|---|"
            for function in group:
                since = ".".join(map(str, function.since))
                where = _where(function, native, python)
                yield f"| `{function.name}` | {since} | {where} |"


def _extensions() -> Iterator[str]:
    advertised, reasons = extensions(DRIVER / "extensions.py")
    yield "\n## Extensions\n"
    yield "| extension | advertised |\n|---|---|"
    for name in extension_names():
        yield f"| `{name}` | {'yes' if name in advertised else 'no: ' + reasons[name]} |"


def extension_names() -> list[str]:
    """Every extension of the core API, by the name with which a driver would advertise it."""
    return sorted(
        constant.value
        for constant in load().constants.values()
        if constant.namespace == "ze" and isinstance(constant.value, str)
    )


def extensions(source: Path) -> tuple[set[str], dict[str, str]]:
    """The extensions that the driver advertises, and why it does not advertise the others."""
    tree = ast.parse(source.read_text(encoding="utf-8"), str(source))
    constants = load().constants
    advertised, reasons = set(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and node.attr in constants:
            advertised.add(str(constants[node.attr].value))
        elif isinstance(node, ast.AnnAssign) and ast.unparse(node.target) == "NOT_ADVERTISED":
            assert node.value is not None
            reasons = ast.literal_eval(node.value)
    return advertised, reasons


def driver_sources(folder: Path) -> list[Path]:
    """The hand-written C files of the driver's own library, under the folder of all libraries."""
    rooms = (
        room for room in folder.iterdir() if room.is_dir() and room.name not in _NOT_THE_DRIVER
    )
    return sorted(path for room in rooms for path in room.rglob("*.c"))


def native_functions(folder: Path) -> set[str]:
    """The functions of the API that the C files of the driver define."""
    sources = [path.read_text(encoding="utf-8") for path in driver_sources(folder)]
    found = (pattern.findall(source) for pattern in (_DEFINITION, _GETTER) for source in sources)
    return {name for names in found for name in names}


def python_functions(folder: Path) -> set[str]:
    """The functions of the API that the Python files under a folder handle."""
    return {name for path in sorted(folder.rglob("*.py")) for name in handlers_in(path)}


def handlers_in(path: Path) -> list[str]:
    """The functions of the API that a Python file handles, in its order."""
    return [
        node.name
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path)))
        if isinstance(node, ast.FunctionDef) and any(map(_is_handler, node.decorator_list))
    ]


def _is_handler(decorator: ast.expr) -> bool:
    if isinstance(decorator, ast.Call):
        decorator = decorator.func
    if isinstance(decorator, ast.Attribute):
        return decorator.attr == "handler"
    return isinstance(decorator, ast.Name) and decorator.id == "handler"


def _where(function: Function, native: set[str], python: set[str]) -> str:
    if function.name in native:
        return "native"
    return "Python" if function.name in python else "unsupported"


def _summary_row(title: str, functions: list[Function], native: set[str], python: set[str]) -> str:
    places = [_where(function, native, python) for function in functions]
    counts = [len(places), *(places.count(place) for place in ("native", "Python", "unsupported"))]
    return f"| {title} | " + " | ".join(map(str, counts)) + " |"
