"""What a target of the fuzzer is: how cases are made, what is done with one, and how it shrinks."""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

CORPUS = Path(__file__).parents[1] / "corpus"


@dataclass(frozen=True)
class Verdict:
    """What became of a case."""

    wrong: str = ""
    """What is wrong, or nothing."""
    is_spent: bool = False
    """The process is no good for another case, because this one left something behind."""


Check = Callable[[bytes], str]
"""Runs a case in a child; what is wrong with it, or nothing."""


class Target(ABC):
    """Something that takes what strangers hand over. A case is a file of its own."""

    name = ""
    summary = ""
    suffix = ".bin"
    deadline_s = 60.0
    """A case takes much less, also on a busy machine: what takes longer hangs."""
    memory_bytes = 4 << 30
    """Addresses beyond what the process has when it begins; a case that takes more gets none."""
    environment: Mapping[str, str] = {}

    def prepare(self) -> None:  # noqa: B027  most need nothing
        """What the child does once, before the first case."""

    @abstractmethod
    def run(self, case: bytes) -> Verdict:
        """Runs a case, in a child."""

    def missing(self) -> str:
        """What has to be installed before this target can run, or nothing."""
        return ""

    def reductions(self, case: bytes) -> Iterator[bytes]:
        """Smaller or simpler cases, to be tried in this order."""
        size = len(case) // 2
        while size:
            for start in range(0, len(case), size):
                yield case[:start] + case[start + size :]
            size //= 2

    @property
    def corpus(self) -> Path:
        """Where the repository keeps its cases."""
        return CORPUS / self.name

    def kept(self) -> list[Path]:
        """The cases in the repository; where there are many, in folders by their first letter."""
        return sorted(path for path in self.corpus.rglob("*") if path.is_file())


class Generator(Target):
    """A target for which cases are made up here."""

    @abstractmethod
    def generate(self, chance: random.Random) -> bytes:
        """Makes up a case. The same state of `chance` always gives the same."""

    def cases(self, seed: int) -> Iterator[tuple[int, bytes]]:
        """Cases without end, each with the seed that it is made from."""
        while True:
            yield seed, self.generate(random.Random(seed))
            seed += 1
