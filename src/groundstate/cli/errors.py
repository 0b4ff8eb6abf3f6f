"""What a command says when it cannot do what it was asked, and its exit status.

Every command keeps to these: an error is one line on standard error that begins with the name of
the command, `groundstate dis: k.spv: no such file`, and the statuses mean the same everywhere.
"""

from __future__ import annotations

import errno
import os
import sys
from typing import TextIO

from groundstate.printable import printable

DONE = 0
FAILED = 1
"""It could not be done (a file is missing, a kernel does not compile), or the answer is no."""
USAGE_ERROR = 2
"""The command line makes no sense."""
NOT_EXECUTABLE = 126
"""The program to run cannot be started."""
NOT_FOUND = 127
"""There is no such program to run."""
INTERRUPTED = 130
"""Somebody pressed Ctrl-C."""

_REASONS = {
    errno.ENOENT: "no such file",
    errno.ENOTDIR: "no such file",
    errno.EISDIR: "is a folder, not a file",
    errno.EEXIST: "exists already",
    errno.EACCES: "permission denied",
    errno.EPERM: "permission denied",
    errno.ENOSPC: "no space left on the disk",
}


UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF)
"""Errors of writing. Where none names a file, it was standard output: those of files name them."""


def complain(command: str, sentence: str, *below: str, status: int = FAILED) -> int:
    """Prints why a command failed, after what it has printed so far; returns the exit status."""
    if sys.stdout is not None:
        sys.stdout.flush()
    say(f"groundstate {command}".rstrip() + f": {sentence}", *below, file=sys.stderr)
    return status


def say(*lines: object, file: TextIO | None = None) -> None:
    """Prints lines. Names in them may be a stranger's: they end no line and control no terminal."""
    print("\n".join(printable(str(line)) for line in lines), file=file)


def describe(problem: Exception, path: str | os.PathLike[str] | None = None) -> str:
    """The sentence for what went wrong: for a file, its path and the reason in plain words.

    >>> describe(FileNotFoundError(2, "No such file or directory", "k.spv"))
    'k.spv: no such file'
    """
    if isinstance(problem, UnicodeDecodeError):
        reason = "is not text"
    elif isinstance(problem, OSError) and problem.errno is not None:
        words = os.strerror(problem.errno) if problem.errno > 0 else str(problem.strerror)
        reason = _REASONS.get(problem.errno, words[:1].lower() + words[1:])
        path = path if path is not None else problem.filename
    else:
        reason = str(problem) or type(problem).__name__
    return reason if path is None else f"{os.fsdecode(path)}: {reason}"
