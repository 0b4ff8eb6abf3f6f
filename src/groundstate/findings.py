"""What checked mode found in a program, and how the driver tells it while the program runs.

A checker makes a `Finding` and hands it to `report`. The same kind at the same places is one
finding with a count. Where GROUNDSTATE_CHECK_OUTPUT names a file, as under `groundstate check`,
each finding becomes a line of JSON in it; otherwise it is printed on stderr.

>>> place = Place("blur.cl", 17, 9, "    out[i + 1] = sum;", "", "argument 1 'out'")
>>> found = Finding("memory", "out-of-bounds-write", "out-of-bounds write of 4 bytes", [place],
...                 kernel="blur", work_item=(1024, 0, 0), group=(4, 0, 0))
>>> print(render(found))
error: out-of-bounds write of 4 bytes
  --> blur.cl:17:9   kernel blur, work-item (1024, 0, 0), group (4, 0, 0)
   17 |     out[i + 1] = sum;
      |         ^ argument 1 'out'
"""

from __future__ import annotations

import os
from _thread import allocate_lock
from collections.abc import Iterable, Sequence
from typing import Any

from groundstate import excerpt, knobs
from groundstate.compiler.light_dataclass import light_dataclass, replace
from groundstate.excerpt import Place
from groundstate.printable import printable

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from groundstate.check.suppressions import Suppression

STDERR = 2

GENERATION = b'{"generation": "'
GENERATION_BYTES = len(GENERATION) + 8
"""Of the line at the start of a file whose reader puts another in its place now and then."""


@light_dataclass()
class Finding:
    """One mistake of a program."""

    checker: str
    """Who found it: memory, host, arithmetic."""
    kind: str
    """What it is, in words that stay as they are: out-of-bounds-write, use-after-free."""
    title: str
    """What happened, for a person: out-of-bounds write of 4 bytes, 4 bytes after ..."""
    places: Sequence[Place] = ()
    """Where in the source, innermost first; the callers that it was inlined into follow."""
    notes: Sequence[str] = ()
    """What else is known: who allocated the memory, what to do."""
    kernel: str | None = None
    work_item: Sequence[int] | None = None
    """The global id."""
    group: Sequence[int] | None = None
    count: int = 1
    """How often this kind happened at these places."""

    def key(self) -> tuple[Any, ...]:
        """Equal for what is told as one finding.

        Without a place in the source, the words have to tell two findings from each other.
        """
        if not self.places:
            return (self.kind, self.kernel, self.title, *self.notes)
        return (self.kind, *((each.file, each.line, each.column) for each in self.places))

    def as_json(self) -> dict[str, Any]:
        """The same as values of JSON."""
        values: dict[str, Any] = {name: self.__dict__[name] for name in FIELDS}
        values["places"] = [{n: each.__dict__[n] for n in PLACE_FIELDS} for each in self.places]
        values["notes"] = list(self.notes)
        for name in ("work_item", "group"):
            values[name] = list(values[name]) if values[name] is not None else None
        return values

    @staticmethod
    def from_json(values: dict[str, Any]) -> Finding:
        """A finding from what `as_json` gave, whatever else is said beside it."""
        known = {name: values[name] for name in FIELDS if name in values}
        places = [
            Place(**{name: each[name] for name in PLACE_FIELDS if name in each})
            for each in values.get("places", ())
        ]
        return Finding(**known | {"places": places})


FIELDS: tuple[str, ...] = tuple(Finding._light_fields)  # type: ignore[attr-defined]
PLACE_FIELDS: tuple[str, ...] = tuple(Place._light_fields)  # type: ignore[attr-defined]


def report(finding: Finding) -> bool:
    """Tells of a finding, from any thread; a program is never disturbed by a failure to do so.

    False: it is suppressed, and no reason to stop the program (GROUNDSTATE_CHECK_STOP).
    """
    try:
        return _teller().take(finding)
    except Exception as problem:
        _complain(problem)
    return True


