"""The terminal, for commands that print in colour."""

from __future__ import annotations

from rich import console


class Console(console.Console):
    """Rich's console; a reader that goes away is left to main.py, as with `print`."""

    def on_broken_pipe(self) -> None:
        """Is called while BrokenPipeError is handled."""
        raise


def make_console() -> Console:
    """A console for standard output; into a file or a pipe, lines are not cut at any width."""
    terminal = Console(highlight=False)
    return terminal if terminal.is_terminal else Console(highlight=False, width=1000)
