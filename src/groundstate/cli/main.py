"""`groundstate`: the program, from the first Ctrl-C to the last byte that it writes.

Next to nothing is imported here, so that `groundstate --version` answers at once and Ctrl-C is
answered with a line from the start. `commands.py` finds the command that was asked for.
"""

from __future__ import annotations

import io
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

INTERRUPTED = 130
"""As in errors.py, which is not imported before it is needed."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line and returns the exit status.

    Without `arguments` it is the whole program, and Ctrl-C ends it at any moment.
    """
    try:
        if arguments is not None:
            return _guarded(arguments)
        _end_on_interrupt()
        try:
            return _guarded(sys.argv[1:])
        finally:
            _end_on_interrupt()  # while Python ends, too
    except KeyboardInterrupt:
        _forget_output()
        _say_interrupted()
        return INTERRUPTED


def _guarded(arguments: Sequence[str]) -> int:
    """Runs a command; a reader that has gone or a full disk end it without a traceback."""
    name = _command_name(arguments)
    if sys.stdout is None:  # it was closed by whoever started us
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115 (open until the end)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a test's may be none
            stream.reconfigure(errors="backslashreplace")  # names need not fit the locale
    try:
        try:
            return _dispatch(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return 0
    except OSError as problem:
        from groundstate.cli.errors import FAILED, UNWRITABLE, describe

        where = problem.filename
        if where is None and problem.errno in UNWRITABLE:
            where = "standard output"
            _forget_output()
        _say(name, describe(problem, where))
        return FAILED


def _dispatch(arguments: Sequence[str]) -> int:
    if list(arguments) == ["--version"]:
        from groundstate.version import __version__

        print(f"groundstate {__version__}")
        return 0
    from groundstate.cli.commands import parse

    run, args = parse(arguments)
    _raise_on_interrupt()
    return run(args)


def _command_name(arguments: Sequence[str]) -> str:
    """What errors begin with."""
    first = arguments[0] if arguments else ""
    is_command = first[:1].isalpha() and first.replace("-", "").isalpha()
    return f"groundstate {first}" if is_command else "groundstate"


def _say(name: str, sentence: str) -> None:
    """Prints a line on standard error, over the ^C that a terminal shows."""
    from groundstate.printable import printable

    start = "\r" if sys.stderr is not None and sys.stderr.isatty() else ""
    sentence = printable(sentence)
    os.write(2, f"{start}{name}: {sentence}\n".encode(errors="replace"))


def _forget_output() -> None:
    """Drops what is not written yet: Python would try, and complain, once more at its end.

    Only of the program's own output: `main` may be called by a program that has put another
    stream, or a file of its own, in its place.
    """
    stream = sys.__stdout__
    if stream is None or sys.stdout is not stream:
        return
    try:
        descriptor = stream.fileno()
    except (OSError, ValueError):
        return  # it is no file
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, descriptor)
    os.close(null)


# --- Ctrl-C ---------------------------------------------------------------------------------------


def _end_on_interrupt() -> None:
    """Ctrl-C ends the process at once: nothing has been begun that would need an end of its own."""
    import signal

    if signal.getsignal(signal.SIGINT) in (signal.default_int_handler, _end_now):
        signal.signal(signal.SIGINT, _end_now)


def _raise_on_interrupt() -> None:
    """Ctrl-C raises KeyboardInterrupt, so that commands can clean up."""
    import signal

    if signal.getsignal(signal.SIGINT) is _end_now:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        sys.unraisablehook = _raise_again


def _end_now(number: int, frame: FrameType | None) -> None:
    _say_interrupted()
    os._exit(INTERRUPTED)


_said: list[str] = []


def _say_interrupted() -> None:
    """Once, however often somebody presses Ctrl-C."""
    if not _said:
        _said.append("interrupted")
        _say("groundstate", "interrupted")


def _raise_again(problem: sys.UnraisableHookArgs) -> None:
    """Ctrl-C came in a place that cannot raise, such as a destructor: once more, a bit later."""
    if problem.exc_type is KeyboardInterrupt:
        import signal

        signal.signal(signal.SIGALRM, _interrupt)
        signal.setitimer(signal.ITIMER_REAL, 0.001)
    else:
        sys.__unraisablehook__(problem)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Raises KeyboardInterrupt; in the hook above, which cannot raise either, only later."""
    inside = frame
    while inside is not None:
        if inside.f_code is _raise_again.__code__:
            import signal

            signal.setitimer(signal.ITIMER_REAL, 0.001)
            return
        inside = inside.f_back
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
