"""Modules are found in every kind of file, and no file can do harm."""

from __future__ import annotations

import random
import struct
import zipfile
from pathlib import Path

import pytest
import zstandard

from groundstate.survey import images
from groundstate.survey.elf import Damaged
from groundstate.survey.files import Collection, collect
from groundstate.survey.images import BUNDLE_MAGIC, modules_in
from tests.survey.modules import kernel, shared_object

ONE, TWO, THREE = kernel("one", 1), kernel("two", 2), kernel("three", 3)


def compressed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def bundle(*parts: bytes) -> bytes:
    names = [b"host-x86_64-unknown-linux", *[b"sycl-spir64-unknown-unknown"] * len(parts)]
    contents = [b"", *parts]
    start = len(BUNDLE_MAGIC) + 8 + sum(24 + len(name) for name in names)
    head, body = BUNDLE_MAGIC + struct.pack("<Q", len(names)), b""
    for name, content in zip(names, contents, strict=True):
        head += struct.pack("<QQQ", start + len(body), len(content), len(name)) + name
        body += content
    return head + body


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("library")
    bitcode = b"BC\xc0\xde" + bytes(60)
    contents = [ONE, compressed(TWO), bitcode, ONE, bundle(THREE)]
    sizes = [len(ONE), len(TWO), len(bitcode), len(ONE), len(contents[4])]
    return shared_object(folder, list(zip(contents, sizes, strict=True)))


def test_images_that_a_library_lists(library: Path) -> None:
    assert list(modules_in(library.read_bytes())) == [ONE, TWO, ONE, THREE]


def test_images_without_a_list_are_searched_for(tmp_path: Path) -> None:
    library = shared_object(
        tmp_path, [(ONE, 0), (b"\x03\x02\x23\x07 is no module", 0), (TWO, 0)], False
    )
    assert list(modules_in(library.read_bytes())) == [ONE, TWO]


def test_modules_are_found_alone_and_among_bytes() -> None:
    assert list(modules_in(ONE)) == [ONE]
    assert list(modules_in(compressed(ONE))) == [ONE]
    assert list(modules_in(bundle(ONE, compressed(TWO)))) == [ONE, TWO]
    assert list(modules_in(b"odd" + ONE + bytes(5) + TWO + b"end")) == [ONE, TWO]
    assert list(modules_in(b"nothing in particular")) == []


def test_each_module_counts_once(library: Path, tmp_path: Path) -> None:
    (tmp_path / "k.spv").write_bytes(TWO)
    (tmp_path / "notes.txt").write_bytes(b"see " + kernel("four", 4))
    (tmp_path / "again.so").symlink_to(library)
    found = collect([library, tmp_path])
    assert [each.data for each in found.modules.values()] == [ONE, TWO, THREE]
    assert (found.images, found.files, found.problems) == (5, 2, [])


def test_wheels_are_looked_into(library: Path, tmp_path: Path) -> None:
    wheel = tmp_path / "package-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "package/lib.so")
        archive.writestr("package/__init__.py", "")
    found = collect([wheel])
    assert [each.file for each in found.modules.values()] == [f"{wheel}!package/lib.so"] * 3


def test_a_damaged_wheel_is_a_problem_in_words(tmp_path: Path) -> None:
    wheel = tmp_path / "package.whl"
    wheel.write_bytes(b"PK\x03\x04 and nothing more")
    found = collect([wheel, tmp_path / "missing.so"])
    assert [str(wheel) in found.problems[0], "missing.so" in found.problems[1]] == [True, True]


def test_damaged_libraries_do_no_harm(library: Path) -> None:
    """Cut anywhere, or with bytes changed, a file has modules, none, or is said to be damaged."""
    whole, dice = library.read_bytes(), random.Random(8)
    damaged = 0
    for _ in range(300):
        data = bytearray(whole[: dice.randrange(len(whole))] if dice.random() < 0.3 else whole)
        for _ in range(dice.randrange(1, 6)):
            place = dice.choice((dice.randrange(64), dice.randrange(len(whole))))
            if place < len(data):
                data[place] = dice.choice((0, 0x7F, 0xFF, dice.randrange(256)))
        collection = Collection()
        collection.add_file("broken.so", bytes(data))
        damaged += bool(collection.problems)
    assert damaged > 50


def test_damaged_wheels_do_no_harm(library: Path, tmp_path: Path) -> None:
    whole, dice = tmp_path / "whole.whl", random.Random(9)
    with zipfile.ZipFile(whole, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(library, "package/lib.so")
    data, broken, damaged = whole.read_bytes(), tmp_path / "broken.whl", 0
    for _ in range(300):
        changed = bytearray(data)
        for _ in range(dice.randrange(1, 4)):
            changed[dice.randrange(4, len(data))] = dice.randrange(256)
        broken.write_bytes(changed)
        damaged += bool(collect([broken]).problems)
    assert damaged > 50


def test_what_grows_without_end_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(images, "MOST_IMAGE_BYTES", 1 << 16)
    with pytest.raises(Damaged, match="larger than"):
        list(modules_in(compressed(bytes(1 << 20))))
    nested = compressed(compressed(compressed(ONE)))
    assert list(modules_in(nested)) == []


def test_overlapping_bundle_parts_are_refused() -> None:
    """Or a small file could have any number of large modules."""
    head = BUNDLE_MAGIC + struct.pack("<Q", 50)
    start = len(head) + 50 * 24
    with pytest.raises(Damaged, match="over each other"):
        list(modules_in(head + struct.pack("<QQQ", start, len(ONE), 0) * 50 + ONE))


def test_search_ends_in_file_full_of_magic_words() -> None:
    """Each word could begin a module that reaches to the end of the file."""
    magic = images.SPIRV_MAGIC
    step = struct.pack("<I", 2 << 16 | 1) + magic
    with pytest.raises(Damaged, match="looks like SPIR-V"):
        list(modules_in(b"file" + magic + bytes(16) + step * 20_000))
