"""The machine, measured from recorded trees of files."""

import os
from pathlib import Path
from types import SimpleNamespace

import pytest

from groundstate.driver.devices.cpu import Machine, parse_cache_size, parse_cpu_list

MACHINES = Path(__file__).parents[1] / "machines"

EPYC = """processor\t: 0
vendor_id\t: AuthenticAMD
cpu family\t: 25
model\t\t: 1
model name\t: AMD EPYC 7763
stepping\t: 1
cpu MHz\t\t: 2445.428
flags\t\t: fpu sse2 avx avx2 fma f16c

processor\t: 1
vendor_id\t: Wrong
"""

XEON = """processor\t: 0
vendor_id\t: GenuineIntel
cpu family\t: 6
model\t\t: 143
model name\t: Intel(R) Xeon(R) Platinum 8480+
stepping\t: 8
flags\t\t: sse2 avx2 avx512f avx512_fp16
"""

GRAVITON = """processor\t: 0
BogoMIPS\t: 243.75
Features\t: fp asimd evtstrm fphp asimdhp
CPU implementer\t: 0x41
CPU architecture: 8
CPU variant\t: 0x3
CPU part\t: 0xd0c
CPU revision\t: 1
"""


class Tree:
    """A recorded machine that a test writes file by file."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("proc/cpuinfo", EPYC)
        self.write("proc/meminfo", "MemTotal: 8388608 kB\nMemAvailable: 4194304 kB\n")
        self.write("proc/self/cgroup", "0::/\n")
        self.write("sys/devices/system/cpu/online", "0-7\n")

    def write(self, path: str, text: str) -> None:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def machine(self) -> Machine:
        return Machine(str(self.root))


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(tmp_path)


def test_identity_of_an_amd_cpu(tree: Tree) -> None:
    machine = tree.machine()
    assert machine.model_name == "AMD EPYC 7763"
    assert machine.pci_vendor_id == 0x1022
    assert machine.generation == (25, 1, 1)
    assert machine.signature == 0xA00F11
    assert machine.simd_bits == 256
    assert not machine.has_half_arithmetic


def test_identity_of_an_intel_cpu(tree: Tree) -> None:
    tree.write("proc/cpuinfo", XEON)
    machine = tree.machine()
    assert machine.pci_vendor_id == 0x8086
    assert machine.signature == 0x806F8
    assert machine.simd_bits == 512
    assert machine.has_half_arithmetic


def test_identity_of_an_arm_cpu(tree: Tree) -> None:
    tree.write("proc/cpuinfo", GRAVITON)
    machine = tree.machine()
    assert machine.model_name == "Arm Neoverse N1"
    assert machine.pci_vendor_id == 0x13B5
    assert machine.signature == 0x413FD0C1
    assert machine.simd_bits == 128
    assert machine.has_half_arithmetic
    assert machine.clock_mhz == 0


def test_emulated_arm_lacks_the_features_of_its_host(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(machine="aarch64"))
    machine = Machine()
    machine.cpuinfo = {"flags": "sse2 avx512f avx512_fp16 amx_tile amx_int8 amx_bf16"}
    assert machine.simd_bits == 128
    assert not machine.has_half_arithmetic
    assert not machine.has_tiles
    assert machine.packed_products == ()


def test_machine_that_tells_nothing_has_defaults(tmp_path: Path) -> None:
    machine = Machine(str(tmp_path))
    assert machine.allowed_cpus == (0,)
    assert machine.usable_cpu_count == 1
    assert machine.model_name
    assert machine.pci_vendor_id == 0
    assert machine.memory_bytes == machine.available_memory() == 0
    assert machine.caches == ()
    assert machine.private_cache_bytes() == 0
    assert machine.clock_mhz == 0
    assert machine.machine_id == ""
    assert not machine.has_ecc


def test_clock_is_the_highest_known_rate(tree: Tree) -> None:
    assert tree.machine().clock_mhz == 2445
    tree.write("sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3529052\n")
    assert tree.machine().clock_mhz == 3529


def test_all_cpus_without_a_quota(tree: Tree) -> None:
    machine = tree.machine()
    assert machine.allowed_cpus == tuple(range(8))
    assert machine.usable_cpu_count == 8


@pytest.mark.parametrize(
    ("limit", "count"),
    [
        ("max 100000", 8),
        ("200000 100000", 2),
        ("150000 100000", 2),
        ("10000 100000", 1),
        ("6400000 100000", 8),
        ("nonsense", 8),
    ],
)
def test_cpu_quota_of_a_container(tree: Tree, limit: str, count: int) -> None:
    tree.write("sys/fs/cgroup/cpu.max", limit)
    assert tree.machine().usable_cpu_count == count


def test_strictest_parent_cgroup_counts(tree: Tree) -> None:
    tree.write("proc/self/cgroup", "0::/slice/service\n")
    tree.write("sys/fs/cgroup/slice/cpu.max", "300000 100000\n")
    tree.write("sys/fs/cgroup/slice/service/cpu.max", "max 100000\n")
    tree.write("sys/fs/cgroup/slice/memory.max", str(1 << 30))
    tree.write("sys/fs/cgroup/slice/memory.current", str(1 << 28))
    tree.write("sys/fs/cgroup/slice/service/memory.max", str(2 << 30))
    tree.write("sys/fs/cgroup/slice/service/memory.current", str(1 << 28))
    machine = tree.machine()
    assert machine.usable_cpu_count == 3
    assert machine.memory_bytes == 1 << 30
    assert machine.available_memory() == (1 << 30) - (1 << 28)


def test_control_groups_of_the_first_version(tree: Tree) -> None:
    tree.write("proc/self/cgroup", "4:memory:/box\n1:cpu,cpuacct:/box\n0::/\n")
    tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_quota_us", "400000\n")
    tree.write("sys/fs/cgroup/cpu/box/cpu.cfs_period_us", "100000\n")
    tree.write("sys/fs/cgroup/memory/box/memory.limit_in_bytes", str(3 << 30))
    tree.write("sys/fs/cgroup/memory/memory.limit_in_bytes", str((1 << 63) - 4096))
    machine = tree.machine()
    assert machine.usable_cpu_count == 4
    assert machine.memory_bytes == 3 << 30


def test_unlimited_memory_is_that_of_machine(tree: Tree) -> None:
    tree.write("sys/fs/cgroup/memory.max", "max\n")
    machine = tree.machine()
    assert machine.memory_bytes == 8 << 30
    assert machine.available_memory() == 4 << 30


def write_cache(tree: Tree, index: int, **facts: object) -> None:
    for name, text in facts.items():
        tree.write(f"sys/devices/system/cpu/cpu0/cache/index{index}/{name}", f"{text}\n")


def test_data_caches_are_listed_from_last_level(tree: Tree) -> None:
    line: dict[str, object] = {"coherency_line_size": 64}
    write_cache(tree, 0, level=1, type="Data", size="32K", shared_cpu_list="0", **line)
    write_cache(tree, 1, level=1, type="Instruction", size="64K", shared_cpu_list="0", **line)
    write_cache(tree, 2, level=2, type="Unified", size="1024K", shared_cpu_list="0,4", **line)
    write_cache(tree, 3, level=3, type="Unified", size="32M", shared_cpu_list="0-7", **line)
    machine = tree.machine()
    assert [(cache.level, cache.size, cache.sharers) for cache in machine.caches] == [
        (3, 32 << 20, 8),
        (2, 1 << 20, 2),
        (1, 32 << 10, 1),
    ]
    assert {cache.line_size for cache in machine.caches} == {64}
    assert machine.private_cache_bytes() == 512 << 10


def test_neighbouring_cpus_come_together(tree: Tree) -> None:
    for cpu in range(8):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        tree.write(f"{folder}/physical_package_id", f"{cpu % 4 // 2}\n")
        tree.write(f"{folder}/core_id", f"{cpu % 2}\n")
    assert tree.machine().cpus_by_place() == [0, 4, 1, 5, 2, 6, 3, 7]


def test_workers_are_spread_over_sockets() -> None:
    server = Machine(str(MACHINES / "server"))
    left, right = (0, 1, 2, 3), (4, 5, 6, 7)
    assert server.has_several_nodes
    assert server.places_of_workers(8) == [left] * 4 + [right] * 4
    assert server.places_of_workers(3) == [left] * 2 + [right]
    assert server.places_of_workers(16) == [left] * 8 + [right] * 8
    assert server.places_of_workers(1) == []


def test_workers_use_each_core_before_its_sibling(tree: Tree) -> None:
    for cpu in range(8):
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        tree.write(f"{folder}/physical_package_id", "0\n")
        tree.write(f"{folder}/core_id", f"{cpu % 4}\n")
    machine = tree.machine()
    assert machine.places_of_workers(4) == [(0, 1, 2, 3)] * 4
    assert machine.places_of_workers(2) == [(0, 1, 2, 3)] * 2
    assert machine.places_of_workers(5) == []  # some have to share a core, wherever they run
    assert machine.places_of_workers(8) == []


def test_workers_on_one_node_run_anywhere() -> None:
    laptop = Machine(str(MACHINES / "laptop"))
    assert not laptop.has_several_nodes
    assert laptop.places_of_workers(len(laptop.allowed_cpus)) == []


def test_watched_memory_controller_means_ecc(tree: Tree) -> None:
    assert not tree.machine().has_ecc
    tree.write("sys/devices/system/edac/mc/mc0/ce_count", "0\n")
    assert tree.machine().has_ecc


def test_this_machine_can_be_measured() -> None:
    machine = Machine()
    assert machine.allowed_cpus
    assert 1 <= machine.usable_cpu_count <= len(machine.allowed_cpus)
    assert machine.memory_bytes > 1 << 20
    assert 0 < machine.available_memory() <= machine.memory_bytes
    assert machine.model_name
    assert sorted(machine.cpus_by_place()) == list(machine.allowed_cpus)


@pytest.mark.parametrize(
    ("text", "cpus"),
    [("", ()), ("0", (0,)), ("0-2,8", (0, 1, 2, 8)), ("x,3-4,5-", (3, 4)), ("7\n", (7,))],
)
def test_parse_cpu_list(text: str, cpus: tuple[int, ...]) -> None:
    assert parse_cpu_list(text) == cpus


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("32K", 32768),
        ("16M", 16 << 20),
        ("1G", 1 << 30),
        ("512", 512),
        ("", 0),
        ("K", 0),
        ("1KM", 0),
    ],
)
def test_parse_cache_size(text: str, size: int) -> None:
    assert parse_cache_size(text) == size
