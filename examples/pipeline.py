"""A picture made of copies: what the device can do without any kernel.

Two queues each grow a fractal in device memory by copying what they have so far, a fill paints the
sky, region copies weave the three planes into pixels, and the result goes to the host. Events put
the queues in order and note when everything ran.

    python examples/pipeline.py [picture.png]
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from png import picture_path, write_png
from rich.console import Console
from rich.table import Table
from rich.text import Text

import groundstate as gs

SIZE = 1024
"""Width and height of the picture, a power of two."""

CHANNELS = 3
BAR_WIDTH = 28

Corner = Callable[[int], list[tuple[int, int]]]


@dataclass
class Step:
    """One row of the table: some commands of one queue, with the events that time them."""

    name: str
    queue: str
    size_bytes: int
    events: list[gs.Event] = field(default_factory=list)

    def start(self) -> int:
        """When the first command began, in ticks."""
        return min(event.timestamps.start for event in self.events)

    def end(self) -> int:
        """When the last command ended, in ticks."""
        return max(event.timestamps.end for event in self.events)


class Pipeline:
    """The queues and the memory of the job, and the steps so far."""

    def __init__(self, context: gs.Context) -> None:
        self.pool = gs.EventPool(context, 256, timestamps=True)
        self.go = self.pool.event()
        self.planes = [context.alloc_device((SIZE, SIZE)) for _ in range(CHANNELS)]
        self.pixels = context.alloc_device((SIZE * SIZE, CHANNELS))
        self.picture = context.alloc_host((SIZE, SIZE, CHANNELS))
        self.left = gs.CommandList.immediate(context, in_order=True)
        self.right = gs.CommandList.immediate(context, ordinal=1, in_order=True)
        self.steps: list[Step] = []

    def step(self, name: str, commands: gs.CommandList, size_bytes: int) -> Step:
        """Starts a step; its commands get their events from `timed`."""
        queue = "left" if commands is self.left else "right"
        self.steps.append(Step(name, queue, size_bytes))
        return self.steps[-1]

    def timed(self, step: Step) -> gs.Event:
        """A new event for a command of a step."""
        event = self.pool.event()
        step.events.append(event)
        return event

    def grow(self, commands: gs.CommandList, plane: gs.Memory, value: int, corner: Corner) -> None:
        """Grows a fractal: three copies of what is there, in a square of twice the width."""
        clear = self.step("clear the plane", commands, plane.size_bytes)
        commands.fill(plane, 0, wait=self.go, signal=self.timed(clear))
        (seed_y, seed_x), *_ = corner(0)
        seed = seed_y * SIZE + seed_x
        plant = self.step("plant one pixel", commands, 1)
        commands.fill(plane.view("uint8")[seed : seed + 1], value, signal=self.timed(plant))
        growth = self.step("grow to 64 pixels", commands, 64 * 64 - 1)
        width = 1
        while width < SIZE:
            if width >= 64:
                growth = self.step(f"grow to {2 * width}", commands, 2 * width * width)
            (from_y, from_x), *targets = corner(width)
            for y, x in targets:
                commands.copy_region(
                    plane,
                    plane,
                    gs.Region(x=x, y=y, width=width, height=width),
                    source_origin=(from_x, from_y),
                    signal=self.timed(growth),
                )
            width *= 2

    def run(self) -> gs.Memory:
        """Submits everything, gives the signal, waits, and returns the picture."""
        red, green, blue = self.planes
        self.grow(self.left, red, 255, top_left)
        self.grow(self.right, green, 200, bottom_right)
        sky = self.step("paint the sky", self.right, blue.size_bytes)
        gradient = bytes(40 + 150 * x // SIZE for x in range(SIZE))
        self.right.fill(blue, gradient, signal=self.timed(sky))
        self.weave(wait=self.steps[-1].events[-1])
        self.go.signal()
        self.left.synchronize(timeout=60)
        self.right.synchronize(timeout=60)
        return self.picture

    def weave(self, wait: gs.Event) -> None:
        """Puts the planes together: to a copy, every pixel is a row of one byte in three."""
        for channel, plane in enumerate(self.planes):
            step = self.step(
                f"weave in {('red', 'green', 'blue')[channel]}", self.left, SIZE * SIZE
            )
            self.left.copy_region(
                self.pixels,
                plane,
                gs.Region(x=channel, width=1, height=SIZE * SIZE),
                source_pitch_bytes=1,
                wait=wait,
                signal=self.timed(step),
            )
        home = self.step("bring it home", self.left, self.pixels.size_bytes)
        self.left.copy(self.picture, self.pixels, signal=self.timed(home))


def top_left(width: int) -> list[tuple[int, int]]:
    """Where a square of some width is, and where its copies go: right of it and below."""
    return [(0, 0), (0, width), (width, 0)]


def bottom_right(width: int) -> list[tuple[int, int]]:
    """The same from the opposite corner: left of it and above."""
    near, far = SIZE - max(1, width), SIZE - 2 * width
    return [(near, near), (near, far), (far, near)]


def timeline(steps: list[Step], timer: gs.Timer) -> Table:
    """What ran when: a table with a bar for each step, on one clock."""
    begin, end = min(step.start() for step in steps), max(step.end() for step in steps)
    table = Table(title="What the device did", title_justify="left", box=None, pad_edge=False)
    table.add_column("queue")
    table.add_column("step")
    table.add_column("µs", justify="right")
    table.add_column("GB/s", justify="right")
    table.add_column("when")
    for step in steps:
        table.add_row(*row(step, timer, begin, max(1, end - begin)))
    return table


def row(step: Step, timer: gs.Timer, begin: int, total: int) -> Iterator[str | Text]:
    """The cells of one step."""
    duration_ns = max(1, timer.nanoseconds(step.start(), step.end(), kernel=True))
    style = "cyan" if step.queue == "left" else "magenta"
    yield Text(step.queue, style=style)
    yield step.name
    yield f"{duration_ns / 1000:.1f}"
    yield f"{step.size_bytes / duration_ns:.2f}" if step.size_bytes >= 4096 else ""
    left = (step.start() - begin) * BAR_WIDTH // total
    width = max(1, (step.end() - step.start()) * BAR_WIDTH // total)
    yield Text(" " * min(left, BAR_WIDTH - 1) + "━" * width, style=style)


def main() -> None:
    """Runs the pipeline on the first device and shows what came out."""
    path = picture_path("pipeline.png")
    console = Console(highlight=False)
    device = gs.devices()[0]
    with gs.Context(device) as context:
        pipeline = Pipeline(context)
        picture = pipeline.run()
        console.print(timeline(pipeline.steps, device.timer))
        write_png(path, picture.tobytes(), SIZE, SIZE)
    console.print(f"\nA picture of {SIZE} x {SIZE} pixels, made by {device.name}:")
    console.print(str(path), style="bold", soft_wrap=True)


if __name__ == "__main__":
    main()
