"""Dependencies point one way, as docs/internals/architecture.md says."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "groundstate"

FORBIDDEN = {
    "core": ("dask", "driver", "cli", "monitor", "profiler"),
    "profiler": ("dask", "driver", "cli", "monitor", "capture", "check"),
    "check": ("core", "dask", "driver", "cli", "monitor", "capture"),
    "driver": ("core", "dask", "cli", "monitor", "check", "profiler"),
    "capture": ("dask", "driver", "cli", "monitor", "compiler"),
    "compiler": ("core", "cli", "dask", "driver", "monitor"),
    "monitor": ("dask", "driver", "cli", "compiler", "zes"),
    "dnn": ("dask", "driver", "cli", "monitor", "capture"),
    "survey": ("core", "dask", "driver", "cli", "monitor", "capture"),
    "dask": ("driver", "cli", "monitor", "capture"),
}
"""What the modules of a folder must not import, at any depth of their code."""


def imported(path: Path) -> set[str]:
    """The parts of the package that a file imports: `driver` of `groundstate.driver.api`."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module == "groundstate":
            names = [f"groundstate.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
        for name in names:
            parts = name.split(".")
            if parts[0] == "groundstate" and len(parts) > 1:
                found.add(parts[1])
    return found


@pytest.mark.parametrize("folder", FORBIDDEN)
def test_imports_point_one_way(folder: str) -> None:
    files = sorted((PACKAGE / folder).rglob("*.py"))
    assert files
    wrong = {
        str(path.relative_to(PACKAGE)): sorted(both)
        for path in files
        if (both := imported(path) & set(FORBIDDEN[folder]))
    }
    assert wrong == {}


def test_the_rule_can_be_broken(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(
        "def f():\n    from groundstate.driver import api\n    from groundstate import cli\n"
    )
    assert imported(file) == {"driver", "cli"}


def test_named_native_sources_exist() -> None:
    named = re.compile(r"(?<![\w/])native/[\w/]+\.(?:py|[ch])\b")
    folders = ("src", "docs", "registry", "tests", "native")
    files = [path for folder in folders for path in (ROOT / folder).rglob("*")]
    texts = {path: path.read_text() for path in files if path.suffix in (".py", ".md", ".c", ".h")}
    missing = {
        (str(path.relative_to(ROOT)), name)
        for path, text in texts.items()
        for name in named.findall(text)
        if not (ROOT / name).exists()
    }
    assert missing == set()


@pytest.mark.parametrize("folder", ["native", "registry"])
def test_no_folder_has_more_than_25_files(folder: str) -> None:
    folders = [ROOT / folder, *(path for path in (ROOT / folder).rglob("*") if path.is_dir())]
    sizes = {
        str(each.relative_to(ROOT)): sum(path.is_file() for path in each.iterdir())
        for each in folders
        if each.name != "__pycache__"
    }
    assert {name: size for name, size in sizes.items() if size > 25} == {}
