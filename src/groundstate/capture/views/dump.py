"""Writes what kernels had before and after they ran: a folder for each run.

A buffer becomes a `.npy` file with elements of the type that the kernel's source gives its pointer,
an image one with its texels and a picture. `layout.json` says what is what.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from groundstate.capture.play import Player
from groundstate.capture.play.images import image_size
from groundstate.capture.structure import Selection
from groundstate.capture.views.npy import write_npy
from groundstate.capture.views.picture import texels_of, write_picture
from groundstate.capture.views.probe import AFTER, BEFORE, Probe, Sample, Thing
from groundstate.capture.views.runs import (
    Choice,
    Run,
    every_kernel,
    find_runs,
    kernels_named,
    kernels_selected,
)


@dataclass(frozen=True)
class DumpOrder:
    """What to write, and where."""

    out: Path
    kernel: str | None = None
    selection: str | None = None
    first: int = 16
    all_memory: bool = False
    limit: int = 4 << 30
    moments: tuple[str, ...] = (BEFORE, AFTER)

    def choice(self) -> Choice:
        """Which runs are meant."""
        if self.kernel is not None:
            return kernels_named(self.kernel)
        if self.selection is not None:
            return kernels_selected(Selection.parse(self.selection))
        return every_kernel


def dump(player: Player, connection: Connection, order: DumpOrder) -> dict[str, Any]:
    """Plays a stream and writes the folders; runs in a `PlayProcess`."""
    runs = find_runs(player.reader, order.choice(), order.first)
    writer = _Writer(order.out)
    probe = Probe(
        runs,
        player.reader,
        writer.take,
        moments=order.moments,
        all_memory=order.all_memory,
        limit=order.limit,
    )
    report = player.run(probe)
    probe.close(player)
    writer.finish()
    return {
        "runs": [{"place": run.place, "kernel": run.kernel} for run in runs],
        "folders": [str(folder) for folder in writer.folders],
        "notes": list(probe.notes),
        "not_as_recorded": report.count,
        "damage": report.damage,
    }


class _Writer:
    """Writes samples as they come."""

    def __init__(self, out: Path) -> None:
        self._out = out
        self.folders: list[Path] = []
        self._run: Run | None = None
        self._layout: dict[tuple[int | None, int], dict[str, Any]] = {}

    def take(self, sample: Sample) -> None:
        """Writes one sample; those of a run come in a row."""
        if sample.run is not self._run:
            self.finish()
            self._run = sample.run
            self.folders.append(self._out / folder_name(sample.run))
        folder = self.folders[-1]
        (folder / sample.moment).mkdir(parents=True, exist_ok=True)
        entry = self._layout.setdefault(
            (sample.thing.argument, sample.thing.address), _entry(sample.thing)
        )
        if sample.thing.image is not None:
            entry.update(_write_image(folder, sample))
        else:
            entry[sample.moment] = _write_buffer(folder, sample)

    def finish(self) -> None:
        """Writes the layout of the run before."""
        if self._run is None:
            return
        launch = self._run.launches[0] if self._run.launches else None
        layout = {
            "kernel": self._run.kernel,
            "place": self._run.place,
            "append_record": self._run.append,
            "submission_record": self._run.submission,
            "groups": launch.groups if launch else None,
            "group_size": launch.group_size if launch else None,
            "memory": list(self._layout.values()),
        }
        text = json.dumps(layout, indent=2) + "\n"
        (self.folders[-1] / "layout.json").write_text(text, encoding="utf-8")
        self._run, self._layout = None, {}


def folder_name(run: Run) -> str:
    """A folder for a run: its numbers and its kernel.

    >>> folder_name(Run(1, 2, 0, "3/1/5", "f", (), False))
    '3-1-5'
    """
    name = re.sub(r"[^\w.+-]", "_", run.kernel)[:80]
    return "-".join([run.place.replace("/", "-"), *([name] if name else [])])


def _entry(thing: Thing) -> dict[str, Any]:
    return {
        "argument": thing.argument,
        "name": thing.type.name,
        "type": thing.type.type,
        "memory": thing.sort,
        "address": hex(thing.address),
        "offset": thing.offset,
        "size": thing.size,
        "dtype": thing.type.dtype,
    }


def _stem(thing: Thing) -> str:
    if thing.argument is None:
        return f"memory-{thing.address:x}"
    name = re.sub(r"[^\w.+-]", "_", thing.type.name)[:60]
    return f"argument{thing.argument}" + (f"-{name}" if name else "")


def _write_buffer(folder: Path, sample: Sample) -> str:
    file = f"{sample.moment}/{_stem(sample.thing)}.npy"
    write_npy(folder / file, sample.data, sample.thing.type.dtype)
    return file


def _write_image(folder: Path, sample: Sample) -> dict[str, Any]:
    """Texels and, where a picture can show them, a picture."""
    thing = sample.thing
    assert thing.image is not None
    size, texels = image_size(thing.image.description), texels_of(thing.image.description)
    stem = f"{sample.moment}/{_stem(thing)}"
    sides = (size.depth, size.height, size.width)
    facts: dict[str, Any] = {"extent": [size.width, size.height, size.depth]}
    facts[sample.moment] = f"{stem}.npy"
    if texels is None:
        write_npy(folder / f"{stem}.npy", sample.data, "uint8")
        return facts
    facts["dtype"] = texels.dtype
    shape = tuple(side for side in sides if side > 1) or (1,)
    shape += (texels.channels,) if texels.channels > 1 else ()
    write_npy(folder / f"{stem}.npy", sample.data, texels.dtype, shape)
    try:
        rows = size.height * size.depth
        colours = write_picture(folder / f"{stem}.png", sample.data, size.width, rows, texels)
        facts |= {f"picture_{sample.moment}": f"{stem}.png", f"colours_{sample.moment}": colours}
    except ValueError as problem:
        facts["no_picture"] = str(problem)
    return facts
