"""Streams that are wrong inside, for every view: `python -m tests.capture.views.fuzz_views ROUNDS`.

Damage of the file is found by its checksums. Here the records themselves are changed and written as
a proper stream again, as a stranger could, so that what reads calls and memory is tried, too.
"""

from __future__ import annotations

import contextlib
import io
import random
import resource
import sys
import tempfile
from pathlib import Path

from groundstate.capture.stream import Kind, Record, StreamReader, StreamWriter
from groundstate.cli.main import main
from tests.capture.stream.streams import example, work

INTERESTING = (0, 1, 0x7F, 0xFF, 0x80)
WORDS = (0, 1, 2**31, 2**32 - 1, 2**63, 2**64 - 1, 0x2000, 0x7000)


def changed(data: bytes, chance: random.Random) -> bytes:
    """A few bytes or words are others, or some are missing, or come twice."""
    body = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        if not body:
            break
        place = chance.randrange(len(body))
        kind = chance.randrange(5)
        if kind == 0:
            body[place] = chance.choice(INTERESTING)
        elif kind == 1:
            body[place] ^= 1 << chance.randrange(8)
        elif kind == 2:
            word = chance.choice(WORDS).to_bytes(8, "little")
            place -= place % 4
            body[place : place + 8] = word[: len(body[place : place + 8])]
        elif kind == 3:
            del body[place : place + chance.randint(1, 40)]
        else:
            body[place:place] = body[place : place + chance.randint(1, 40)]
    return bytes(body)


def mutated(records: list[Record], path: Path, chance: random.Random) -> Path:
    """A stream with some of its records changed, left out, doubled or moved."""
    path.unlink(missing_ok=True)
    order = list(records)
    for _ in range(chance.randint(0, 3)):
        place = chance.randrange(len(order))
        kind = chance.randrange(3)
        if kind == 0:
            del order[place]
        else:
            order.insert(chance.randrange(len(order)), order[place])
        if not order:
            break
    with StreamWriter(path, start=chance.choice([0, 10**18, 2**64 - 1])) as stream:
        for record in order:
            wrong = record.kind != Kind.FUNCTION and chance.random() < 0.3
            kind = chance.choice(list(Kind)) if chance.random() < 0.02 else record.kind
            stream.add(kind, changed(record.body, chance) if wrong else record.body)
    if chance.random() < 0.3:
        data = path.read_bytes()
        path.write_bytes(
            changed(data, chance) if chance.random() < 0.5 else data[: chance.randrange(len(data))]
        )
    return path


def look(path: Path, other: Path, out: Path) -> list[int]:
    """The exit statuses of all views that play nothing; an exception is a failure."""
    commands = [
        ["info", str(path)],
        ["info", "--json", str(path)],
        ["calls", str(path)],
        ["calls", "--json", str(path)],
        ["stats", str(path)],
        ["stats", "--json", str(path)],
        ["timeline", str(path), "-o", str(out / "t.html")],
        ["timeline", str(path), "-o", str(out / "t.json")],
        ["diff", "--calls", str(path), str(other)],
    ]
    statuses = []
    for command in commands:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            statuses.append(main(["stream", *command]))
    return statuses


def fuzz(rounds: int, seed: int, folder: Path) -> int:
    """Tries so many streams, each with all views; the number of views that were run."""
    good = [example(folder / "a.gsstream"), work(folder / "b.gsstream")]
    originals = []
    for path in good:
        with StreamReader(path) as reader:
            originals.append(list(reader.records()))
    count = 0
    for number in range(rounds):
        chance = random.Random(seed + number)
        path = mutated(chance.choice(originals), folder / "m.gsstream", chance)
        try:
            statuses = look(path, good[0], folder)
        except BaseException as problem:
            raise AssertionError(f"seed {seed + number}: {problem!r}") from problem
        assert set(statuses) <= {0, 1, 2}, (seed + number, statuses)
        count += len(statuses)
    return count


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        views = fuzz(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0, Path(place))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10
    print(f"{views} views of {sys.argv[1]} streams, at most {most} MiB")
