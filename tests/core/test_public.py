"""What `import groundstate` offers: everything is documented, typed, and loaded only when used."""

from __future__ import annotations

import ast
import doctest
import importlib
import inspect
import pkgutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import groundstate as gs
from groundstate import cli, core

MODULES = [
    importlib.import_module(info.name)
    for package in (core, cli)
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + ".")
]


def run_python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_raw_api_import_loads_no_numpy_or_core() -> None:
    loaded = run_python(
        "import sys, groundstate\n"
        "from groundstate import ze, knobs\n"
        "import groundstate.driver.api\n"
        "print([name for name in sys.modules if name.startswith(('numpy', 'groundstate.core'))])"
    )
    assert loaded.strip() == "[]"


def test_the_objects_do_not_need_numpy() -> None:
    loaded = run_python(
        "import sys, groundstate as gs\n"
        "context = gs.Context(gs.devices()[0])\n"
        "memory = context.alloc_host(4, 'int32')\n"
        "with gs.CommandList.immediate(context) as commands:\n"
        "    commands.fill(memory, 3)\n"
        "print(memory.tolist(), 'numpy' in sys.modules)"
    )
    assert loaded.strip() == "[3, 3, 3, 3] False"


def test_every_public_name_can_be_had_and_listed() -> None:
    assert set(core.__all__) < set(dir(gs))
    for name in core.__all__:
        assert getattr(gs, name) is getattr(core, name)


def test_exceptions_are_in_a_module_of_their_own() -> None:
    listed = {name for name in dir(gs) if isinstance(getattr(gs, name), type)}
    exceptions = {name for name in listed if issubclass(getattr(gs, name), BaseException)}
    assert exceptions == {"LevelZeroError"}
    assert "errors" in dir(gs)
    assert gs.errors.LevelZeroError is gs.LevelZeroError
    for name in gs.errors.__all__:
        assert issubclass(getattr(gs.errors, name), gs.LevelZeroError | ValueError)


def test_exceptions_keep_their_old_names() -> None:
    loaded = run_python(
        "import groundstate as gs\n"
        "print(gs.OutOfDeviceMemory is gs.errors.OutOfDeviceMemory, gs.ClosedError.__name__)\n"
        "print('OutOfDeviceMemory' in dir(gs), 'OutOfDeviceMemory' in gs.__all__)"
    )
    assert loaded.split() == ["True", "ClosedError", "False", "False"]


def test_errors_module_can_be_imported_first() -> None:
    assert run_python("from groundstate.errors import DeviceLost; print(DeviceLost.__name__)")
    assert run_python("from groundstate import errors; print(errors.DeviceLost.__name__)")


def test_unknown_name_is_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        _ = gs.Nothing  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = gs.nothing  # type: ignore[attr-defined]


def test_a_public_name_is_explained_in_a_sentence() -> None:
    for name in core.__all__:
        first = (inspect.getdoc(getattr(gs, name)) or "").splitlines()[0]
        assert first[0].isupper(), (name, first)
        assert first.endswith((".", ":")), (name, first)


def test_public_methods_and_properties_have_docs() -> None:
    missing = [
        f"{name}.{member}"
        for name in core.__all__
        if inspect.isclass(thing := getattr(gs, name))
        for member, value in vars(thing).items()
        if not member.startswith("_")
        and (callable(value) or hasattr(value, "__get__"))
        and not inspect.getdoc(value)
    ]
    assert missing == []


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_examples_in_docstrings_run(module: ModuleType) -> None:
    result = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0


def test_the_example_of_the_package_runs() -> None:
    for module in (gs, gs.errors):
        assert doctest.testmod(module).attempted > 0
        assert doctest.testmod(module).failed == 0


def test_the_core_never_imports_the_driver() -> None:
    for path in Path(core.__file__).parent.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in getattr(node, "names", [])]
            module = getattr(node, "module", None) or ""
            imported = [*names, module] if isinstance(node, ast.Import | ast.ImportFrom) else []
            assert not any(name.startswith("groundstate.driver") for name in imported), path
