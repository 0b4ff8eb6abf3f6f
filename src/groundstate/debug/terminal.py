"""The debugger in a terminal: commands as gdb has them, and what they print."""

from __future__ import annotations

import shlex
import struct
from collections.abc import Callable, Sequence
from typing import Any, TextIO

from groundstate.debug.program import NotStopped, Program

Message = dict[str, Any]

HELP = """\
break FILE:LINE | LINE | FUNCTION [item X [Y [Z]]] [if EXPRESSION]   stop there (b); tbreak: once
watch EXPRESSION           stop when that memory is written: watch out[5]
delete [NUMBER]            forget a breakpoint or watchpoint, or all
run                        start the program (r)
continue                   go on to the next stop (c)
step, next, finish [group | sub-group]   to the next line, into, over or out of calls (s, n)
reverse-step, reverse-next, reverse-continue   the same, back in the work-group (rs, rn, rc)
item X [Y [Z]]             look at the work-item with this global id
print EXPRESSION           a value (p): i, in[i], *p, p->x, tmp @ 8, get_local_id(0)
table EXPRESSION           the same for all work-items of the group
info locals | items | breakpoints | ids   what there is; info work-items
backtrace                  the calls around this place (bt, where)
frame NUMBER               look at one of them
list [LINE]                the source around this place (l)
x ADDRESS|EXPRESSION [N]   N bytes of memory
detach                     let the program run on without the debugger
quit                       end the program and the debugger (q)"""

ALIASES = {
    "b": "break",
    "r": "run",
    "c": "continue",
    "s": "step",
    "n": "next",
    "fin": "finish",
    "rs": "reverse-step",
    "rn": "reverse-next",
    "rc": "reverse-continue",
    "p": "print",
    "bt": "backtrace",
    "where": "backtrace",
    "l": "list",
    "q": "quit",
    "d": "delete",
    "i": "info",
    "h": "help",
}
PROMPT = "(groundstate) "
AROUND = 5
"""Lines that are listed before and behind the one in question."""
REPEATED = ("step", "next", "reverse-step", "reverse-next", "continue")


