"""Dependencies point one way, as docs/internals/architecture.md says."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "src" / "groundstate"

FORBIDDEN = {
    "core": ("driver", "cli", "monitor"),
    "driver": ("core", "cli", "monitor"),
    "capture": ("driver", "cli", "monitor", "compiler"),
    "compiler": ("core", "cli", "driver", "monitor"),
    "monitor": ("driver", "cli", "compiler", "zes"),
    "dnn": ("driver", "cli", "monitor", "capture"),
    "survey": ("core", "driver", "cli", "monitor", "capture"),
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
