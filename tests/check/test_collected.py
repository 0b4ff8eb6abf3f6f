"""What processes append to the file of findings is merged, counted and filtered."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from groundstate.check.collected import Collected
from groundstate.check.suppressions import parse
from groundstate.excerpt import Place
from groundstate.findings import Finding, replace

WRITE = Finding("memory", "out-of-bounds-write", "a write", [Place("blur.cl", 17, 9)])
LEAK = Finding("host", "leaked-object", "a leak")


@pytest.fixture
def collected() -> Iterator[Collected]:
    with Collected(parse("leaked-object")) as made:
        yield made


def append(to: Collected, finding: Finding, process: int = 1) -> None:
    with to.path.open("a") as file:
        file.write(json.dumps(finding.as_json() | {"process": process}) + "\n")


def test_last_count_of_each_process_counts(collected: Collected) -> None:
    for process, count in ((1, 1), (1, 4), (2, 10), (1, 6)):
        append(collected, replace(WRITE, count=count), process)
    assert [each.kind for each in collected.read()] == ["out-of-bounds-write"]
    assert [each.count for each in collected.findings] == [16]
    append(collected, replace(WRITE, count=7))
    assert collected.read() == []
    assert [each.count for each in collected.findings] == [17]


def test_suppressed_findings_are_kept_apart(collected: Collected) -> None:
    append(collected, LEAK)
    append(collected, WRITE)
    assert [each.kind for each in collected.read()] == ["out-of-bounds-write"]
    assert [each.kind for each in collected.findings] == ["out-of-bounds-write"]
    assert [each.kind for each in collected.suppressed] == ["leaked-object"]


def test_half_a_line_is_read_when_it_is_whole(collected: Collected) -> None:
    line = json.dumps(WRITE.as_json() | {"process": 1}) + "\n"
    for part in (line[:30], line[30:]):
        assert collected.read() == []
        with collected.path.open("a") as file:
            file.write(part)
    assert len(collected.read()) == 1


def test_checkers_of_all_processes_are_known(collected: Collected) -> None:
    assert collected.checkers == ()
    with collected.path.open("a") as file:
        file.write('{"checkers": ["memory", "host"], "process": 1}\n')
        file.write('{"checkers": ["host", "arithmetic"], "process": 2}\n')
    assert collected.read() == []
    assert collected.checkers == ("memory", "host", "arithmetic")


@pytest.mark.parametrize(
    "line",
    [
        "",
        "nonsense",
        "[]",
        "{}",
        '{"process": 1}',
        '{"process": "x", "kind": "a"}',
        '{"process": 1, "checker": "a", "kind": "b", "title": "c", "places": 7}',
        '{"process": 1, "checker": "a", "kind": [], "title": "c", "places": [{}]}',
        '{"process": 1, "checker": "a", "kind": [], "title": "c"}',
        '{"process": 1, "checkers": 7}',
    ],
)
def test_nonsense_is_passed_over(collected: Collected, line: str) -> None:
    with collected.path.open("a") as file:
        file.write(line + "\n")
    append(collected, WRITE)
    assert len(collected.read()) == 1
    assert len(collected.findings) == 1


def test_emptied_file_begins_anew(collected: Collected) -> None:
    append(collected, WRITE)
    assert len(collected.read()) == 1
    collected.empty()
    assert collected.findings == []
    append(collected, WRITE)
    assert len(collected.read()) == 1


def test_closed_one_leaves_nothing() -> None:
    with Collected() as made:
        folder = made.path.parent
        assert folder.exists()
    assert not folder.exists()
