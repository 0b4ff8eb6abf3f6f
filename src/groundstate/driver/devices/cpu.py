"""The CPU as a device: what this machine has, read from /proc and /sys.

Nothing here is invented: what the machine does not tell is 0 or empty. Each fact is read when it
is first asked for, because a driver start must not cost more than it needs. The root of the file
system is an argument, so that a recorded tree of files stands for another machine.
"""

from __future__ import annotations

import os

from groundstate import knobs
from groundstate.driver.devices import tile_registers
from groundstate.driver.devices.cgroup import Cgroup
from groundstate.light_functools import cached_property

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from collections.abc import Iterable

PCI_VENDORS = {
    "GenuineIntel": 0x8086,
    "AuthenticAMD": 0x1022,
    "HygonGenuine": 0x1D94,
    "Arm": 0x13B5,
    "Ampere": 0x1DEF,
    "Apple": 0x106B,
    "Fujitsu": 0x10CF,
    "HiSilicon": 0x19E5,
    "NVIDIA": 0x10DE,
    "Qualcomm": 0x17CB,
}
"""A CPU has no PCI vendor id, its maker has. Programs that look for a vendor look for these."""

ARM_IMPLEMENTERS = {
    0x41: "Arm",
    0x46: "Fujitsu",
    0x48: "HiSilicon",
    0x4E: "NVIDIA",
    0x51: "Qualcomm",
    0x61: "Apple",
    0xC0: "Ampere",
}

ARM_PARTS = {
    (0x41, 0xD0C): "Neoverse N1",
    (0x41, 0xD40): "Neoverse V1",
    (0x41, 0xD49): "Neoverse N2",
    (0x41, 0xD4F): "Neoverse V2",
    (0x41, 0xD08): "Cortex-A72",
    (0x41, 0xD0B): "Cortex-A76",
}


class Cache:
    """One cache as a CPU sees it."""

    def __init__(self, level: int, kind: str, size: int, line_size: int, sharers: int) -> None:
        self.level = level
        self.kind = kind
        self.size = size
        self.line_size = line_size
        self.sharers = sharers


