"""What clang says, made fit for a reader: without counts, without what is not about the source."""

from __future__ import annotations

import re

from groundstate.compiler.light_dataclass import light_dataclass

_COUNT = re.compile(r"\d+ (warning|error)s?( and \d+ errors?)? generated\.$")
_MESSAGE = re.compile(
    r"^(?P<file>[^\n:]+):(?P<line>\d+):(?P<column>\d+): "
    r"(?P<severity>fatal error|error|warning|note): (?P<text>.*)$"
)
_BACK_END = re.compile(r"(?:LLVM ERROR|error in backend|fatal error|error): (.*)")


@light_dataclass()
class Message:
    """One message about a place in the source."""

    file: str
    line: int
    column: int
    severity: str
    text: str
    excerpt: str
    """The line of the source with a caret under the place, as clang draws them."""


def tidy(stderr: str) -> str:
    """clang's messages as they are to be shown.

    >>> tidy("k.cl:1:2: error: expected ';'\\n1 error generated.\\n")
    "k.cl:1:2: error: expected ';'"
    """
    lines = [line for line in stderr.splitlines() if not _COUNT.match(line)]
    return "\n".join(lines).strip("\n")


def parse(log: str) -> list[Message]:
    """The messages in a log, each with its excerpt.

    >>> parse("k.cl:3:9: error: no\\n    3 | oh\\n      | ^")[0].line
    3
    """
    found: list[Message] = []
    excerpts: list[list[str]] = []
    for line in log.splitlines():
        match = _MESSAGE.match(line)
        if match:
            place = (match["file"], int(match["line"]), int(match["column"]))
            found.append(Message(*place, match["severity"], match["text"], ""))
            excerpts.append([])
        elif found:
            excerpts[-1].append(line)
    return [
        Message(m.file, m.line, m.column, m.severity, m.text, "\n".join(lines))
        for m, lines in zip(found, excerpts, strict=True)
    ]


def innermost(said: str) -> str:
    """The reason in what LLVM prints when it gives up, without its stack trace."""
    reasons = _BACK_END.findall(said)
    return reasons[0] if reasons else said or "it gave no reason"
