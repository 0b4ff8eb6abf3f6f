"""What a stream is: when and where it was recorded, how large it is, what is in it, what is wrong.

One pass over the stream. Lists in it are as long as recorders make them; of what a stranger's
stream has beyond that, only the number is kept.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from groundstate import _raw, ze
from groundstate.capture.describe import NamedCall, named_records
from groundstate.capture.stream import Block, Kind, Record, StreamError, StreamReader
from groundstate.capture.stream.formats import DIGEST_SIZE, Form, Phase
from groundstate.capture.stream.journal import journal_of
from groundstate.printable import printable

LISTED = 256
"""So many devices and modules are listed."""
KIND_NAMES = {int(kind): kind.name.lower() for kind in Kind}


@dataclass(frozen=True)
class DeviceSeen:
    """A device whose properties the program asked for."""

    name: str
    kind: str
    uuid: str


@dataclass(frozen=True)
class ModuleSeen:
    """A module that the program made."""

    record: int
    form: str
    size: int
    digest: str
    options: str
    succeeded: bool


@dataclass(frozen=True)
class Inside:
    """A call that had not returned when the recording ended."""

    thread: int
    function: str
    time: int


@dataclass
class Summary:
    """Facts of one stream."""

    file: str
    file_bytes: int
    journal_bytes: int
    version: str
    process: int
    started: int
    about: dict[str, list[str]] = field(default_factory=dict)
    finished: bool = False
    problem: str | None = None
    records: Counter[str] = field(default_factory=Counter)
    record_bytes: int = 0
    calls: int = 0
    failed: int = 0
    functions: int = 0
    threads: int = 0
    duration: int = 0
    contents: int = 0
    content_bytes: int = 0
    devices: list[DeviceSeen] = field(default_factory=list)
    modules: list[ModuleSeen] = field(default_factory=list)
    unlisted_modules: int = 0
    inside: list[Inside] = field(default_factory=list)

    @property
    def started_text(self) -> str:
        """When the recording began, as clocks on the wall have it here."""
        try:
            return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self.started // 10**9))
        except (OverflowError, ValueError, OSError):
            return "at a time that no calendar has"

    def data(self) -> dict[str, Any]:
        """All of it, for JSON."""
        return {**asdict(self), "records": dict(self.records)}


def summarise(path: Path) -> Summary:
    """Reads a stream to its end, or to where it is damaged, which `problem` then tells."""
    with StreamReader(path) as reader:
        header = reader.header
        summary = Summary(
            file=path.name,
            file_bytes=path.stat().st_size,
            journal_bytes=_journal_size(path),
            version=f"{header.major}.{header.minor}",
            process=header.process,
            started=header.start,
        )
        names: dict[int, str] = {}
        try:
            _read_through(reader, summary, names)
        except StreamError as problem:
            summary.problem = str(problem)
        summary.finished = reader.finished
        if reader.damage is not None:
            summary.problem = f"damaged {reader.damage}"
        for call in reader.unreturned:
            name = names.get(call.function, f"function {call.function}")
            summary.inside.append(Inside(call.thread, name, call.time))
    return summary


def _read_through(reader: StreamReader, summary: Summary, names: dict[int, str]) -> None:
    functions: set[str] = set()
    threads: set[int] = set()
    for record, call in named_records(reader, names):
        summary.records[_kind_name(record.kind)] += 1
        summary.record_bytes += len(record.body)
        if call is not None:
            functions.add(call.name)
            threads.add(call.call.thread)
            _add_call(summary, call)
            summary.functions, summary.threads = len(functions), len(threads)
        elif record.kind == Kind.CONTENT:
            summary.contents += 1
            summary.content_bytes += max(0, len(record.body) - DIGEST_SIZE)
        elif record.kind == Kind.ABOUT and not summary.about:
            summary.about = about_of(record)


def about_of(record: Record) -> dict[str, list[str]]:
    """What an `about` record says: for each key, its values."""
    about: dict[str, list[str]] = {}
    fields = record.body.decode("utf-8", "replace").split("\0")
    for key, value in zip(fields[::2], fields[1::2], strict=False):
        about.setdefault(key, []).append(value)
    return about


def _kind_name(kind: int) -> str:
    return KIND_NAMES.get(kind, "unknown")


def _add_call(summary: Summary, call: NamedCall) -> None:
    summary.calls += 1
    summary.failed += has_failed(call)
    summary.duration = max(summary.duration, call.call.time + call.call.duration)
    if call.name == "zeDeviceGetProperties":
        for device in _devices(call):
            if device not in summary.devices and len(summary.devices) < LISTED:
                summary.devices.append(device)
    elif call.name == "zeModuleCreate":
        module = _module(call)
        if len(summary.modules) < LISTED and module is not None:
            summary.modules.append(module)
        else:
            summary.unlisted_modules += 1


def values_of(call: NamedCall, parameter: str, phase: Phase) -> list[Any]:
    """What a pointer parameter led to; nothing if the stream does not have it."""
    try:
        found = call.value(parameter, phase)
    except KeyError:
        return []
    return found if isinstance(found, list) else []


def has_failed(call: NamedCall) -> bool:
    """Whether a call answered with an error; a question whose answer is "not ready" has not."""
    answers = (ze.ZE_RESULT_SUCCESS, ze.ZE_RESULT_NOT_READY)
    return call.returns == "ze_result_t" and call.call.result not in answers


def _devices(call: NamedCall) -> Iterator[DeviceSeen]:
    for found in values_of(call, "pDeviceProperties", Phase.AFTER):
        kind = _raw._symbol("ze_device_type_t", found.type)
        yield DeviceSeen(
            printable(found.name.decode("utf-8", "replace")),
            kind.removeprefix("ZE_DEVICE_TYPE_"),
            bytes(found.uuid.id)[::-1].hex(),
        )


def _module(call: NamedCall) -> ModuleSeen | None:
    described = values_of(call, "desc", Phase.BEFORE)
    if not described:
        return None
    (first, *_) = described
    block = call.call.at(first.pInputModule or 0, Phase.BEFORE)
    return ModuleSeen(
        record=call.number,
        form=_raw._symbol("ze_module_format_t", first.format).removeprefix("ZE_MODULE_FORMAT_"),
        size=first.inputSize,
        digest=_digest_text(block),
        options=text_behind(call, first, "pBuildFlags"),
        succeeded=not has_failed(call),
    )


def text_behind(call: NamedCall, struct: Any, field: str) -> str:
    """The string that a field led to; the pointers of a recording are never followed here."""
    place = getattr(type(struct), field).offset
    address = int.from_bytes(bytes(struct)[place : place + 8], "little")
    block = call.call.at(address, Phase.BEFORE) if address else None
    if block is None or block.form != Form.BYTES:
        return ""
    return block.data.split(b"\0", 1)[0].decode("utf-8", "replace")


def _digest_text(block: Block | None) -> str:
    """The beginning of the digest of what a block holds, by which people tell modules apart."""
    if block is None or not block.digests:
        return ""
    return block.digests[0].hex()[:12]


def _journal_size(path: Path) -> int:
    try:
        return journal_of(path).stat().st_size
    except FileNotFoundError:
        return 0