def begin(checkers: Sequence[str]) -> None:
    """Tells the reader of the file which checkers this process has, when the driver starts."""
    try:
        _teller().begin(checkers)
    except Exception as problem:
        _complain(problem)


def flush() -> None:
    """Tells the final counts, when the program ends."""
    try:
        _teller().flush()
    except Exception as problem:
        _complain(problem)


def render(finding: Finding, *, colour: bool = False) -> str:
    """The finding as text for a terminal."""
    places, notes = list(finding.places), [printable(note) for note in finding.notes]
    where = _where(finding)
    if where and places and not places[0].beside:
        places[0] = replace(places[0], beside=where)
    elif where and not places:
        notes.insert(0, f"in {printable(where)}")
    if finding.count > 1:
        notes.append(f"{finding.count:,} times")
    return excerpt.render(printable(finding.title), places, notes, colour=colour)


def summary(findings: Iterable[Finding]) -> str:
    """The findings in one line.

    >>> kinds = ["out-of-bounds-write", "leaked-object", "leaked-object"]
    >>> summary(Finding("memory", kind, "") for kind in kinds)
    '3 findings: 1 out-of-bounds write, 2 leaked objects'
    """
    counts: dict[str, list[int]] = {}
    for each in findings:
        counts.setdefault(each.kind, []).append(each.count)
    total = sum(map(len, counts.values()))
    parts = ", ".join(_number(kind, counts[kind]) for kind in counts)
    return f"{total} finding{'' if total == 1 else 's'}" + (f": {parts}" if parts else "")


def _number(kind: str, counts: list[int]) -> str:
    often = f" ({sum(counts):,} times)" if sum(counts) > len(counts) else ""
    return f"{len(counts)} {words_of(kind, len(counts))}{often}"


_COMPOUNDS = (
    "out-of-bounds",
    "out-of-range",
    "use-after-free-",
    "work-group",
    "sub-group",
    "work-item",
)
_PREPOSITIONS = ("after", "before", "by", "for", "from", "in", "of", "on", "to", "while", "without")


def words_of(kind: str, number: int = 1) -> str:
    """A kind in words, in the plural if there are several.

    >>> words_of("use-after-free", 2), words_of("uninitialised-copy", 2)
    ('uses after free', 'uninitialised copies')
    """
    for compound in _COMPOUNDS:
        joined = compound.rstrip("-").replace("-", "\0") + "-" * compound.endswith("-")
        kind = kind.replace(compound, joined)
    words = kind.split("-")
    if number != 1:
        places = [place for place, word in enumerate(words) if place and word in _PREPOSITIONS]
        noun = (places or [len(words)])[0] - 1
        words[noun] = words[noun].removesuffix("y") + ("ies" if words[noun].endswith("y") else "s")
    return printable(" ".join(words).replace("\0", "-"))


def _where(finding: Finding) -> str:
    """The kernel and the work-item."""
    parts = [f"kernel {finding.kernel}"] if finding.kernel else []
    for name, value in (("work-item", finding.work_item), ("group", finding.group)):
        if value is not None:
            parts.append(f"{name} ({', '.join(map(str, value))})")
    return ", ".join(parts)


