"""Each example runs, and shows what it says it shows."""

from __future__ import annotations

import os
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"

EXPECTED = {
    "01_devices.py": [
        "a driver for Level Zero 1.17",
        "the first device: Groundstate CPU device",
        "queue group 0: ",
        "copies are best sent to group 1",
    ],
    "02_memory.py": [
        "[[1.5, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.5]]",
        "the memoryview sees what NumPy wrote: 7.0",
        "the second row: [0.0, 0.0, 0.0, 2.5]",
        "as expected: the host cannot read device memory",
    ],
    "03_commands.py": [
        "three boxes:\n.###........\n.###....###.\n.....######.\n.....###....\n............\n"
    ],
    "04_queues.py": [
        "turn 0 [2, 0, 1]\nturn 1 [1, 2, 0]\nturn 2 [0, 1, 2]\nturn 3 [2, 0, 1]\n",
        "two more [0, 1, 2]",
    ],
    "05_events.py": [
        "still waiting: the event was not done after 0.01 s",
        "copied: b'an event'",
        "the copy began after the fill: True",
        "both took some time: True",
        "filled with b'aaa'\nfilled with b'bbb'\nfilled with b'ccc'\n",
    ],
    "06_errors.py": [
        "ZE_RESULT_ERROR_UNSUPPORTED_SIZE\nzeMemAllocHost: ",
        "the destination has 8 bytes, fewer than 21",
        "memory outlives its context: 42\nthis Memory was closed\n",
    ],
    "07_kernels.py": [
        "kernels: scale, add_up, plot\n",
        "scale takes: global float* numbers, float by, uint count\n",
        "sums of 128 numbers: [192.0, 192.0, 192.0, 192.0]\n",
        "board: [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.25, 0.0]]\n",
        "argument 1 (float by) of kernel 'scale' takes a number, not 'three' (str)\n",
        "kernel 'scale' takes 3 arguments (",
        "takes memory of float, not Memory of int32\n",
        "wrong.cl:1:39: error: use of undeclared identifier 'b'\n",
    ],
    "08_sharing.py": [
        "the second process has squared the numbers\n",
        "the first process sees them: [0, 1, 4, 9, 16, 25]\n",
        "the file holds 0.5\n",
        "the device has signalled 1 time\n",
    ],
    "09_topology.py": [
        "device 0: 512 MiB\n  sub-device 0: 256 MiB, peers: 4\n",
        "device 1: 512 MiB\n",
        "sums of the parts: [1000, 2000, 3000, 4000]\n",
        "through both devices: [42, 42, 42, 42]\n",
        " BYTES_PER_NANOSEC\nlinked by system memory\n",
        "free before: 256 MiB\nfree with 200 MiB resident: 56 MiB\n",
        "100 MiB more do not fit\nafter evicting they do\n",
        "zeMemAllocDevice: the context was created without this device\n",
    ],
    "10_graphs.py": [
        "recorded, but the hottest cell still has 64.0\n",
        "after 100 steps the hottest cell has 3.606 of 64.0\n",
        "lists in the graph: 2 launches: 21\n",
        "with a rate of 0.0, nothing moves\nwith a rate of 0.5, something moves\n",
    ],
    "11_monitoring.py": [
        "watching Groundstate CPU device",
        "  memory: 1\n",
        "64 MiB are in use: True\n",
        "the engines were busy: True\n",
        "and this process was among those who kept them so: True\n",
        "watts: ",
        'as a line of JSON it starts with {"name": \n',
        "no reset: HandleObjectInUse\n",
        "devices to watch: True\n",
    ],
    "12_networks.py": [
        "     .+++.     .+++.\n    ++.           .++\n   .+               +.\n",
        "exactly one: [0, 1, 1, 0]\nhidden: 32 operations, measured: True\n",
        "sums of rows: [[3.0], [12.0]]\n",
        "a row of the source is as long as a column of weights (dnnl_invalid_arguments)\n",
    ],
    "mandelbrot.py": [
        "The Mandelbrot set, 1536 x 1024 pixels, computed by",
        "  compiled in ",
        "  first run ",
        " million pixels a second\n",
        "  plain C ",
        "picture.png",
    ],
    "gpt2.py": ["GPT-2, 5 tokens of the prompt at once", "scores (2x)", "total", "goes on with "],
    "resnet18.py": ["ResNet-18, 1 x 3 x 32 x 32 pixels", "stem pool", "total", "is of class "],
    "pipeline.py": ["What the device did", "weave in blue", "bring it home"],
}

