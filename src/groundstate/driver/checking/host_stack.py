"""Where in the program something was made: stacks of native/check/host_stack.c in words.

The line of a C function comes from the debug information of its file (addr2line.py); without that
the function is named, with the offset of the call in it.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from groundstate import addr2line
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.driver import native
from groundstate.excerpt import Place

MOST_FRAMES = 4
"""Of one stack that a person is shown."""
MOST_SOURCE_BYTES = 4 << 20

_PACKAGE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))) + os.sep
_STARTERS = ("_start", "__libc_start_main", "__libc_start_call_main", "start_thread", "clone3")
"""What is before `main`, or before the first function of a thread."""
_C_LIBRARIES = ("libc.so.", "libc-", "libpthread", "ld-musl")
"""Where that is. Without debug information its functions have no names, or those of neighbours."""
_RUNNERS = ("/_pytest/", "/pluggy/", "/unittest/")
"""Parts of the paths of what calls the tests of a Python program."""
_RUNTIMES = ("libsycl.", "libur_", "libDPCTL", "libstdc++", "libOpenCL.", "libomptarget")
"""Libraries that call Level Zero for a program."""


@light_dataclass()
class Frame:
    """A call of the program."""

    function: str
    """Empty if it is not known."""
    file: str = ""
    """Of the source; empty if it is not known."""
    line: int = 0
    object: str = ""
    """The program or library that the function is in; empty for Python."""
    offset: int = 0
    """Of the call in its function, 0 if that is not known; in the object if no function is."""

    def place(self) -> str:
        """Where the call is: `app.c:88`, or `upload+0x1f in libapp.so`."""
        if self.file:
            return f"{shown_path(self.file)}:{self.line}"
        where = f"{self.function}+" * bool(self.function) + f"{self.offset:#x}"
        if self.function and not self.offset:
            where = self.function  # of a symbol table that does not say where it begins
        return f"{where} in {os.path.basename(self.object) or 'unknown code'}"

    def call(self) -> str:
        """The function as people write it: `upload()`, or Python's `<module>`."""
        is_name = self.function and not self.function.startswith("<")
        return f"{self.function}()" if is_name else self.function

    def words(self) -> str:
        """The place and the function: `app.c:88  upload()`."""
        return f"{self.place()}  {self.call()}".rstrip() if self.file else self.place()


def frames(stack: int) -> list[Frame]:
    """The calls of a stack, innermost first: those of the program, without what carries them."""
    if not stack:
        return []
    lines = [line.split("\t") for line in native.host_stack_describe(stack).split("\n")]
    interpreted = [each[1:] for each in lines if each[0] == "python" and len(each) == 4]
    compiled = [each[1:] for each in lines if each[0] == "c" and len(each) == 5]
    own = [
        Frame(name, file, int(line))
        for file, line, name in _until_runner(interpreted)
        if not file.startswith((_PACKAGE, "<frozen "))
    ]
    calls = [(path, int(at, 16), name, int(offset, 16)) for path, at, name, offset in compiled]
    return own or _program_frames(_compiled_frames(calls))


def notes(words: str, stack: int) -> list[str]:
    """Lines for a report: who did something, such as `allocated by zeMemAllocDevice`.

    The callers of the first line follow below it.
    """
    shown = frames(stack)[:MOST_FRAMES]
    if not shown:
        return [words]
    first, *callers = (frame.words() for frame in shown)
    return [f"{words}   {first}", *(f"{'':{len(words)}}   {each}" for each in callers)]


def places(stack: int) -> list[Place]:
    """The calls with a line of the source, for a report about the call itself."""
    return [
        Place(shown_path(each.file), each.line, 0, _source_line(each.file, each.line), each.call())
        for each in frames(stack)[:MOST_FRAMES]
        if each.file
    ]


def shown_path(path: str) -> str:
    """A path as a person would write it: relative if it is below the current folder."""
    try:
        below = os.getcwd().rstrip("/") + "/"
    except OSError:
        return path
    return path[len(below) :] if path.startswith(below) and len(path) > len(below) else path


def _until_runner(calls: list[list[str]]) -> list[list[str]]:
    """The calls of a Python program without those that led to its test, if it is one."""
    for number, (file, *_) in enumerate(calls):
        if any(part in file for part in _RUNNERS):
            return calls[:number]
    return calls


def _program_frames(found: list[Frame]) -> list[Frame]:
    """Without what runs before `main`, and what a runtime library does for the program."""
    for number, frame in enumerate(found):
        if frame.function in _STARTERS:
            found = found[:number]
            break
    while len(found) > 1 and os.path.basename(found[-1].object).startswith(_C_LIBRARIES):
        found = found[:-1]
    start = 0
    while start < len(found) and os.path.basename(found[start].object).startswith(_RUNTIMES):
        start += 1
    return found[start:] or found


_lines: dict[tuple[str, int], list[addr2line.Call]] = {}
"""What addr2line said of an address of a file: functions, the innermost first, that were inlined
into each other."""


def _compiled_frames(calls: Sequence[tuple[str, int, str, int]]) -> list[Frame]:
    wanted: dict[str, list[int]] = {}
    for path, address, _, _ in calls:
        if path and (path, address) not in _lines:
            wanted.setdefault(path, []).append(address)
    for path, addresses in wanted.items():
        _lines.update(addr2line.look_up(path, addresses))
    found = []
    for path, address, name, offset in calls:
        named = [Frame(n, file, line, path) for n, file, line in _lines.get((path, address), ())]
        unnamed = Frame(name, "", 0, path, offset if name else address)
        if named and not named[-1].file:
            function = named[-1].function or name
            unnamed = Frame(function, "", 0, path, offset if name or not function else 0)
        found += [each for each in named if each.file] or [unnamed]
    return found


def _source_line(file: str, line: int) -> str | None:
    """A line of a file of the program, if it is there and is text."""
    try:
        if not os.path.isfile(file) or os.path.getsize(file) > MOST_SOURCE_BYTES:
            return None
        with open(file, encoding="utf-8", errors="replace") as opened:
            lines = opened.read(MOST_SOURCE_BYTES).splitlines()
    except OSError:
        return None
    return lines[line - 1] if 0 < line <= len(lines) else None