class Terminal:
    """Reads commands, and prints what they are answered."""

    def __init__(
        self, program: Program, start: Callable[[], None], source: TextIO, out: TextIO
    ) -> None:
        self.program = program
        self.start = start
        self.source = source
        self.out = out
        self.here: Message = {}
        """The last stop, or the work-item that is looked at since."""
        self.frame = 0
        self.status: int | None = None
        """How the program ended."""
        self.numbers = 0

    def say(self, text: str) -> None:
        """Prints a line."""
        self.out.write(text + "\n")
        self.out.flush()

    def loop(self) -> int:
        """Reads commands to the end; returns the exit status of the program."""
        last = ""
        while True:
            self.out.write(PROMPT)
            self.out.flush()
            try:
                line = self.source.readline()
            except KeyboardInterrupt:
                self.say("")
                continue
            if not line:
                break
            line = line.strip() or last
            last = line if line.split(" ")[0] in (*REPEATED, *ALIASES) else ""
            if line and not self.command(line):
                break
        self.program.close()
        return self.status or 0

    def echo(self, line: str) -> bool:
        """Does what a line of a file says, which is shown first; False to end."""
        self.say(f"{PROMPT}{line}")
        return self.command(line)

    def command(self, line: str) -> bool:
        """Does what a line says; False to end."""
        word, _, rest = line.partition(" ")
        word = ALIASES.get(word, word)
        if word == "quit":
            return False
        handler = getattr(self, "do_" + word.replace("-", "_"), None)
        if handler is None:
            self.say(f"there is no command {word!r}; help lists them")
            return True
        try:
            handler(rest.strip())
        except NotStopped as problem:
            self.say(f"{problem}; 'run' starts it")
        except (ValueError, OSError) as problem:
            self.say(str(problem))
        return True

    # --- Running --------------------------------------------------------------------------------

    def do_help(self, rest: str) -> None:
        """Lists the commands."""
        del rest
        self.say(HELP)

    def do_run(self, rest: str) -> None:
        """Starts the program."""
        del rest
        if self.program.process is not None and self.status is None:
            self.say("the program runs already")
            return
        self.start()
        self.status = None
        self.wait()

    def wait(self) -> None:
        """Waits until the program stops or ends. Ctrl-C stops it."""
        while True:
            try:
                event = self.program.next_event()
            except KeyboardInterrupt:
                self.say("stopping in the next kernel")
                self.program.pause()
                continue
            if event["event"] == "stopped":
                self.show_stop(event)
                return
            if event["event"] == "exited":
                self.status = int(event["status"])
                self.here = {}
                how = f"exit status {self.status}"
                if self.status < 0:
                    how, self.status = f"signal {-self.status}", 128 - self.status
                self.say(f"the program has ended ({how})")
                return

    def show_stop(self, event: Message) -> None:
        """Says why the program has stopped, and where."""
        self.here, self.frame = event, 0
        reason = event["reason"]
        if reason == "breakpoint":
            why = f"; the condition: {event['problem']}" if event["problem"] else ""
            self.say(f"breakpoint {event['breakpoint']}, hit {event['hits']}{why}")
        elif reason == "watchpoint":
            old, new = bytes.fromhex(event["old"]), bytes.fromhex(event["new"])
            self.say(f"{event['text']} was written: {_words(old)} -> {_words(new)}")
        elif reason in ("finding", "end"):
            self.say(event["text"])
        elif reason == "start":
            self.say("this is where the work-group began")
        self.show_place(event)

    def show_place(self, place: Message) -> None:
        """The work-item and its line."""
        ids = ", ".join(map(str, place["global_id"]))
        state = "" if place["state"] == "ready" else f", {place['state']}"
        where = f" at {place['file']}:{place['line']}" if place["file"] else ""
        who = f"{place['kernel']}, work-item ({ids}){state}"
        self.say(f"{who}, in {place['function']}{where}")
        if place["source"]:
            self.say(f"{place['line']:5}  {place['source']}")

    def _go(self, command: str, **more: Any) -> None:
        self.program.go(command, item=self.here.get("item"), **more)
        self.wait()

    def do_continue(self, rest: str) -> None:
        """Goes on to the next stop."""
        del rest
        self._go("continue")

    def do_step(self, rest: str) -> None:
        """To the next line, into calls."""
        self._go("step", kind="in", scope=_scope(rest))

    def do_next(self, rest: str) -> None:
        """To the next line, over calls."""
        self._go("step", kind="over", scope=_scope(rest))

    def do_finish(self, rest: str) -> None:
        """Out of the function."""
        self._go("step", kind="out", scope=_scope(rest))

    def do_reverse_step(self, rest: str) -> None:
        """To the line before."""
        del rest
        self._go("step_back", kind="in")

    def do_reverse_next(self, rest: str) -> None:
        """To the line before in this function."""
        del rest
        self._go("step_back", kind="over")

    def do_reverse_continue(self, rest: str) -> None:
        """Back to the last stop."""
        del rest
        self._go("reverse_continue")

    def do_detach(self, rest: str) -> None:
        """Lets the program run on."""
        del rest
        self.program.detach()
        self.wait()

    # --- Where to stop --------------------------------------------------------------------------

    def do_break(self, rest: str, is_temporary: bool = False) -> None:
        """Adds a breakpoint."""
        place, has_condition, condition = _split(rest, "if")
        place, has_item, item = _split(place, "item")
        file, colon, line = place.rpartition(":")
        if not place or (colon and not file):
            raise ValueError("break FILE:LINE, break LINE or break FUNCTION")
        if (has_condition and not condition) or (has_item and not item):
            raise ValueError("break PLACE item X [Y [Z]] if EXPRESSION")
        made: Message = {"condition": condition, "temporary": is_temporary}
        if line.isdigit():
            made |= {"file": file if colon else self._file(), "line": int(line)}
        else:
            made["function"] = place
        if item:
            made["item"] = _numbers(item)
        self.numbers += 1
        made["id"] = self.numbers
        self.program.breakpoints.append(made)
        self.program.changed()
        self.say(f"breakpoint {self.numbers} at {place}")

    def _file(self) -> str:
        if not self.here.get("file"):
            raise ValueError("name the file: break FILE:LINE")
        return str(self.here["file"])

    def do_tbreak(self, rest: str) -> None:
        """Adds a breakpoint that stops once."""
        self.do_break(rest, is_temporary=True)

    def do_watch(self, rest: str) -> None:
        """Adds a watchpoint."""
        if not rest:
            raise ValueError("watch EXPRESSION, such as watch out[5]")
        if self.program.is_stopped and not self._ask("evaluate", expression=rest)["address"]:
            raise ValueError(f"{rest} lies nowhere in memory, where a write could be watched")
        self.numbers += 1
        self.program.watches.append({"id": self.numbers, "expression": rest})
        self.program.changed()
        self.say(f"watchpoint {self.numbers}: {rest}")

    def do_delete(self, rest: str) -> None:
        """Forgets breakpoints and watchpoints."""
        wanted = set(_numbers(rest))
        known = {each["id"] for each in (*self.program.breakpoints, *self.program.watches)}
        if not wanted <= known:
            raise ValueError(f"there is no breakpoint or watchpoint {min(wanted - known)}")
        for some in (self.program.breakpoints, self.program.watches):
            some[:] = [each for each in some if wanted and each["id"] not in wanted]
        self.program.changed()

    # --- Looking --------------------------------------------------------------------------------

    def _ask(self, command: str, **more: Any) -> Message:
        answer = self.program.ask(command, item=self.here.get("item"), frame=self.frame, **more)
        if "error" in answer:
            raise ValueError(answer["error"])
        return answer

    def do_item(self, rest: str) -> None:
        """Looks at another work-item."""
        answer = self._ask("select", global_id=_numbers(rest))
        self.here, self.frame = answer, 0
        self.show_place(answer)

    def do_print(self, rest: str) -> None:
        """A value."""
        answer = self._ask("evaluate", expression=rest)
        self.say(f"{rest} = {answer['value']}  ({answer['type']})")

    def do_table(self, rest: str) -> None:
        """A value in all work-items."""
        rows = self._ask("table", expression=rest)["rows"]
        self._table(
            ("work-item", rest, "line", "state"),
            [
                (_place(each["global_id"]), each["value"], str(each["line"]), each["state"])
                for each in rows
            ],
        )

    def _table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        widths = [max(len(row[at]) for row in (head, *rows)) for at in range(len(head))]
        for row in (head, *rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            self.say("  ".join(cells).rstrip())

    def do_info(self, rest: str) -> None:
        """What there is."""
        if rest in ("breakpoints", "break", "b", "watch", "watchpoints"):
            for each in self.program.breakpoints:
                place = each.get("function") or f"{each['file']}:{each['line']}"
                item = f" item {_place(each['item'])}" if "item" in each else ""
                condition = f" if {each['condition']}" if each["condition"] else ""
                self.say(f"{each['id']}: {place}{item}{condition}")
            for each in self.program.watches:
                self.say(f"{each['id']}: watch {each['expression']}")
        elif rest in ("items", "work-items"):
            rows = self._ask("items")["items"]
            self._table(
                ("work-item", "local", "state", "function", "line"),
                [
                    (
                        _place(each["global_id"]),
                        _place(each["local_id"]),
                        each["state"],
                        each["function"],
                        str(each["line"]),
                    )
                    for each in rows
                ],
            )
        elif rest == "ids":
            for name, values in self._ask("ids")["ids"].items():
                self.say(f"{name} = {_place(values)}")
        elif rest in ("locals", "args", "variables", ""):
            for each in self._ask("locals")["variables"]:
                self.say(f"{each['name']} = {each['value']}  ({each['type']})")
        else:
            raise ValueError("info locals, info items, info ids or info breakpoints")

    def do_backtrace(self, rest: str) -> None:
        """The calls around this place."""
        del rest
        for number, each in enumerate(self._ask("frames")["frames"]):
            mark = "*" if number == self.frame else " "
            self.say(f"{mark}#{number}  {each['function']} at {each['file']}:{each['line']}")

    def do_frame(self, rest: str) -> None:
        """Looks at a call."""
        frames = self._ask("frames")["frames"]
        number = _numbers(rest)[0] if rest else 0
        if not 0 <= number < len(frames):
            raise ValueError(f"there are frames 0 to {len(frames) - 1}")
        self.frame = number
        each = frames[number]
        self.say(f"#{number}  {each['function']} at {each['file']}:{each['line']}")
        if each["source"]:
            self.say(f"{each['line']:5}  {each['source']}")

    def do_list(self, rest: str) -> None:
        """The source around a line."""
        frames = self._ask("frames")["frames"]
        here = frames[min(self.frame, len(frames) - 1)]
        middle = _numbers(rest)[0] if rest else here["line"]
        lines = self._ask(
            "source", file=here["file"], first=max(1, middle - AROUND), last=middle + AROUND
        )["lines"]
        if not lines:
            raise ValueError(f"there is no line {middle} of {here['file']}")
        for number, text in lines:
            mark = ">" if number == here["line"] else " "
            self.say(f"{mark}{number:4}  {text}")

    def do_x(self, rest: str) -> None:
        """Bytes of memory."""
        words = shlex.split(rest)
        if not words:
            raise ValueError("x ADDRESS or EXPRESSION, and how many bytes")
        count = int(words.pop()) if len(words) > 1 and words[-1].isdigit() else 64
        answer = self._ask("evaluate", expression=" ".join(words))
        is_address = answer["type"].endswith("*") or not answer["address"]
        start = int(answer["value"], 0) if is_address else int(answer["address"])
        data = bytes.fromhex(self._ask("memory", address=start, count=count)["data"])
        if not data:
            raise ValueError(f"there is no memory at {start:#x}")
        for at in range(0, len(data), 16):
            self.say(f"{start + at:#x}: {data[at : at + 16].hex(' ')}")


def _scope(text: str) -> str:
    if text not in ("", "item", "sub-group", "group"):
        raise ValueError("step, step sub-group or step group")
    return text or "item"


def _numbers(text: str) -> list[int]:
    words = text.replace(",", " ").replace("(", " ").replace(")", " ").split()
    if not all(each.isdigit() for each in words):
        raise ValueError(f"{text!r} are no numbers")
    return [int(each) for each in words]


def _place(numbers: Sequence[int]) -> str:
    return f"({', '.join(map(str, numbers))})" if len(numbers) > 1 else str(numbers[0])


def _split(text: str, word: str) -> tuple[str, str, str]:
    """What is before and behind a word."""
    before, found, behind = f" {text} ".partition(f" {word} ")
    return before.strip(), found, behind.strip()


def _words(data: bytes) -> str:
    """Bytes that were written, as numbers."""
    if len(data) == 4:
        (number,), (real,) = struct.unpack("<i", data), struct.unpack("<f", data)
        return f"{number} ({real:g}f)"
    if len(data) == 8:
        (number,), (real,) = struct.unpack("<q", data), struct.unpack("<d", data)
        return f"{number} ({real:g})"
    return str(data[0]) if len(data) == 1 else data.hex(" ")