HELPERS = ["dask_pictures.py", "png.py", "report.py"]
"""Modules of the examples that are no example by themselves, and what tests/dask runs."""

PICTURES = ("mandelbrot.py", "pipeline.py")

SIZES = {
    "gpt2.py": "--layers 2 --width 48 --heads 3 --vocabulary 101 --context 20 --prompt 5",
    "resnet18.py": "--image 32 --width 16 --classes 10",
}
"""Options that make an example smaller than it is."""


def run_example(name: str, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / name), *arguments],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


def test_every_example_is_here() -> None:
    here = sorted(path.name for path in EXAMPLES.glob("*.py"))
    assert here == sorted([*EXPECTED, *HELPERS])


@pytest.mark.parametrize("name", EXPECTED)
def test_an_example_shows_what_it_says(name: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "picture.png")] if name in PICTURES else []
    arguments += SIZES.get(name, "").split()
    shown = run_example(name, *arguments)
    place = 0
    for expected in EXPECTED[name]:
        found = shown.find(expected, place)
        assert found >= 0, f"{expected!r} is not in this, or not in its place:\n{shown}"
        place = found + len(expected)


def test_the_picture_of_the_pipeline_is_right(tmp_path: Path) -> None:
    path = tmp_path / "picture.png"
    assert str(path) in run_example("pipeline.py", str(path))
    width, height, pixels = read_png(path)
    assert (width, height) == (1024, 1024)
    for x, y in ((0, 0), (5, 2), (512, 511), (1023, 1023), (700, 323), (13, 1000), (341, 682)):
        mirrored_x, mirrored_y = width - 1 - x, height - 1 - y
        expected = (
            255 if x & y == 0 else 0,
            200 if mirrored_x & mirrored_y == 0 else 0,
            40 + 150 * x // width,
        )
        start = 3 * (y * width + x)
        assert tuple(pixels[start : start + 3]) == expected, (x, y)


def read_png(path: Path) -> tuple[int, int, bytes]:
    """Reads back what the example wrote: RGB, 8 bits, no filters."""
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG\r\n\x1a\n")
    chunks, place = {}, 8
    while place < len(content):
        length, kind = struct.unpack_from(">I4s", content, place)
        body = content[place + 8 : place + 8 + length]
        (checksum,) = struct.unpack_from(">I", content, place + 8 + length)
        assert checksum == zlib.crc32(kind + body)
        chunks[kind] = body
        place += 12 + length
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 2, 0, 0, 0]
    rows = zlib.decompress(chunks[b"IDAT"])
    stride = 3 * width + 1
    assert len(rows) == stride * height
    assert all(rows[y * stride] == 0 for y in range(height))
    return width, height, b"".join(rows[y * stride + 1 : (y + 1) * stride] for y in range(height))


def escapes_after(re: float, im: float, steps: int = 400) -> int:
    """How many steps a point of the plane stays near the origin, in double precision."""
    z = complex(0, 0)
    for step in range(steps):
        if abs(z) >= 16:
            return step
        z = z * z + complex(re, im)
    return steps


def test_the_mandelbrot_set_is_right(tmp_path: Path) -> None:
    """Inside is black, outside is not: compared away from the boundary, where rounding decides."""
    path = tmp_path / "picture.png"
    run_example("mandelbrot.py", str(path))
    width, height, pixels = read_png(path)
    assert (width, height) == (1536, 1024)
    compared = {True: 0, False: 0}
    for y in range(5, height, 31):
        for x in range(5, width, 37):
            steps = escapes_after(-2.2 + 3.2 * x / width, 1.07 - 2.14 * y / height)
            if 60 < steps < 400:
                continue
            start = 3 * (y * width + x)
            is_black = pixels[start : start + 3] == bytes(3)
            assert is_black == (steps == 400), (x, y, steps)
            compared[is_black] += 1
    assert min(compared.values()) > 100


def test_pictures_go_to_a_new_folder_each_time(tmp_path: Path) -> None:
    """A fixed name in a shared folder would belong to the first user who runs the example."""
    shown = [
        subprocess.run(
            [sys.executable, str(EXAMPLES / "pipeline.py")],
            env={**os.environ, "TMPDIR": str(tmp_path)},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        ).stdout.splitlines()[-1]
        for _ in range(2)
    ]
    assert len({Path(path) for path in shown}) == 2
    assert all(Path(path).parent.stat().st_mode & 0o777 == 0o700 for path in shown)
