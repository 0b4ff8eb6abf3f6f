"""The kinds of environment variables: how the text of one is read, checked and documented.

A value that cannot be understood is reported on stderr once, and the default is used instead.
"""

import os
import sys
from abc import abstractmethod

complained: set[tuple[str, str]] = set()
"""The names and values that stderr has been told about."""


def complain(name: str, value: str, problem: str) -> None:
    """Says on stderr, once for each value, why a variable is not used as it is written."""
    if (name, value) not in complained:
        complained.add((name, value))
        print(f"groundstate: {name}={value!r}: {problem}", file=sys.stderr)


class Knob:
    """One environment variable. Subclasses say how its text becomes a value."""

    values = ""

    def __init__(self, name: str, sentence: str, group: str) -> None:
        self.name = name
        self.sentence = sentence
        self.group = group

    def text(self) -> str:
        """The variable as it is written, without the blanks around it; empty if it is not set."""
        return os.environ.get(self.name, "").strip()

    @abstractmethod
    def get(self) -> object:
        """What the variable says, or the default."""

    @abstractmethod
    def described_default(self) -> str:
        """The default in the words of the documentation."""


_ON = ("1", "true", "on", "yes")
_OFF = ("0", "false", "off", "no")


class Flag(Knob):
    """A variable that switches something on or off."""

    values = "`0`, `1`"
    _meanings = dict.fromkeys(_ON, True) | dict.fromkeys(_OFF, False)

    def __init__(self, name: str, default: bool, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.default = default

    def get(self) -> bool:
        text = self.text()
        if not text:
            return self.default
        value = self._meanings.get(text.lower())
        if value is None:
            complain(self.name, text, f"expected 0 or 1; using {self.described_default()}")
            return self.default
        return value

    def described_default(self) -> str:
        return str(int(self.default))


class Choice(Knob):
    """A variable that names one of a few possibilities, in upper or lower case."""

    def __init__(
        self, name: str, choices: tuple[str, ...], default: str, sentence: str, group: str
    ) -> None:
        super().__init__(name, sentence, group)
        self.choices = choices
        self.default = default
        self.values = ", ".join(f"`{choice}`" for choice in choices)

    def get(self) -> str:
        text = self.text()
        if not text:
            return self.default
        for choice in self.choices:
            if choice.lower() == text.lower():
                return choice
        complain(
            self.name, text, f"expected one of {', '.join(self.choices)}; using {self.default}"
        )
        return self.default

    def described_default(self) -> str:
        return self.default


class Number(Knob):
    """A whole number of at least `minimum`, decimal or with a 0x prefix; None if it is not set."""

    values = "a number"

    def __init__(self, name: str, minimum: int, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.minimum = minimum
        self.otherwise = otherwise

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return None
        try:
            value = int(text, 0)
        except ValueError:
            value = self.minimum - 1
        if not self.minimum <= value < 1 << 32:
            complain(
                self.name,
                text,
                f"expected a whole number from {self.minimum} up; using {self.otherwise}",
            )
            return None
        return value

    def described_default(self) -> str:
        return self.otherwise


class Size(Knob):
    """A number of bytes such as 512M or 8G (powers of 1024); None if it is not set."""

    values = "a size such as `512M` or `8G`"
    _powers = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}

    def __init__(self, name: str, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return None
        value = self._parse(text)
        if value is None:
            complain(self.name, text, f"expected a size such as 512M or 8G; using {self.otherwise}")
        return value

    def _parse(self, text: str) -> int | None:
        unit = text.upper().removesuffix("B").removesuffix("I")
        digits = unit.rstrip("KMGT")
        power = self._powers.get(unit[len(digits) :])
        if power is None:
            return None
        try:
            size = int(float(digits.strip()) * 1024**power)
        except (ValueError, OverflowError):
            return None
        return size if 0 < size < 1 << 63 else None

    def described_default(self) -> str:
        return self.otherwise


class Duration(Knob):
    """A time such as 500ms, 10s or 2min, in nanoseconds; None if it is not set, or 0."""

    values = "a time such as `500ms`, `10s` or `2min`"
    _units = {"us": 10**3, "ms": 10**6, "": 10**9, "s": 10**9, "min": 60 * 10**9, "h": 3600 * 10**9}

    def __init__(
        self, name: str, otherwise: str, sentence: str, group: str, default: int | None = None
    ) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise
        self.default = default

    def get(self) -> int | None:
        text = self.text()
        if not text:
            return self.default
        value = self._parse(text.lower())
        if value is None:
            problem = f"expected a time such as 500ms, 10s or 2min; using {self.otherwise}"
            complain(self.name, text, problem)
            return self.default
        return value or None

    def _parse(self, text: str) -> int | None:
        digits = text.rstrip("abcdefghijklmnopqrstuvwxyz ")
        unit = self._units.get(text[len(digits) :].strip())
        try:
            value = int(float(digits) * unit) if unit is not None else -1
        except (ValueError, OverflowError):
            return None
        return value if 0 <= value < 1 << 63 else None

    def described_default(self) -> str:
        return self.otherwise


class Text(Knob):
    """Any text, understood by whoever asks for it."""

    def __init__(
        self, name: str, values: str, default: str, otherwise: str, sentence: str, group: str
    ) -> None:
        super().__init__(name, sentence, group)
        self.values = values
        self.default = default
        self.otherwise = otherwise

    def get(self) -> str:
        return self.text() or self.default

    def described_default(self) -> str:
        return self.otherwise


class Folder(Knob):
    """The absolute path of a folder that is written to, or a word that turns it off.

    A relative path would mean another folder in each program, so it is refused.
    """

    values = "an absolute path, or `0`"

    def __init__(self, name: str, otherwise: str, sentence: str, group: str) -> None:
        super().__init__(name, sentence, group)
        self.otherwise = otherwise

    def is_off(self) -> bool:
        return self.text().lower() in _OFF

    def get(self) -> str | None:
        """The path; None if it is not set, turned off or relative."""
        text = self.text()
        if not text or self.is_off():
            return None
        path = os.path.expanduser(text)
        if not os.path.isabs(path):
            problem = f"expected an absolute path, or 0 to turn it off; using {self.otherwise}"
            complain(self.name, text, problem)
            return None
        return os.path.normpath(path)

    def described_default(self) -> str:
        return self.otherwise


class Words(Knob):
    """A variable that names some of a few things, with commas between them."""

    def __init__(
        self,
        name: str,
        words: tuple[str, ...],
        usual: tuple[str, ...],
        sentence: str,
        group: str,
    ) -> None:
        super().__init__(name, sentence, group)
        self.words = words
        self.usual = usual
        """What `1` stands for."""
        self.values = "`0`, `1`, or a list of " + ", ".join(f"`{word}`" for word in self.words)

    def get(self) -> tuple[str, ...]:
        """The words, each once, in the order of the documentation."""
        given = self.text().lower()
        if not given or given in _OFF:
            return ()
        if given in _ON:
            return self.usual
        named = {each.strip() for each in given.split(",")} - {""}
        for word in sorted(named - set(self.words)):
            complain(self.name, given, f"{word} is none of {', '.join(self.words)}")
        return tuple(word for word in self.words if word in named)

    def described_default(self) -> str:
        return "0"
