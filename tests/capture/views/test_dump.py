"""Buffers and images before and after kernels are what the program had then."""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import numpy
import pytest

from groundstate import ze
from groundstate.capture.views.npy import write_npy
from groundstate.capture.views.picture import Texels, texels_of, write_picture
from groundstate.capture.views.signature import element_type, signature_of
from groundstate.cli.main import main

pytestmark = pytest.mark.usefixtures("library")


def dumped(recorded: Path, out: Path, *options: str) -> list[Path]:
    assert main(["stream", "dump", str(recorded), "-o", str(out), *options]) == 0
    return sorted(path for path in out.iterdir())


def layout_of(folder: Path) -> dict[str, Any]:
    layout: dict[str, Any] = json.loads((folder / "layout.json").read_text())
    return layout


@pytest.fixture(scope="module")
def folders(recorded: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    out = tmp_path_factory.mktemp("dump") / "out"
    return {path.name: path for path in dumped(recorded, out)}


def test_every_run_has_a_folder(folders: dict[str, Path]) -> None:
    assert sorted(folders) == [
        "1-1-1-scale",
        "1-1-2-root",
        "2-1-1-scale",
        "2-1-2-root",
        "3-2-3-paint",
    ]


def test_buffers_before_and_after(folders: dict[str, Path]) -> None:
    numbers = numpy.arange(256, dtype="float32")
    for run, factor in (("1", 1), ("2", 2)):
        expected = numbers * factor
        expected[0] = 5.0 if run == "2" else 0.0
        folder = folders[f"{run}-1-1-scale"]
        before = numpy.load(folder / "before" / "argument0-x.npy")
        assert before.dtype == numpy.float32
        assert numpy.array_equal(before, expected)
        after = numpy.load(folder / "after" / "argument0-x.npy")
        assert numpy.array_equal(after, expected * 2)
        root = folders[f"{run}-1-2-root"]
        assert numpy.array_equal(numpy.load(root / "before" / "argument0-x.npy"), after)
        out = numpy.load(root / "after" / "argument1-out.npy")
        assert numpy.allclose(out, numpy.sqrt(after) / 3, rtol=1e-6)


def test_the_layout_says_what_is_what(folders: dict[str, Path]) -> None:
    layout = layout_of(folders["2-1-2-root"])
    assert (layout["kernel"], layout["place"]) == ("root", "2/1/2")
    assert (layout["groups"], layout["group_size"]) == ([4, 1, 1], [64, 1, 1])
    x, out = layout["memory"]
    assert (x["argument"], x["name"], x["dtype"], x["memory"]) == (0, "x", "float32", "shared")
    assert (out["argument"], out["type"], out["memory"]) == (1, "global float*", "device")
    assert out["size"] == 1024
    for entry in (x, out):
        for moment in ("before", "after"):
            assert (folders["2-1-2-root"] / entry[moment]).is_file()


def pixels_of(path: Path) -> tuple[int, int, int, int, bytes]:
    """Width, height, bits, colour type and rows of a PNG, read by the letter of its format."""
    data = path.read_bytes()
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    place, packed, head = 8, b"", b""
    while place < len(data):
        length, kind = struct.unpack_from(">I4s", data, place)
        content = data[place + 8 : place + 8 + length]
        (seal,) = struct.unpack_from(">I", data, place + 8 + length)
        assert seal == zlib.crc32(kind + content)
        head = content if kind == b"IHDR" else head
        packed += content if kind == b"IDAT" else b""
        place += 12 + length
    width, height, bits, colour = struct.unpack_from(">IIBB", head)
    return width, height, bits, colour, zlib.decompress(packed)


def test_images_become_pictures(folders: dict[str, Path]) -> None:
    folder = folders["3-2-3-paint"]
    (entry, blue) = layout_of(folder)["memory"]
    assert entry["extent"] == [8, 4, 1]
    assert blue["dtype"] == "uint32"
    texels = numpy.load(folder / entry["after"])
    assert texels.shape == (4, 8, 4)
    assert texels[3, 7].tolist() == [255, 255, 200, 255]
    width, height, bits, colour, rows = pixels_of(folder / entry["picture_after"])
    assert (width, height, bits, colour) == (8, 4, 8, 6)
    lines = numpy.frombuffer(rows, "uint8").reshape(4, 1 + 8 * 4)
    assert numpy.array_equal(lines[:, 1:].reshape(4, 8, 4), texels)


def test_runs_are_chosen_by_name_and_number(recorded: Path, tmp_path: Path) -> None:
    (only,) = dumped(recorded, tmp_path / "a", "--range", "2/1/2")
    assert only.name == "2-1-2-root"
    names = [path.name for path in dumped(recorded, tmp_path / "b", "--kernel", "scale")]
    assert names == ["1-1-1-scale", "2-1-1-scale"]
    (first,) = dumped(recorded, tmp_path / "c", "--first", "1", "--all-memory")
    sorts = {(each["argument"], each["memory"]) for each in layout_of(first)["memory"]}
    assert sorts >= {(0, "shared"), (None, "device")}


def test_wrong_words_are_answered_with_a_sentence(
    recorded: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = ["-o", str(tmp_path / "out")]
    assert main(["stream", "dump", str(recorded), *out, "--kernel", "nothing"]) == 1
    assert "no run of such a kernel" in capfd.readouterr().err
    assert main(["stream", "dump", str(recorded), *out, "--range", "x"]) == 1
    assert "no number, no range" in capfd.readouterr().err
    assert main(["stream", "dump", str(recorded), *out, "--driver", "/no/such.so"]) == 1
    assert "cannot open /no/such.so" in capfd.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("texels", "data", "expected"),
    [
        (Texels(1, 8, "unorm"), bytes([0, 128, 255]), [0, 128, 255]),
        (Texels(1, 16, "unorm"), struct.pack("<3H", 0, 300, 65535), [0, 300, 65535]),
        (Texels(1, 32, "float"), struct.pack("<3f", -1, 0, 3), [0, 16384, 65535]),
        (Texels(1, 32, "float"), struct.pack("<3f", 0, 0.5, 1), [0, 32768, 65535]),
        (Texels(1, 16, "float"), struct.pack("<3e", 0, float("nan"), 1), [0, 0, 65535]),
        (Texels(1, 8, "sint"), struct.pack("<3b", -128, 0, 127), [0, 32896, 65535]),
        (Texels(1, 8, "snorm"), struct.pack("<3b", -128, 0, 127), [0, 32768, 65535]),
    ],
)
def test_numbers_become_levels(
    texels: Texels, data: bytes, expected: list[int], tmp_path: Path
) -> None:
    write_picture(tmp_path / "p.png", data, 3, 1, texels)
    _, _, bits, colour, rows = pixels_of(tmp_path / "p.png")
    code = "B" if bits == 8 else "H"
    assert colour == 0
    assert list(struct.unpack(f">3{code}", rows[1:])) == expected


def test_formats_without_a_picture() -> None:
    planes = ze.ze_image_desc_t()
    planes.format.layout = ze.ZE_IMAGE_FORMAT_LAYOUT_NV12
    assert texels_of(planes) is None
    planes.format.layout = ze.ZE_IMAGE_FORMAT_LAYOUT_10_10_10_2
    assert texels_of(planes) is None
    planes.format.layout, planes.format.type = ze.ZE_IMAGE_FORMAT_LAYOUT_16_16, 4
    assert texels_of(planes) == Texels(2, 16, "float")


def test_arrays_are_read_by_numpy(tmp_path: Path) -> None:
    for kind in ("uint8", "int16", "float16", "float64", "complex64", "bool"):
        values = numpy.arange(12).astype(kind)
        write_npy(tmp_path / "a.npy", values.tobytes() + b"\0" * (values.itemsize > 1), kind)
        assert numpy.array_equal(numpy.load(tmp_path / "a.npy"), values)
    write_npy(tmp_path / "b.npy", bytes(range(24)), "uint8", (2, 3, 4))
    assert numpy.load(tmp_path / "b.npy")[1, 2, 3] == 23
    with pytest.raises(ValueError, match="needs 40 bytes"):
        write_npy(tmp_path / "c.npy", bytes(24), "float64", (5,))


def test_types_of_arguments() -> None:
    assert element_type("ulong*") == "uint64"
    assert element_type("half8*") == "float16"
    assert element_type("_Atomic(int)*") == "int32"
    assert element_type("sampler_t") == "uint8"
    assert signature_of(b"no module", "kernel") == []
