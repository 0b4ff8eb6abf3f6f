"""Streams from strangers do no harm when they are played: mutated ones, and some made to harm."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from groundstate.capture.play import Options
from groundstate.capture.stream import Block, Call, Kind, StreamWriter
from groundstate.capture.stream.formats import Form, Phase
from tests.capture.play.test_play import player_of
from tests.capture.stream.making import Given, Stream, made, one
from tests.loader_stub import is_loader_installed

pytestmark = pytest.mark.usefixtures("library")

ROUNDS = 120
TIMEOUT = 300


def everyday(path: Path) -> Stream:
    """A stream with a bit of everything."""
    with Stream(path) as stream:
        context, device = stream.begin(devices=2)
        host = stream.allocate("Host", context, device, 20_000)
        memory = stream.allocate("Device", context, device, 20_000)
        copier = stream.immediate(context, device)
        stream.writes(host, b"abc" * 3000)
        stream.copy(copier, memory, host, 20_000)
        stream.copy(copier, 0x5555_0000_1000, memory, 5_000)
        region = Given(made("ze_copy_region_t", width=16, height=8, depth=1))
        regions = "zeCommandListAppendMemoryCopyRegion"
        stream.call(regions, copier, memory, region, 64, 512, host, region, 64, 512, 0, 0, 0)
        fill = "zeCommandListAppendMemoryFill"
        stream.call(fill, copier, memory, Given(b"\1\2\3\4"), 4, 4096, 0, 0, 0)
        chained = stream.memory()
        limits = Given(made("ze_relaxed_allocation_limits_exp_desc_t", flags=1))
        description = Given(made("ze_device_mem_alloc_desc_t", pNext=chained))
        arguments = (context, description, 100, 64, device, Given(0, stream.memory()))
        stream.call("zeMemAllocDevice", *arguments, also={chained: limits})
        image, whole = stream.memory(), Given(made("ze_image_desc_t", type=2, width=8, height=8))
        stream.call("zeImageCreate", context, device, whole, Given(0, image))
        stream.call("zeCommandListAppendImageCopyFromMemory", copier, image, host, 0, 0, 0, 0)
        stream.results(memory, bytes(4096))
        for address in (host, memory):
            stream.call("zeMemFree", context, address)
        stream.call("zeCommandListDestroy", copier)
    return stream


MUTATING = """
import random, sys
from pathlib import Path
from groundstate.capture.play import Options, Player, PlayError
from groundstate.capture.stream import Kind, StreamError, StreamReader, StreamWriter

source, out, library, rounds = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], int(sys.argv[4])
with StreamReader(source) as reader:
    records = list(reader.records())
shown = 0
for seed in range(rounds):
    chance = random.Random(seed)
    path = out / f"{seed}.gsstream"
    with StreamWriter(path) as writer:
        for record in records:
            body = bytearray(record.body)
            if record.kind in (Kind.CALL, Kind.WRITES, Kind.RESULTS) and chance.random() < 0.3:
                for _ in range(chance.randrange(1, 4)):
                    at = chance.randrange(len(body))
                    body[at] = chance.choice((0, 1, 0x7F, 0xFF, chance.randrange(256)))
            if record.kind == Kind.CALL and chance.random() < 0.05:
                body = body[: chance.randrange(len(body))]
            if chance.random() > 0.03:
                writer.add(record.kind, bytes(body))
    options = Options(threads=bool(seed % 2), patience=0.02, memory_limit=64 << 20)
    with StreamReader(path) as reader:
        player = Player(reader, library, options)
        shown += player.run().count
        player.close()
    path.unlink()