class Machine:
    """The machine that the driver runs on, or that a recorded tree of files describes."""

    def __init__(self, root: str = "/") -> None:
        self.root = root
        self._cgroup = Cgroup(root)

    def _read(self, path: str) -> str:
        """The content of a file without the blanks around it; empty if it cannot be read."""
        try:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                return file.read().strip()
        except OSError:
            return ""

    def _read_number(self, path: str) -> int:
        text = self._read(path)
        return int(text) if text.isdigit() else 0

    @cached_property
    def cpuinfo(self) -> dict[str, str]:
        """What /proc/cpuinfo says of the first CPU. The others are not read: they may be many."""
        facts: dict[str, str] = {}
        try:
            path = os.path.join(self.root, "proc/cpuinfo")
            with open(path, encoding="utf-8", errors="replace") as file:
                for line in file:
                    name, colon, value = line.partition(":")
                    if not colon and facts:
                        break
                    facts[name.strip()] = value.strip()
        except OSError:
            pass
        return facts

    def _cpuinfo_number(self, name: str) -> int:
        try:
            return int(self.cpuinfo.get(name, "0"), 0)
        except ValueError:
            return 0

    @cached_property
    def features(self) -> frozenset[str]:
        """The instruction-set features that are used, by the names that Linux gives them."""
        x86 = "" if self._is_emulated_arm else self.cpuinfo.get("flags")
        text = x86 or self.cpuinfo.get("Features") or ""
        return frozenset(filter(knobs.allows, text.split()))

    @property
    def _is_emulated_arm(self) -> bool:
        """Whether this may be an Arm that an x86-64 emulates, and then reads the other's
        /proc/cpuinfo, as in a container for AArch64 on such a machine."""
        return self.root == "/" and os.uname().machine.startswith(("aarch64", "arm"))

    @cached_property
    def vendor(self) -> str:
        """Who made the CPU."""
        if "vendor_id" in self.cpuinfo:
            return self.cpuinfo["vendor_id"]
        return ARM_IMPLEMENTERS.get(self._cpuinfo_number("CPU implementer"), "")

    @property
    def pci_vendor_id(self) -> int:
        """The PCI vendor id of the CPU's maker, or 0."""
        return PCI_VENDORS.get(self.vendor, 0)

    @cached_property
    def model_name(self) -> str:
        """The name of the CPU."""
        if self.cpuinfo.get("model name"):
            return self.cpuinfo["model name"]
        part = self._cpuinfo_number("CPU part")
        if not part:
            return os.uname().machine
        known = ARM_PARTS.get((self._cpuinfo_number("CPU implementer"), part), f"part {part:#x}")
        return f"{self.vendor} {known}".strip()

    @cached_property
    def signature(self) -> int:
        """The number by which the CPU identifies itself: CPUID leaf 1 on x86, MIDR on Arm.

        It is larger than 16 bits on every CPU in use, so it is never the PCI id of another device.
        """
        if "CPU part" in self.cpuinfo:
            implementer = self._cpuinfo_number("CPU implementer")
            variant = self._cpuinfo_number("CPU variant")
            part = self._cpuinfo_number("CPU part")
            revision = self._cpuinfo_number("CPU revision")
            return implementer << 24 | variant << 20 | 0xF << 16 | part << 4 | revision
        family, model, stepping = self.generation
        extended = (max(family - 15, 0) << 20) | (model >> 4 << 16)
        return extended | (min(family, 15) << 8) | (model & 15) << 4 | (stepping & 15)

    @cached_property
    def generation(self) -> tuple[int, int, int]:
        """Family, model and stepping; on Arm architecture, part and revision."""
        if "CPU part" in self.cpuinfo:
            names = ("CPU architecture", "CPU part", "CPU revision")
        else:
            names = ("cpu family", "model", "stepping")
        family, model, stepping = (self._cpuinfo_number(name) for name in names)
        return family, model, stepping

    def online_cpus(self) -> tuple[int, ...]:
        """The CPUs that are online now; none if nobody tells."""
        return parse_cpu_list(self._read("sys/devices/system/cpu/online"))

    @cached_property
    def allowed_cpus(self) -> tuple[int, ...]:
        """The CPUs that this process may run on."""
        if os.path.abspath(self.root) == "/":
            return tuple(sorted(os.sched_getaffinity(0)))
        return parse_cpu_list(self._read("sys/devices/system/cpu/online")) or (0,)

    @cached_property
    def usable_cpu_count(self) -> int:
        """How many CPUs' worth of time the process may use; a container sees more than it has."""
        quota = self._cgroup.cpu_quota()
        count = len(self.allowed_cpus)
        return count if quota is None else max(1, min(count, -int(-quota // 1)))

    def cpus_by_place(self) -> list[int]:
        """The allowed CPUs with neighbours together: by package, node, core and thread."""
        return sorted(self.allowed_cpus, key=self._place)

    def _place(self, cpu: int) -> tuple[int, int, int, int]:
        folder = f"sys/devices/system/cpu/cpu{cpu}/topology"
        package = self._read_number(f"{folder}/physical_package_id")
        node = self._node_of_cpu.get(cpu, 0)
        return package, node, self._read_number(f"{folder}/core_id"), cpu

    @cached_property
    def _node_of_cpu(self) -> dict[int, int]:
        """The memory node of each CPU; of none, if the kernel knows no nodes."""
        nodes = parse_cpu_list(self._read("sys/devices/system/node/online"))
        return {
            cpu: node
            for node in nodes
            for cpu in parse_cpu_list(self._read(f"sys/devices/system/node/node{node}/cpulist"))
        }

    @property
    def nodes(self) -> tuple[int, ...]:
        """The memory nodes of the allowed CPUs."""
        return tuple(sorted({self._node_of_cpu.get(cpu, 0) for cpu in self.allowed_cpus}))

    @property
    def has_several_nodes(self) -> bool:
        """True if some memory is nearer to some CPUs, as with two sockets."""
        return len(self.nodes) > 1

    def places_of_workers(self, count: int) -> list[tuple[int, ...]]:
        """The CPUs on which each of so many workers should run; nothing if it does not matter.

        Neighbouring workers are on the CPUs of one node. As long as there are no more workers than
        cores, none of them runs on the second CPU of a core (SMT).
        """

        def node(cpu: int) -> int:
            return self._node_of_cpu.get(cpu, 0)

        cpus = list(self.allowed_cpus)
        if count < len(cpus):
            cores: dict[tuple[int, int, int], int] = {}
            for cpu in cpus:
                cores.setdefault(self._place(cpu)[:3], cpu)
            cpus = list(cores.values()) if count <= len(cores) else cpus
        if count == 1 or (len(cpus) == len(self.allowed_cpus) and not self.has_several_nodes):
            return []
        cpus.sort(key=lambda cpu: (node(cpu), cpu))
        return [
            tuple(cpu for cpu in cpus if node(cpu) == node(cpus[worker * len(cpus) // count]))
            for worker in range(count)
        ]

    def nodes_near(self, cpus: Iterable[int]) -> tuple[int, ...]:
        """The memory nodes of some CPUs; none if those are all that the machine has."""
        near = {self._node_of_cpu.get(cpu, 0) for cpu in cpus}
        return tuple(sorted(near)) if set(self._node_of_cpu.values()) - near else ()

    @cached_property
    def memory_bytes(self) -> int:
        """The memory of the machine, or of the container if that is less."""
        limit = self._cgroup.memory_limit()
        total = self._meminfo("MemTotal")
        return total if limit is None else min(total, limit)

    def available_memory(self) -> int:
        """How much memory can be had right now without swapping."""
        headroom = self._cgroup.memory_headroom()
        available = self._meminfo("MemAvailable")
        return available if headroom is None else min(available, headroom)

    def _meminfo(self, name: str) -> int:
        for line in self._read("proc/meminfo").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
        return 0

    @cached_property
    def clock_mhz(self) -> int:
        """The highest clock rate of a core, or its rate now if the highest is not known, or 0."""
        folder = f"sys/devices/system/cpu/cpu{self.allowed_cpus[0]}/cpufreq"
        highest = self._read_number(f"{folder}/cpuinfo_max_freq")
        if highest:
            return highest // 1000
        try:
            return round(float(self.cpuinfo.get("cpu MHz", "0")))
        except ValueError:
            return 0

    @cached_property
    def simd_bits(self) -> int:
        """The width of a vector register that the compiler will use."""
        if "avx512f" in self.features:
            return 512
        return 256 if "avx2" in self.features else 128

    @cached_property
    def has_half_arithmetic(self) -> bool:
        """Whether the CPU adds and multiplies 16-bit floats itself."""
        return not self.features.isdisjoint({"avx512_fp16", "asimdhp"})

    @cached_property
    def has_byte_dots(self) -> bool:
        """Whether one instruction adds the products of four bytes to a sum."""
        return not self.features.isdisjoint({"avx512_vnni", "avx_vnni"})

    @cached_property
    def has_tiles(self) -> bool:
        """Whether there are tile registers for products of 8-bit integers and bfloats."""
        return self.features.issuperset(tile_registers.FEATURES)

    @cached_property
    def packed_products(self) -> tuple[str, ...]:
        """The kinds of packed products that are faster than others: of pairs of 16 bits, and of
        tiles if kernels may use the registers."""
        kinds = {"s16": "sse2", "bf16": "avx512_bf16"}
        found = [kind for kind, feature in kinds.items() if feature in self.features]
        if self.has_tiles and tile_registers.granted():
            found.append("tiles")
        return tuple(found)

    @cached_property
    def has_ecc(self) -> bool:
        """Whether the kernel watches a memory controller that corrects errors."""
        return os.path.isdir(os.path.join(self.root, "sys/devices/system/edac/mc/mc0"))

    @cached_property
    def caches(self) -> tuple[Cache, ...]:
        """The caches that hold data, as the first allowed CPU sees them, the last level first."""
        folder = f"sys/devices/system/cpu/cpu{self.allowed_cpus[0]}/cache"
        found = []
        for index in range(16):
            at = f"{folder}/index{index}"
            kind = self._read(f"{at}/type")
            if not kind:
                break
            if kind != "Instruction":
                found.append(
                    Cache(
                        level=self._read_number(f"{at}/level"),
                        kind=kind,
                        size=parse_cache_size(self._read(f"{at}/size")),
                        line_size=self._read_number(f"{at}/coherency_line_size"),
                        sharers=len(parse_cpu_list(self._read(f"{at}/shared_cpu_list"))),
                    )
                )
        return tuple(sorted(found, key=lambda cache: -cache.level))

    def private_cache_bytes(self) -> int:
        """How much of the second-level cache one CPU has for itself, or 0."""
        for cache in self.caches:
            if cache.level == 2:
                return cache.size // max(1, cache.sharers)
        return 0

    @cached_property
    def machine_id(self) -> str:
        """The identity that the operating system gives this installation, or empty."""
        return self._read("etc/machine-id")


def parse_cpu_list(text: str) -> tuple[int, ...]:
    """Reads the kernel's list format: "0-2,8" is (0, 1, 2, 8). What is not a range is left out."""
    cpus: list[int] = []
    for word in text.split(","):
        first, dash, last = word.strip().partition("-")
        if first.isdigit() and (last.isdigit() or not dash):
            cpus.extend(range(int(first), int(last or first) + 1))
    return tuple(cpus)


def parse_cache_size(text: str) -> int:
    """Reads the kernel's cache sizes: "512K" is 524288. Anything else is 0."""
    digits = text.rstrip("KMG")
    unit = text[len(digits) :]
    if not digits.isdigit() or len(unit) > 1:
        return 0
    return int(digits) << 10 * " KMG".index(unit or " ")
