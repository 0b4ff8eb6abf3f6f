"""Compares the calls of two recordings: what was called, with what, and what was answered.

Handles are compared by the order in which a thread first sees them, since they are others in each
run; of an address counts only that it is one. What a call answers through pointers is not compared:
times and measures differ from run to run. Nor are questions whose answer was "not ready": how often
a program asks depends on the weather.
"""

from __future__ import annotations

import hashlib
import json
import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from groundstate import ze
from groundstate.capture.describe import NamedCall, named_records, parsed
from groundstate.capture.stream import Kind, StreamError, StreamReader, Writes
from groundstate.capture.stream.formats import Form, Phase
from groundstate.capture.views.plain import call_data

WINDOW = 256
"""So far ahead calls are looked for that one of the recordings does not have."""
KEPT = 1000
_ADDRESS = re.compile(r"0x[0-9a-f]+")
_LOWEST_ADDRESS, _HIGHEST_ADDRESS = 1 << 32, 1 << 57


@dataclass(frozen=True)
class CallDifference:
    """Calls that are not alike; None where a recording does not have the call."""

    thread: int
    left: int | None  # the record
    right: int | None
    left_text: str = ""
    right_text: str = ""


@dataclass
class CallComparison:
    """What differs between the calls and the uploads of two recordings."""

    calls: int = 0
    count: int = 0
    differences: list[CallDifference] = field(default_factory=list)
    uploads: int = 0
    uploads_differ: int = 0
    first_upload: tuple[int, int] | None = None  # records on both sides
    problems: list[str] = field(default_factory=list)

    @property
    def same(self) -> bool:
        """Whether all calls and all uploads are alike."""
        return not self.count and not self.uploads_differ and not self.problems


class _Names:
    """Handles by their kind and the order in which they were seen, such as "ze_event 3"."""

    def __init__(self) -> None:
        self._names: dict[str, str] = {}
        self._counts: Counter[str] = Counter()

    def learn(self, handle: str, kind: str) -> None:
        """Gives a handle its name, unless it has one."""
        if handle not in self._names and int(handle, 16):
            self._counts[kind] += 1
            self._names[handle] = f"{kind} {self._counts[kind]}"

    def get(self, word: str) -> str:
        """What 64 bits are called: a handle, an address or nothing."""
        return self._names.get(word, "address" if int(word, 16) else "null")

    def of_word(self, word: int) -> str | int:
        """The same for bits that may be a number, too."""
        if hex(word) in self._names:
            return self._names[hex(word)]
        return "address" if _LOWEST_ADDRESS <= word < _HIGHEST_ADDRESS else word


@dataclass
class _Thread:
    """The calls of a thread: what each is, as a number, and its record."""

    keys: array[int] = field(default_factory=lambda: array("Q"))
    records: array[int] = field(default_factory=lambda: array("Q"))
    names: _Names = field(default_factory=_Names)


@dataclass
class _Outline:
    threads: dict[int, _Thread] = field(default_factory=dict)
    uploads: list[tuple[bytes, int]] = field(default_factory=list)
    problem: str | None = None


def compare_calls(left: StreamReader, right: StreamReader) -> CallComparison:
    """Goes through both recordings."""
    found = CallComparison()
    ours, theirs = _outline(left), _outline(right)
    for name, outline in ((left.path.name, ours), (right.path.name, theirs)):
        if outline.problem is not None:
            found.problems.append(f"{name}: {outline.problem}")
    for thread in sorted(ours.threads.keys() | theirs.threads.keys()):
        one = ours.threads.get(thread, _Thread())
        other = theirs.threads.get(thread, _Thread())
        found.calls += max(len(one.keys), len(other.keys))
        for first, second in _unlike(one.keys, other.keys):
            found.count += 1
            if len(found.differences) < KEPT:
                found.differences.append(
                    CallDifference(
                        thread,
                        None if first is None else one.records[first],
                        None if second is None else other.records[second],
                    )
                )
    _compare_uploads(ours.uploads, theirs.uploads, found)
    return found


def with_texts(
    found: CallComparison, left: StreamReader, right: StreamReader, count: int
) -> list[CallDifference]:
    """The first differences, with the calls in text."""
    shown = found.differences[:count]
    texts = [
        _texts(reader, {record for record in records if record is not None})
        for reader, records in (
            (left, [each.left for each in shown]),
            (right, [each.right for each in shown]),
        )
    ]
    return [
        CallDifference(
            each.thread,
            each.left,
            each.right,
            texts[0].get(each.left or -1, ""),
            texts[1].get(each.right or -1, ""),
        )
        for each in shown
    ]