print(shown)
"""


def test_mutated_streams_neither_crash_nor_raise(tmp_path: Path, library: Path) -> None:
    stream = everyday(tmp_path / "s.gsstream")
    with player_of(stream.path, library) as player:
        assert [each.kind for each in player.run().differences] == ["memory"]
    command = [sys.executable, "-c", MUTATING, str(stream.path), str(tmp_path), str(library)]
    environment = {**os.environ, "GROUNDSTATE_MEMORY": "256M"}
    done = subprocess.run(
        [*command, str(ROUNDS)], env=environment, capture_output=True, text=True, timeout=TIMEOUT
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > ROUNDS  # the changes were noticed


def played(stream: Stream, library: Path) -> list[str]:
    with player_of(stream.path, library, Options(patience=0.05, memory_limit=1 << 26)) as player:
        return [each.sentence for each in player.run().differences]


def test_play_never_accesses_memory_out_of_bounds(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        host = stream.allocate("Host", context, device, 4096)
        copier = stream.immediate(context, device)
        stream.writes(host + 4000, b"x" * 200)
        stream.copy(copier, host, host + 1, 4096)
        stream.copy(copier, 0x5555_0000_0000, host, 1 << 30)
        stream.call("zeDeviceGet", 1, Given(one(2**31)), Given(0, device))
        module = Given(made("ze_module_desc_t", inputSize=1 << 30, pInputModule=0x40))
        answer, code = Given(0, 5), {0x40: Given(b"short")}
        stream.call("zeModuleCreate", context, device, module, answer, 0, also=code)
        stream.call("zeEventPoolCreate", context, Given(b"x"), 9, Given(b"y"), Given(0, 6))
        stream.call("zeContextDestroy")
    sentences = played(stream, library)
    assert len(sentences) == 7
    assert "reach beyond an allocation of 4096" in sentences[0]
    assert "reach beyond" in sentences[1]
    assert "more than the limit of 64 MiB" in sentences[2]
    assert "more than anybody needs" in sentences[3]
    assert "more than anybody needs" in sentences[4]
    assert "were recorded" in sentences[5]
    assert "0 of 1 arguments" in sentences[6]


def test_circular_or_unknown_pnext_chain_ends(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        circle = made("ze_relaxed_allocation_limits_exp_desc_t", flags=1, pNext=0x500)
        unknown = (0x7654_3210).to_bytes(8, "little") + (0x500).to_bytes(8, "little")
        blocks = {0x500: Given(circle), 0x400: Given(unknown)}
        description = Given(made("ze_host_mem_alloc_desc_t", pNext=0x400))
        memory = Given(0, stream.memory())
        stream.call("zeMemAllocHost", context, description, 64, 64, memory, also=blocks)
        assert device
    with player_of(stream.path, library) as player:
        report = player.run()
    assert report.same
    assert "unknown type was left out of zeMemAllocHost" in str(report.notes)


def test_unknown_handles_reach_only_own_driver(tmp_path: Path, library: Path) -> None:
    with Stream(tmp_path / "s.gsstream") as stream:
        context, _ = stream.begin()
        stream.call("zeContextGetStatus", 0xDEAD, result=0x78000005)
    with player_of(stream.path, library) as player:
        assert player.run().same
        assert player.handle(0xDEAD) == 0xDEAD
    assert context
    if not is_loader_installed():
        return
    command = [sys.executable, "-m", "groundstate", "play", "--real-loader", str(stream.path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_file_of_the_player_is_reached(tmp_path: Path, library: Path) -> None:
    victim = tmp_path / "victim"
    with Stream(tmp_path / "s.gsstream") as stream:
        context, device = stream.begin()
        graph = Given(str(victim).encode() + b"\0")
        stream.call("zeGraphDumpContentsExt", 1, graph, 0)
        fd = made("ze_external_memory_import_fd_t", flags=1, fd=2)
        description = Given(made("ze_device_mem_alloc_desc_t", pNext=0x700))
        answer, also = Given(0, stream.memory()), {0x700: Given(fd)}
        allocate = "zeMemAllocDevice"
        stream.call(allocate, context, description, 64, 64, device, answer, also=also)
    with player_of(stream.path, library) as player:
        report = player.run()
        assert player.names.descriptors.imported(2) > 2
    assert report.left_out == 1
    assert not victim.exists()
    assert "an empty one takes its place" in str(report.notes)


def test_unknown_form_or_missing_content_reported(tmp_path: Path, library: Path) -> None:
    path = tmp_path / "s.gsstream"
    with StreamWriter(path) as writer:
        writer.add(Kind.FUNCTION, b"\0\0\0\0zeInitDrivers")
        writer.add(Kind.FUNCTION, b"\1\0\0\0ze\xff\x1b[2J")
        for form in (Form.DIGESTS, 99):
            block = Block(64, 16, Phase.BEFORE, form, bytes(16))
            writer.add(Kind.CALL, Call(0, 0, 0, 0, 0, 0, (64, 0, 64), (block,)).pack())
        writer.add(Kind.CALL, Call(1, 0, 0, 0, 0, 0, (), ()).pack())
        writer.add(Kind.CALL, Call(9, 0, 0, 0, 0, 0, (), ()).pack())
        writer.add(Kind.CALL, Call(0, 0, 0, 0, 0, 0, (64, 0, 64), (), True).pack())
        for kind in (Kind.WRITES, Kind.RESULTS, Kind.MARK):
            writer.add(kind, b"nonsense")
    with player_of(path, library) as player:
        report = player.run()
    sentences = [each.sentence for each in report.differences]
    assert "no content" in sentences[0]
    assert "unknown form 99" in sentences[1]
    assert "too large to be recorded" in sentences[2]
    assert len(sentences) == 5
    assert "\x1b" not in str(report.as_json())
    assert report.left_out == 5


def test_a_library_that_cannot_be_opened(tmp_path: Path) -> None:
    stream = everyday(tmp_path / "s.gsstream")
    command = [sys.executable, "-m", "groundstate", "play", "--driver", "/no/such.so"]
    done = subprocess.run([*command, str(stream.path)], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("groundstate play: cannot open /no/such.so")
