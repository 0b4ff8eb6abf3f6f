"""Recordings that are damaged, cut, spliced, or wrong inside; looked at and played."""

from __future__ import annotations

import random
import tempfile
from functools import cached_property
from pathlib import Path

from groundstate.capture.stream import Record, StreamReader
from tests.fuzz.targets.target import Generator, Verdict

LIMIT_BYTES = 64 << 20


class Streams(Generator):
    """All views of a recording, and its play."""

    name = "streams"
    summary = "damaged recordings, viewed and played"
    suffix = ".gsstream"
    deadline_s = 120.0
    environment = {"GROUNDSTATE_MEMORY": "256M", "GROUNDSTATE_KERNEL_LIMIT": "200ms"}

    @cached_property
    def _folder(self) -> Path:
        self._temporary = tempfile.TemporaryDirectory(prefix="groundstate-fuzz-")
        return Path(self._temporary.name)

    @cached_property
    def _originals(self) -> list[list[Record]]:
        from tests.capture.play.test_play_hostile import everyday
        from tests.capture.stream.streams import example, work

        example(self._folder / "a.gsstream")
        work(self._folder / "b.gsstream")
        everyday(self._folder / "c.gsstream")
        found = []
        for path in sorted(self._folder.glob("?.gsstream")):
            with StreamReader(path) as reader:
                found.append(list(reader.records()))
        return found

    def generate(self, chance: random.Random) -> bytes:
        from tests.capture.views.fuzz_views import mutated

        records = list(chance.choice(self._originals))
        if chance.random() < 0.2:
            other = chance.choice(self._originals)
            records = records[: chance.randrange(len(records))] + other[chance.randrange(5) :]
        return mutated(records, self._folder / "made.gsstream", chance).read_bytes()

    def prepare(self) -> None:
        from tests.capture.stream.streams import example

        self._good = example(self._folder / "good.gsstream")
        self._out = self._folder / "out"
        self._out.mkdir()

    def run(self, case: bytes) -> Verdict:
        from tests.capture.views.fuzz_views import look

        path = self._folder / "case.gsstream"
        path.write_bytes(case)
        statuses = look(path, self._good, self._out)
        if not set(statuses) <= {0, 1, 2}:
            return Verdict(f"the views end with {statuses}")
        play(path)
        return Verdict()


def play(path: Path) -> None:
    """Plays a recording, as far as that goes."""
    from groundstate import standin
    from groundstate.capture.play import Options, Player, PlayError
    from groundstate.capture.stream import StreamError

    options = Options(threads=True, patience=0.02, memory_limit=LIMIT_BYTES)
    try:
        with StreamReader(path) as reader:
            player = Player(reader, str(standin.library()), options)
            try:
                player.run()
            finally:
                player.close()
    except (PlayError, StreamError) as problem:
        str(problem)
