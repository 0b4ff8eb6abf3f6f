"""A parser that answers a mistake with a sentence, and a guess at what was meant."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

from groundstate.cli.errors import USAGE_ERROR, say


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one sentence and where to look, instead of printing the usage."""

    def error(self, message: str) -> NoReturn:
        """Prints the sentence and ends the program."""
        sentence = plain_sentence(message)
        say(f"{self.prog}: {sentence}", f"Try '{self.prog} --help'.", file=sys.stderr)
        sys.exit(USAGE_ERROR)

    def _print_message(self, message: str, file: Any = None) -> None:
        """Prints the help; unlike argparse's own, it does not hide that this failed."""
        (file or sys.stderr).write(message)

    def parse_known_args(  # type: ignore[override]
        self, args: Sequence[str] | None = None, namespace: Any = None
    ) -> tuple[Any, list[str]]:
        """Complains about unknown arguments here, where it is known which command they are for."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(self._unknown(unknown[0]))
        return found, unknown

    def _unknown(self, word: str) -> str:
        if not word.startswith("-"):
            return f"'{word}' is one argument too many"
        name = word.partition("=")[0]
        return f"there is no option '{name}'{guess(name, self._option_string_actions)}"


def plain_sentence(message: str) -> str:
    """What argparse says about a mistake, in plainer words where we know some.

    >>> plain_sentence("argument COMMAND: invalid choice: 'inof' (choose from 'info', 'run')")
    "there is no command 'inof'; did you mean 'info'?"
    """
    wrong = re.match(r"argument (\S+): invalid choice: '?(.*?)'? \(choose from (.*)\)", message)
    if wrong is None:
        return message
    what, word, listed = wrong.groups()
    known = [each.strip(" '") for each in listed.split(",")]
    kind = f"{what.lower()} '{word}'" if what.isupper() else f"'{word}' for {what}"
    plural = f"the {what.lower()}s are" if what.isupper() else "choose from"
    hint = guess(word, known) or f"; {plural} {', '.join(known)}"
    return f"there is no {kind}{hint}"


def guess(word: str, known: Iterable[str]) -> str:
    """A question for the end of a sentence: what was meant, if something is near.

    >>> guess("--jsn", ["--json", "--verbose"])
    "; did you mean '--json'?"
    """
    from difflib import get_close_matches

    near = [] if word.isdecimal() else get_close_matches(word, list(known), n=1)
    return f"; did you mean '{near[0]}'?" if near else ""
