"""SARIF 2.1.0: what the standard requires of each object is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from groundstate.check.collected import Collected
from groundstate.check.sarif import sarif_log
from groundstate.check.suppressions import parse
from groundstate.excerpt import Place, of_other
from groundstate.findings import Finding

SOURCE = "    größe[i + 1] = 0;"

REQUIRED: dict[str, dict[str, type | tuple[type, ...]]] = {
    "log": {"version": str, "runs": list},
    "run": {"tool": dict, "results": list},
    "driver": {"name": str},
    "rule": {"id": str},
    "result": {"message": dict},
    "invocation": {"executionSuccessful": bool},
    "suppression": {"kind": str},
    "stack": {"frames": list},
}
"""The properties that the schema of the standard requires, section 3 of its text."""
ALLOWED = {
    "log": {"$schema", "version", "runs", "inlineExternalProperties", "properties"},
    "result": {
        *("ruleId", "ruleIndex", "level", "kind", "message", "locations", "occurrenceCount"),
        *("partialFingerprints", "properties", "stacks", "suppressions", "relatedLocations"),
    },
    "location": {"id", "physicalLocation", "logicalLocations", "message", "properties"},
    "physicalLocation": {"artifactLocation", "region", "contextRegion", "address"},
    "region": {"startLine", "startColumn", "endLine", "endColumn", "snippet", "message"},
    "rule": {"id", "name", "shortDescription", "fullDescription", "defaultConfiguration", "help"},
}
"""Those that it knows: it forbids others."""


def hold(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """Holds an object against the schema."""
    for key, kind in REQUIRED.get(name, {}).items():
        assert isinstance(values[key], kind), (name, key)
    assert set(values) <= ALLOWED.get(name, set(values)), name
    assert None not in values.values(), name
    return values


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    monkeypatch.chdir(tmp_path)
    found = [
        Finding(
            "memory",
            "out-of-bounds-write",
            "out-of-bounds write of 4 bytes",
            [
                Place(str(tmp_path / "k 1.cl"), 17, 13, SOURCE, "in put", "argument 1"),
                Place("/elsewhere/b.cl", 3, 0),
            ],
            ["allocated by zeMemAllocDevice"],
            kernel="blur",
            work_item=(8, 0, 0),
            count=12,
        ),
        Finding("host", "leaked-object", "an event is never destroyed"),
        Finding("memory", "null-read", "a read", [Place("a.cl", 1, 1)], kernel="known"),
    ]
    with Collected(parse("* kernel=known")) as collected:
        with collected.path.open("a") as file:
            file.writelines(json.dumps(each.as_json() | {"process": 1}) + "\n" for each in found)
        collected.read()
        text = json.dumps(sarif_log(collected, ["./app", "-v"], 3))
    values: dict[str, Any] = json.loads(text)
    return values


def test_log_has_what_the_standard_requires(log: dict[str, Any]) -> None:
    hold("log", log)
    assert log["version"] == "2.1.0"
    (run,) = log["runs"]
    driver = hold("driver", hold("run", run)["tool"]["driver"])
    rules = [hold("rule", each) for each in driver["rules"]]
    for result in run["results"]:
        hold("result", result)
        assert result["message"]["text"]
        assert result["level"] in ("none", "note", "warning", "error")
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        for stack in result.get("stacks", []):
            hold("stack", stack)
        frames = [each for stack in result.get("stacks", []) for each in stack["frames"]]
        for location in [*result["locations"], *(each["location"] for each in frames)]:
            physical = hold("location", location)["physicalLocation"]
            region = hold("region", hold("physicalLocation", physical)["region"])
            assert region["startLine"] >= 1
            assert region.get("startColumn", 1) >= 1
        for suppression in result.get("suppressions", []):
            assert hold("suppression", suppression)["kind"] in ("inSource", "external")
    (invocation,) = run["invocations"]
    assert hold("invocation", invocation)["executionSuccessful"] is False
    assert invocation["exitCode"] == 3


def test_places_are_those_of_the_finding(log: dict[str, Any]) -> None:
    result = log["runs"][0]["results"][0]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "k%201.cl"
    # Byte 13 of the line is its character 11.
    assert log["runs"][0]["columnKind"] == "unicodeCodePoints"
    assert place["region"] == {
        "startLine": 17,
        "startColumn": 11,
        "snippet": {"text": SOURCE},
    }
    caller = result["stacks"][0]["frames"][1]["location"]["physicalLocation"]
    assert caller["artifactLocation"]["uri"] == "file:///elsewhere/b.cl"
    assert result["occurrenceCount"] == 12
    assert result["properties"] == {"checker": "memory", "workItem": [8, 0, 0]}
    assert result["locations"][0]["logicalLocations"] == [{"name": "blur", "kind": "function"}]


def test_other_party_is_a_related_location() -> None:
    places = [
        Place("a.cl", 3, 1, beside="in put", label="write by work-item (0, 0, 0)"),
        Place("a.cl", 9, 1),
        *of_other([Place("b.cl", 5, 1, label="read by work-item (1, 0, 0)")], "group (0, 0, 0)"),
    ]
    found = Finding("races", "race-in-local-memory", "a race", places, kernel="k")
    with Collected() as collected:
        collected.path.write_text(json.dumps(found.as_json() | {"process": 1}) + "\n")
        collected.read()
        (result,) = sarif_log(collected, ["app"], 0)["runs"][0]["results"]
    (related,) = result["relatedLocations"]
    hold("location", related)
    assert related["physicalLocation"]["artifactLocation"]["uri"] == "b.cl"
    assert related["message"]["text"] == "read by work-item (1, 0, 0), group (0, 0, 0)"
    (stack,) = result["stacks"]
    assert [
        each["location"]["physicalLocation"]["region"]["startLine"] for each in stack["frames"]
    ] == [3, 9]


def test_rules_are_kinds_in_words(log: dict[str, Any]) -> None:
    rules = log["runs"][0]["tool"]["driver"]["rules"]
    assert [(each["id"], each["shortDescription"]["text"]) for each in rules] == [
        ("out-of-bounds-write", "Out-of-bounds write"),
        ("leaked-object", "Leaked object"),
        ("null-read", "Null read"),
    ]


def test_suppressed_results_say_so(log: dict[str, Any]) -> None:
    results = log["runs"][0]["results"]
    assert ["suppressions" in each for each in results] == [False, False, True]


def test_fingerprint_stays_when_lines_move() -> None:
    def fingerprint(line: int, source: str, column: int = 3) -> Any:
        found = Finding("memory", "null-read", "a read", [Place("a.cl", line, column, source)])
        with Collected() as collected:
            collected.path.write_text(json.dumps(found.as_json() | {"process": 1}) + "\n")
            collected.read()
            (result,) = sarif_log(collected, ["app"], 0)["runs"][0]["results"]
        return result["partialFingerprints"]

    assert fingerprint(3, "  a[i]") == fingerprint(7, "a[i]", column=1)
    assert fingerprint(3, "  a[i] + a[j]") != fingerprint(3, "  a[i] + a[j]", column=10)
    assert fingerprint(3, "  a[i]") != fingerprint(3, "b[i]")
