"""Findings as SARIF 2.1.0, the format that code review tools and editors read."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from groundstate.check.collected import Collected
from groundstate.excerpt import Place
from groundstate.findings import Finding, words_of
from groundstate.version import __version__

SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def sarif_log(collected: Collected, command: Sequence[str], status: int) -> dict[str, Any]:
    """A whole log: one run of one program."""
    told, suppressed = collected.findings, collected.suppressed
    rules = list(dict.fromkeys(each.kind for each in (*told, *suppressed)))
    results = [_result(each, rules) for each in told]
    known = {"suppressions": [{"kind": "external"}]}
    results += [_result(each, rules) | known for each in suppressed]
    run = {
        "tool": {
            "driver": {
                "name": "groundstate check",
                "version": __version__,
                "semanticVersion": __version__,
                "rules": [_rule(kind) for kind in rules],
            }
        },
        "invocations": [
            {
                "executionSuccessful": status == 0,
                "exitCode": status,
                "commandLine": " ".join(command),
                "arguments": list(command[1:]),
            }
        ],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}


def _rule(kind: str) -> dict[str, Any]:
    words = words_of(kind)
    return {
        "id": kind,
        "name": "".join(word.capitalize() for word in kind.split("-")),
        "shortDescription": {"text": words[:1].upper() + words[1:]},
        "defaultConfiguration": {"level": "error"},
    }


def _result(finding: Finding, rules: list[str]) -> dict[str, Any]:
    found: dict[str, Any] = {
        "ruleId": finding.kind,
        "ruleIndex": rules.index(finding.kind),
        "level": "error",
        "message": {"text": "\n".join([finding.title, *finding.notes])},
        "locations": [_location(each, finding.kernel) for each in finding.places[:1]],
        "occurrenceCount": max(finding.count, 1),
        "partialFingerprints": {"groundstate/v1": _fingerprint(finding)},
        "properties": {"checker": finding.checker},
    }
    for name, value in (("workItem", finding.work_item), ("group", finding.group)):
        if value is not None:
            found["properties"][name] = list(value)
    own, *others = _parties(finding.places)
    if others:
        found["relatedLocations"] = [_related(each[0], finding.kernel) for each in others]
    stacks = [_stack(each, finding.kernel) for each in (own, *others) if len(each) > 1]
    if stacks:
        found["stacks"] = stacks
    return found


def _parties(places: Sequence[Place]) -> list[list[Place]]:
    """The places of each party: an access and the calls that it was inlined into."""
    parties: list[list[Place]] = [[]]
    for place in places:
        if place.begins_other:
            parties.append([])
        parties[-1].append(place)
    return parties


def _related(place: Place, kernel: str | None) -> dict[str, Any]:
    """Where another party was, and who it is."""
    said = [text for text in (place.label, place.beside) if text]
    return _location(place, kernel) | {"message": {"text": ", ".join(said) or "the other access"}}


def _stack(places: Sequence[Place], kernel: str | None) -> dict[str, Any]:
    frames = [{"location": _location(each, kernel)} for each in places]
    return {"message": {"text": "inlined calls"}, "frames": frames}


def _location(place: Place, kernel: str | None) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(place.line, 1)}
    if place.column > 0:
        region["startColumn"] = _character(place.source, place.column)
    if place.source is not None:
        region["snippet"] = {"text": place.source}
    found: dict[str, Any] = {
        "physicalLocation": {"artifactLocation": {"uri": _uri(place.file)}, "region": region}
    }
    if place.label:
        found["message"] = {"text": place.label}
    if kernel is not None:
        found["logicalLocations"] = [{"name": kernel, "kind": "function"}]
    return found


def _character(source: str | None, column: int) -> int:
    """A column in characters: ours are in bytes."""
    if source is None:
        return column
    return len(source.encode("utf-8", "replace")[: column - 1].decode("utf-8", "ignore")) + 1


def _uri(path: str) -> str:
    """Relative where that is possible, as tools expect that compare with a checkout."""
    if os.path.isabs(path):
        here = os.path.join(os.getcwd(), "")
        if not path.startswith(here):
            return "file://" + quote(path)
        path = path[len(here) :]
    return quote(path)


def _fingerprint(finding: Finding) -> str:
    """The same from run to run, while lines above are added and removed."""
    from hashlib import sha256

    parts = [f"{os.path.basename(each.file)}:{_within_file(each)}" for each in finding.places]
    text = "\n".join([finding.kind, finding.kernel or "", *(parts or finding.notes)])
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:32]


def _within_file(place: Place) -> str:
    """What the line says, and where in it: two accesses of a line are two findings."""
    if place.source is None:
        return f"{place.line}:{place.column}"
    indentation = len(place.source) - len(place.source.lstrip())
    return f"{place.source.strip()}:{max(0, place.column - indentation)}"
