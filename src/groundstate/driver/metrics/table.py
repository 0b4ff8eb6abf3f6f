"""The metric groups of a device and their metrics, stated once.

docs/reference/metrics.md is for people who read the values.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple

from groundstate import zet
from groundstate.native_layouts import METRIC_SOURCES, MetricCounts, offset_of

WORD = 8


class Report(NamedTuple):
    """One raw report."""

    marker: int
    start: int
    end: int
    workers: int
    counts: dict[str, int]
    """By the names of `gs_metric_counts`; those that the group has."""

    @property
    def elapsed(self) -> int:
        return self.end - self.start


class Metric(NamedTuple):
    """One metric of a group."""

    name: str
    description: str
    units: str
    value: Callable[[Report], float]
    component: str = "Workers"
    type: int = zet.ZET_METRIC_TYPE_EVENT
    result: int = zet.ZET_VALUE_TYPE_UINT64
    tier: int = 1
    word: str = ""
    """Which of `gs_metric_counts` it is, if it is one."""
    recipe: tuple[str, tuple[int, ...]] | None = None
    """If a program has made it: the programmable metric, and its parameters (programmable.py)."""


class Group(NamedTuple):
    """One metric group."""

    name: str
    description: str
    sampling: int
    domain: int
    first: str
    """The first and the last word of its reports, by the names of `gs_metric_counts`."""
    last: str
    metrics: tuple[Metric, ...]
    is_created: bool = False
    """By a program (created.py)."""

    @property
    def words(self) -> tuple[int, int]:
        """The number of the first word, and how many there are."""
        if self.sampling == TRACE:
            return 0, 0
        first, last = (offset_of(MetricCounts, each) // WORD for each in (self.first, self.last))
        return first, last - first + 1


OF_DEVICE, OF_CODE, OF_PROCESSOR, OF_COMMANDS, OF_WORKERS, OF_PACKAGE = range(len(METRIC_SOURCES))
"""The domains."""
NAMES = tuple(MetricCounts.__annotations__)
"""Of the words that are counted, in their order."""

TIME = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_TIME_BASED
EVENT = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EVENT_BASED
TRACE = zet.ZET_METRIC_GROUP_SAMPLING_TYPE_FLAG_EXP_TRACER_BASED
_RATIO = zet.ZET_METRIC_TYPE_RATIO
_FLOAT = zet.ZET_VALUE_TYPE_FLOAT32


def _count(
    name: str, description: str, word: str, units: str = "events", component: str = "Workers"
) -> Metric:
    type_ = zet.ZET_METRIC_TYPE_DURATION if units == "ns" else zet.ZET_METRIC_TYPE_EVENT
    return Metric(
        name,
        description,
        units,
        lambda report: report.counts[word],
        component,
        type_,
        tier=2,
        word=word,
    )


def _share(part: float, whole: float) -> float:
    """Percent, at most 100: of what two clocks say, the part may be a little more than all."""
    return min(100 * part / whole, 100.0) if whole > 0 else 0.0


def _busy(report: Report) -> float:
    return _share(report.counts["busy_time"], report.workers * report.elapsed)


def _in_nanosecond(*words: str) -> Callable[[Report], float]:
    def value(report: Report) -> float:
        count = sum(report.counts[word] for word in words)
        return count / report.elapsed if report.elapsed else 0.0

    return value


TIMES = (
    Metric(
        "GpuTime",
        "Time from the beginning of the report to its end.",
        "ns",
        lambda report: report.elapsed,
        "Report",
        zet.ZET_METRIC_TYPE_DURATION,
    ),
    Metric(
        "QueryBeginTime",
        "When the report began, as zeDeviceGetGlobalTimestamps tells the device's time.",
        "ns",
        lambda report: report.start,
        "Report",
        zet.ZET_METRIC_TYPE_TIMESTAMP,
    ),
    Metric(
        "ReportTime",
        "When the report ended, likewise.",
        "ns",
        lambda report: report.end,
        "Report",
        zet.ZET_METRIC_TYPE_TIMESTAMP,
    ),
)
MARKER = Metric(
    "StreamMarker",
    "The value of the marker that ended the report, or 0.",
    "",
    lambda report: report.marker,
    "Report",
    zet.ZET_METRIC_TYPE_RAW,
)
_WORK = (
    Metric(
        "XVE_ACTIVE",
        "Share of the workers' time in which they ran kernels, copies and fills.",
        "percent",
        _busy,
        type=_RATIO,
        result=_FLOAT,
    ),
    Metric(
        "XVE_STALL",
        "Share of the workers' time in which they had nothing to do.",
        "percent",
        lambda report: 100.0 - _busy(report),
        type=_RATIO,
        result=_FLOAT,
    ),
    _count("Kernels", "Launches that ended.", "kernels"),
    _count("WorkGroups", "Work-groups of those.", "groups"),
    _count("WorkItems", "Work-items of those.", "items"),
    _count("KernelTime", "From the beginning of each launch to its end.", "kernel_time", "ns"),
    _count("WorkerBusyTime", "Time in which workers worked, of all together.", "busy_time", "ns"),
    _count("Copies", "Copies and fills that ended.", "copies", component="Copies"),
    _count("CopiedBytes", "Bytes that copies wrote.", "copied_bytes", "bytes", "Copies"),
    _count("FilledBytes", "Bytes that fills wrote.", "filled_bytes", "bytes", "Copies"),
    _count("CopyTime", "From the beginning of each copy to its end.", "copy_time", "ns", "Copies"),
    _count("QueueWaitTime", "Time in which queues waited for events.", "wait_time", "ns", "Queues"),
)
_COMPILING = (
    _count(
        "KernelsCompiled",
        "Kernels that were compiled for a group size, or loaded from the kernel cache.",
        "compiled",
        component="Compiler",
    ),
    _count("CompileTime", "Time that took.", "compile_time", "ns", "Compiler"),
)

BASIC = "What runs on the device: kernels, copies, and how busy its workers are."


INSTRUCTIONS = (
    "What work-items of kernels do: instructions, operations, branches. Counted by code that is "
    "compiled for launches that are appended while the group is active."
)
MEMORY = (
    "What work-items of kernels load and store, by kind of memory and of access. Counted by code "
    "that is compiled for launches that are appended while the group is active."
)


def _compiled(name: str, description: str, word: str, units: str = "instructions") -> Metric:
    return _count(name, description, word, units, "Kernels")


def _rate(name: str, description: str, units: str, *words: str) -> Metric:
    type_ = zet.ZET_METRIC_TYPE_THROUGHPUT
    return Metric(name, description, units, _in_nanosecond(*words), "Kernels", type_, _FLOAT)


_COUNTED = _compiled(
    "KernelsCounted", "Launches whose code counted what follows.", "counted_kernels", "kernels"
)
_INSTRUCTIONS = (
    _COUNTED,
    _compiled("Instructions", "Instructions of work-items.", "instructions"),
    _compiled("IntegerInstructions", "Those on integers.", "integer_instructions"),
    _compiled("FloatInstructions", "Those on floating-point numbers.", "float_instructions"),
    _compiled("MemoryInstructions", "Loads, stores, atomics, images.", "memory_instructions"),
    _compiled("ControlInstructions", "Branches and barriers.", "control_instructions"),
    _compiled(
        "Flops",
        "Floating-point operations: one for each number computed, two for a fused multiply-add.",
        "flops",
        "operations",
    ),
    _rate("FlopRate", "The same in a nanosecond.", "GFLOP/s", "flops"),
    _compiled("Atomics", "Atomic operations of work-items.", "atomics", "operations"),
    _compiled("Barriers", "Barriers that work-items came to.", "barriers", "barriers"),
    _compiled("Branches", "Conditional branches of work-items.", "branches", "branches"),
    _compiled(
        "DivergentBranches",
        "Branches of vectors whose lanes went both ways.",
        "divergent_branches",
        "branches",
    ),
    Metric(
        "LanesActive",
        "Share of the lanes of vectors that had a work-item, over all instructions.",
        "percent",
        lambda report: _share(
            report.counts["instructions"],
            report.counts["instructions"] + report.counts["idle_lanes"],
        ),
        "Kernels",
        _RATIO,
        _FLOAT,
    ),
    _compiled("LanesIdle", "Lanes without one, for each instruction.", "idle_lanes", "lanes"),
)
_MEMORY = (
    _COUNTED,
    *(
        _compiled(name, f"Bytes that work-items {verb} {space} memory.", word, "bytes")
        for name, verb, space, word in (
            ("GlobalBytesLoaded", "loaded from", "global", "global_loaded"),
            ("GlobalBytesStored", "stored to", "global", "global_stored"),
            ("LocalBytesLoaded", "loaded from", "local", "local_loaded"),
            ("LocalBytesStored", "stored to", "local", "local_stored"),
            ("PrivateBytesLoaded", "loaded from", "private", "private_loaded"),
            ("PrivateBytesStored", "stored to", "private", "private_stored"),
            ("ConstantBytesLoaded", "loaded from", "constant", "constant_loaded"),
        )
    ),
    *(
        _compiled(name, f"Bytes of other than private memory {how}.", word, "bytes")
        for name, how, word in (
            ("BytesUniform", "at one address for neighbours", "uniform_bytes"),
            ("BytesConsecutive", "one neighbour after the other", "consecutive_bytes"),
            ("BytesStrided", "at a fixed distance between neighbours", "strided_bytes"),
            ("BytesGathered", "anywhere for each work-item", "gathered_bytes"),
        )
    ),
    _rate("GlobalBandwidth", "Global bytes in time.", "GB/s", "global_loaded", "global_stored"),
)


def _of_code(name: str, about: str, sampling: int, metrics: tuple[Metric, ...]) -> Group:
    times = (*TIMES, MARKER) if sampling == TIME else TIMES
    first, last = "counted_kernels", "branches"
    return Group(name, about, sampling, OF_CODE, first, last, (*times, *metrics))


GROUPS: tuple[Group, ...] = (
    Group(
        "ComputeBasic",
        BASIC,
        TIME,
        OF_DEVICE,
        "kernels",
        "compile_time",
        (*TIMES, MARKER, *_WORK, *_COMPILING),
    ),
    _of_code("Instructions", INSTRUCTIONS, TIME, _INSTRUCTIONS),
    _of_code("MemoryAccess", MEMORY, TIME, _MEMORY),
    Group("ComputeBasic", BASIC, EVENT, OF_DEVICE, "kernels", "wait_time", (*TIMES, *_WORK)),
    _of_code("Instructions", INSTRUCTIONS, EVENT, _INSTRUCTIONS),
    _of_code("MemoryAccess", MEMORY, EVENT, _MEMORY),
)
"""In the order in which they are listed: time-based groups first."""


PROCESSOR = (
    "What the system counts of threads while they run kernels, copies and fills, outside of the "
    "kernel of the system (perf_event_open)."
)
PROCESSOR_EVENTS = (
    ("CpuCycles", "Clock cycles.", "cycles"),
    ("CpuInstructions", "Instructions of the CPU.", "cpu_instructions"),
    ("CacheReferences", "Accesses of the last-level cache.", "cache_references"),
    ("CacheMisses", "Those that had to go to memory.", "cache_misses"),
    ("CpuBranches", "Branches of the CPU.", "cpu_branches"),
    ("CpuBranchMisses", "Those that were predicted wrongly.", "branch_misses"),
    ("DataTlbMisses", "Loads whose page the data TLB did not have.", "data_tlb_misses"),
    (
        "InstructionTlbMisses",
        "Fetches of instructions whose page the TLB did not have.",
        "instruction_tlb_misses",
    ),
    ("PageFaults", "Pages that were touched for the first time, or came back.", "page_faults"),
    ("ContextSwitches", "How often threads had to let others run.", "context_switches"),
    ("CpuMigrations", "How often threads went to another CPU.", "migrations"),
)
"""In the order of the events in native/metrics/processor.c."""


def processor_groups(events: int) -> tuple[Group, ...]:
    """The groups of what the system counts: events that it does not count are not in them."""
    metrics = tuple(
        _count(name, about, word, component="Processor")
        for number, (name, about, word) in enumerate(PROCESSOR_EVENTS)
        if events >> number & 1
    )
    if not metrics:
        return ()
    facts = (OF_PROCESSOR, PROCESSOR_EVENTS[0][2], PROCESSOR_EVENTS[-1][2])
    return (
        Group("Processor", PROCESSOR, TIME, *facts, (*TIMES, MARKER, *metrics)),
        Group("Processor", PROCESSOR, EVENT, *facts, (*TIMES, *metrics)),
    )


def events_of(names: list[str]) -> int:
    """The events whose metrics are among these."""
    return sum(1 << number for number, each in enumerate(PROCESSOR_EVENTS) if each[0] in names)


PACKAGE = (
    "What the packages that the device's CPUs are in count of themselves, whoever works: energy, "
    "and what moves between them and memory."
)
PACKAGE_WORDS = ("package_energy", "memory_energy", "memory_read", "memory_written")
"""In the order of `gs_metric_counts`."""
_MICROJOULES_IN_NANOSECOND = 1000
"""Watts in a microjoule in a nanosecond."""


def _power(word: str) -> Callable[[Report], float]:
    in_nanosecond = _in_nanosecond(word)
    return lambda report: in_nanosecond(report) * _MICROJOULES_IN_NANOSECOND


def _of_package(
    name: str, about: str, word: str, units: str, rate: tuple[str, str, str]
) -> tuple[Metric, Metric]:
    """A count, and the same in time."""
    name_of_rate, about_rate, units_of_rate = rate
    value = _power(word) if units_of_rate == "W" else _in_nanosecond(word)
    type_ = zet.ZET_METRIC_TYPE_THROUGHPUT
    facts = (name_of_rate, about_rate, units_of_rate, value, "Package", type_, _FLOAT)
    return _count(name, about, word, units, "Package"), Metric(*facts)


_PACKAGE_METRICS = {
    "package_energy": _of_package(
        "PackageEnergy",
        "Energy that the packages used.",
        "package_energy",
        "uJ",
        ("PackagePower", "The same in time: their mean power.", "W"),
    ),
    "memory_energy": _of_package(
        "MemoryEnergy",
        "Energy that the memory of the packages used.",
        "memory_energy",
        "uJ",
        ("MemoryPower", "The same in time: its mean power.", "W"),
    ),
    "memory_read": _of_package(
        "MemoryBytesRead",
        "Bytes that memory controllers read.",
        "memory_read",
        "bytes",
        ("MemoryReadBandwidth", "The same in time.", "GB/s"),
    ),
    "memory_written": _of_package(
        "MemoryBytesWritten",
        "Bytes that memory controllers wrote.",
        "memory_written",
        "bytes",
        ("MemoryWriteBandwidth", "The same in time.", "GB/s"),
    ),
}


def package_groups(words: Collection[str]) -> tuple[Group, ...]:
    """The group of what packages count of themselves: words that they do not count are not in it.

    It is for streamers only, because nothing says for which queue a package works.
    """
    metrics = [each for word in PACKAGE_WORDS if word in words for each in _PACKAGE_METRICS[word]]
    if not metrics:
        return ()
    facts = (OF_PACKAGE, PACKAGE_WORDS[0], PACKAGE_WORDS[-1])
    return (Group("Package", PACKAGE, TIME, *facts, (*TIMES, MARKER, *metrics)),)


def package_words_of(names: Collection[str]) -> list[str]:
    """The words whose metrics are among these."""
    return [word for word, metrics in _PACKAGE_METRICS.items() if metrics[0].name in names]


GPU_WORK = "What the driver gives to the GPU: kernels, copies, and how long they take."
_OF_GPU = tuple(each for each in _WORK if each.word and each.word not in ("busy_time", "wait_time"))
GPU_GROUPS = (
    Group(
        "ComputeBasic",
        GPU_WORK,
        TIME,
        OF_DEVICE,
        "kernels",
        "copy_time",
        (*TIMES, MARKER, *_OF_GPU),
    ),
    Group("ComputeBasic", GPU_WORK, EVENT, OF_DEVICE, "kernels", "copy_time", (*TIMES, *_OF_GPU)),
)
"""Those of NVIDIA GPUs."""


def groups_anywhere() -> tuple[Group, ...]:
    """The groups of a machine that counts everything."""
    processor = processor_groups((1 << len(PROCESSOR_EVENTS)) - 1)
    return (*GROUPS, *processor, *package_groups(PACKAGE_WORDS))
