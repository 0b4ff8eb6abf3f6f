"""The promises of docs/reference/security.md: each names a test, and that test exists."""

from __future__ import annotations

import ast
import re
from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from .pages import ROOT

PAGE = (ROOT / "docs" / "reference" / "security.md").read_text(encoding="utf-8")
NAMED = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")


def promises() -> list[tuple[str, str]]:
    """The rows of the table: a promise, and the tests that it names."""
    section = PAGE.partition("## Promises")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in section.splitlines() if line.startswith("|")]
    return [(row[0].strip(), row[1].strip()) for row in rows[2:]]


@cache
def functions_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return frozenset(each.name for each in tree.body if isinstance(each, ast.FunctionDef))


@pytest.mark.parametrize(("file", "test"), sorted(set(NAMED.findall(PAGE))))
def test_a_test_that_is_named_exists(file: str, test: str) -> None:
    assert test.startswith("test_")
    assert test in functions_in(ROOT / file)


def test_every_promise_is_held_by_a_test() -> None:
    rows = [row for row in promises() if not row[0].startswith("**")]
    assert len(rows) > 20
    assert [promise for promise, tests in rows if not NAMED.search(tests)] == []
    assert all(tests.count("`") == 2 * len(NAMED.findall(tests)) for _, tests in rows)


def test_every_part_of_the_table_has_promises() -> None:
    titles = [promise.startswith("**") for promise, _ in promises()]
    assert titles[0]
    assert not titles[-1]
    assert not any(one and other for one, other in pairwise(titles))
