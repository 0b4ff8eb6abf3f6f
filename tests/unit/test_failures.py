"""Sentences of failures in the Python half of the driver."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import groundstate

DRIVER = Path(groundstate.__file__).parent / "driver"
FUNCTION = re.compile(r"ze[rst]?[A-Z]\w*: ")
OF_A_FUNCTION = ("function", "name")


def _sentences() -> Iterator[tuple[str, ast.expr]]:
    for path in DRIVER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Failure":
                yield f"{path.name}:{node.lineno}", node.args[1]


def _begins_with_function(sentence: ast.expr) -> bool:
    parts = sentence.values if isinstance(sentence, ast.JoinedStr) else [sentence]
    if isinstance(parts[0], ast.Constant):
        return FUNCTION.match(str(parts[0].value)) is not None
    value = parts[0].value if isinstance(parts[0], ast.FormattedValue) else None
    behind = parts[1].value if len(parts) > 1 and isinstance(parts[1], ast.Constant) else ""
    is_name = isinstance(value, ast.Name) and value.id in OF_A_FUNCTION
    return is_name and str(behind).startswith(": ")


def test_failures_leave_the_function_to_who_hands_them_on() -> None:
    """`native/python/handlers.c` puts its name before each sentence."""
    sentences = list(_sentences())
    assert len(sentences) > 100
    assert [where for where, sentence in sentences if _begins_with_function(sentence)] == []