def _texts(reader: StreamReader, records: set[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    try:
        for record, call in named_records(reader):
            if call is not None and record.number in records:
                found[record.number] = str(call)
                if len(found) == len(records):
                    break
    except StreamError:
        pass  # it was reported when the recording was read
    return found


def _outline(reader: StreamReader) -> _Outline:
    outline = _Outline()
    try:
        for record, call in named_records(reader):
            if call is not None and call.call.result == ze.ZE_RESULT_NOT_READY:
                continue
            if call is not None:
                thread = outline.threads.setdefault(call.call.thread, _Thread())
                thread.keys.append(_key(call, thread.names))
                thread.records.append(record.number)
            elif record.kind == Kind.WRITES:
                writes = Writes.unpack(record.body)
                if not writes.flags:  # of others it is not certain what the host wrote
                    outline.uploads.append((_upload_key(writes), record.number))
    except StreamError as problem:
        outline.problem = str(problem)
    if reader.damage is not None:
        outline.problem = f"damaged {reader.damage}"
    return outline


def _key(call: NamedCall, names: _Names) -> int:
    """A number that is the same for calls that are alike."""
    data = call_data(call)
    _learn_handles(call, data["arguments"], names)
    result = data["result"] if call.returns == "ze_result_t" else ""
    alike = [data["function"], result, _alike(data["arguments"], names), _further(call, names)]
    text = json.dumps(alike, sort_keys=True).encode()
    return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")


def _learn_handles(call: NamedCall, arguments: dict[str, Any], names: _Names) -> None:
    """Numbers the handles that a call is given or hands out."""
    for declaration in call.parameters:
        match = parsed(declaration)
        value = arguments.get(match["name"])
        if not match["base"].endswith("_handle_t"):
            continue
        values = value.get("after", value.get("before")) if isinstance(value, dict) else value
        for each in values if isinstance(values, list) else [values]:
            if isinstance(each, str):
                names.learn(each, match["base"].removesuffix("_handle_t"))


def _alike(value: Any, names: _Names) -> Any:
    """A value without what is different in each run."""
    if isinstance(value, dict):
        if value.get("bytes") == 8 and "hex" in value:
            return names.of_word(int.from_bytes(bytes.fromhex(value["hex"]), "little"))
        kept = {key: each for key, each in value.items() if key not in ("address", "after")}
        return {key: _alike(each, names) for key, each in kept.items()}
    if isinstance(value, list):
        return [_alike(each, names) for each in value]
    if isinstance(value, str) and _ADDRESS.fullmatch(value):
        return names.get(value)
    return value


def _further(call: NamedCall, names: _Names) -> list[Any]:
    """What the fields of a call's structs lead to: names, options, modules, arrays."""
    found: list[Any] = []
    blocks = [block for block in call.call.blocks if block.phase == Phase.BEFORE]
    # Structs of a chain were described with the one they extend; their gaps hold anything.
    chained = {int.from_bytes(block.data[8:16], "little") for block in blocks}
    for block in blocks:
        if block.address in call.call.arguments or block.address in chained:
            continue
        if block.form != Form.BYTES:
            found.append(block.data.hex())
        elif block.data[-1:] == b"\0" and block.data[:-1].isascii():
            found.append(block.data.split(b"\0", 1)[0].decode("ascii"))
        elif len(block.data) % 8 == 0:
            words = (block.data[at : at + 8] for at in range(0, len(block.data), 8))
            found.append([names.of_word(int.from_bytes(word, "little")) for word in words])
    return found


def _upload_key(writes: Writes) -> bytes:
    seal = hashlib.blake2b(digest_size=16)
    for run in writes.runs:
        seal.update(run.size.to_bytes(8, "little") + b"".join(run.digests))
    return seal.digest()


def _compare_uploads(
    ours: list[tuple[bytes, int]], theirs: list[tuple[bytes, int]], found: CallComparison
) -> None:
    found.uploads = max(len(ours), len(theirs))
    found.uploads_differ = abs(len(ours) - len(theirs))
    for (one, record), (other, other_record) in zip(ours, theirs, strict=False):
        if one != other:
            found.uploads_differ += 1
            if found.first_upload is None:
                found.first_upload = (record, other_record)


def _unlike(ours: array[int], theirs: array[int]) -> Iterator[tuple[int | None, int | None]]:
    """Places of calls that are not alike, in step again after calls that one side does not have."""
    i = j = 0
    while i < len(ours) and j < len(theirs):
        if ours[i] == theirs[j]:
            i, j = i + 1, j + 1
            continue
        skip_ours, skip_theirs = _in_step(ours, theirs, i, j)
        both = min(skip_ours, skip_theirs)
        yield from ((i + k, j + k) for k in range(both))
        yield from ((i + k, None) for k in range(both, skip_ours))
        yield from ((None, j + k) for k in range(both, skip_theirs))
        i, j = i + skip_ours, j + skip_theirs
    yield from ((k, None) for k in range(i, len(ours)))
    yield from ((None, k) for k in range(j, len(theirs)))


def _in_step(ours: array[int], theirs: array[int], i: int, j: int) -> tuple[int, int]:
    """How many calls to pass over on both sides, as few as possible, to be in step again."""
    mine = {key: place for place, key in reversed(list(enumerate(ours[i : i + WINDOW])))}
    best: tuple[int, int] | None = None
    for place, key in enumerate(theirs[j : j + WINDOW]):
        if key in mine and (best is None or mine[key] + place < sum(best)):
            best = (mine[key], place)
    if best is None:
        return min(WINDOW, len(ours) - i), min(WINDOW, len(theirs) - j)
    return best