class _Teller:
    """What one process has told so far."""

    def __init__(self, process: int, printed: set[tuple[Any, ...]]) -> None:
        self.process = process
        self._lock = allocate_lock()
        self._suppressions: list[Suppression] | None = None
        """Read when they are needed first."""
        self._found: dict[tuple[Any, ...], Finding] = {}
        self._told: dict[tuple[Any, ...], int] = {}
        """The counts that the reader of the file knows."""
        self._generation = _generation_of(self.path) if self.path else b""
        self._on_stderr: set[tuple[Any, ...]] = set()
        """What this process told there, instead of a file."""
        self.printed = printed
        """What stderr has been told, also by the process that this one was forked from."""

    @property
    def path(self) -> str:
        """The file, as it is set now: a program that tests itself may set another one."""
        return knobs.CHECK_OUTPUT.get()

    def begin(self, checkers: Sequence[str]) -> None:
        if self.path:
            self._append({"checkers": list(checkers)})

    def take(self, finding: Finding) -> bool:
        suppressed = self._is_suppressed(finding)
        if suppressed and not self.path:
            return False
        with self._lock:
            key = finding.key()
            if self.path:
                self._forget_if_replaced()
            before = self._found.get(key)
            if before is not None:
                finding = replace(before, count=before.count + finding.count)
            self._found[key] = finding
            # A program that is killed tells no final counts, so each doubling is told.
            if finding.count >= 2 * self._told.get(key, 0):
                self._tell(key, finding)
        return not suppressed

    def flush(self) -> None:
        with self._lock:
            if self.path:
                self._forget_if_replaced()
            for key, finding in self._found.items():
                if finding.count != self._told.get(key):
                    self._tell(key, finding)
            told = [finding for key, finding in self._found.items() if key in self._on_stderr]
            if told:
                _print(f"groundstate: {summary(told)}\n")
            self._found, self._told = {}, {}

    def _tell(self, key: tuple[Any, ...], finding: Finding) -> None:
        if not self.path or not self._append(finding.as_json()):
            self._on_stderr.add(key)
            if key in self.printed:
                return
            self.printed.add(key)
            colour = os.isatty(STDERR) and not knobs.NO_COLOR.get()
            _print(render(replace(finding, count=1), colour=colour) + "\n\n")
        self._told[key] = finding.count

    def _append(self, values: dict[str, Any]) -> bool:
        """Adds a line to the file; not if there is none any more."""
        import json

        line = json.dumps(values | {"process": self.process}) + "\n"
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOCTTY
        try:
            file = os.open(self.path, flags, 0o600)
        except OSError:
            return False
        try:
            os.write(file, line.encode())
        finally:
            os.close(file)
        return True

    def _is_suppressed(self, finding: Finding) -> bool:
        if self._suppressions is None:
            self._suppressions = _suppressions()
        return any(each.matches(finding) for each in self._suppressions)

    def _forget_if_replaced(self) -> None:
        """Who gives the file a new generation wants to hear everything again, for the next test."""
        generation = _generation_of(self.path)
        if generation != self._generation:
            self._found, self._told, self._generation = {}, {}, generation


def _generation_of(path: str) -> bytes:
    """What the reader of a file has written at its start, if anything."""
    try:
        with open(path, "rb", buffering=0) as file:
            start = file.read(GENERATION_BYTES)
    except OSError:
        return b""
    return start if start.startswith(GENERATION) else b""


def _suppressions() -> list[Suppression]:
    """Those of GROUNDSTATE_CHECK_SUPPRESS; a file that cannot be used is complained about."""
    paths = [path for path in knobs.CHECK_SUPPRESS.get().split(os.pathsep) if path]
    if not paths:
        return []
    from groundstate.check import suppressions

    found = []
    for path in paths:
        try:
            found += suppressions.read(path)
        except (OSError, ValueError) as problem:
            _print(f"groundstate: GROUNDSTATE_CHECK_SUPPRESS: {printable(str(problem))}\n")
    return found


_tellers: dict[int, _Teller] = {}
"""By process: a forked one finds that of its parent here."""


def _teller() -> _Teller:
    """That of this process: a forked one has counts of its own, and no lock that nobody frees.

    Of several threads that make the first one, all get the same.
    """
    process = os.getpid()
    known = _tellers.get(process)
    if known is not None:
        return known
    printed = set().union(*(each.printed for each in list(_tellers.values())))
    return _tellers.setdefault(process, _Teller(process, printed))


def _print(text: str) -> None:
    os.write(STDERR, text.encode("utf-8", "replace"))


def _complain(problem: Exception) -> None:
    """Says why a finding could not be told; it is all that can be done."""
    try:
        _print(f"groundstate: a finding could not be reported: {problem!r}\n")
    except OSError:
        return
