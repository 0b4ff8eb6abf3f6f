"""One kernel of a profile: its launches, what they achieved, and where its time goes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from groundstate.profiler.counted import Site, Work, work_of
from groundstate.profiler.recorded import Launch, Recorded, Sample, Size

Frame = tuple[str, int, str]
"""File, line and function."""


@dataclass
class HotLine:
    """A line of the source with its share of the samples."""

    file: str
    line: int
    text: str
    samples: int
    share: float


@dataclass
class KernelProfile:
    """A kernel with a group size, in all processes together."""

    name: str
    group_size: Size
    launches: list[Launch] = field(default_factory=list)
    samples: list[Sample] = field(default_factory=list)
    works: list[Work] = field(default_factory=list)
    """What was counted; one for each number of groups."""

    @property
    def items_of_group(self) -> int:
        return self.group_size[0] * self.group_size[1] * self.group_size[2]

    @property
    def plain(self) -> list[Launch]:
        """Launches that nothing was counted in."""
        return [each for each in self.launches if not each.counted_groups]

    @property
    def is_slowed(self) -> bool:
        """Whether all of its time is that of a launch that counted."""
        return all(each.counted_groups and not each.plain_groups for each in self.launches)

    def nanoseconds(self, launch: Launch) -> float:
        """How long a launch takes by itself: where it was counted, by its other groups."""
        if launch.counted_groups and launch.plain_groups:
            return launch.plain * launch.group_count / launch.plain_groups
        if launch.counted_groups:
            like = [e.end - e.start for e in self.plain if e.groups == launch.groups]
            if like:
                return sum(like) / len(like)
        return launch.end - launch.start

    @property
    def total(self) -> float:
        """The nanoseconds of all launches."""
        return sum(map(self.nanoseconds, self.launches))

    @property
    def timed(self) -> list[Launch]:
        """The launches that rates are computed from. Those that counted: only without others."""
        return self.plain or self.launches

    @property
    def work(self) -> Work | None:
        """What the largest counted launch did."""
        return max(self.works, key=lambda each: each.all_groups, default=None)

    def amount(self, word: str) -> float:
        """How much of something the timed launches did, by what those of their size counted."""
        return sum(self._of_launch(each, word) for each in self.timed)

    def _of_launch(self, launch: Launch, word: str) -> float:
        groups = launch.group_count
        near = min(self.works, key=lambda each: abs(each.all_groups - groups), default=None)
        if near is None or near.groups == 0:
            return 0.0
        amount = near.bytes if word == "bytes" else near.sums[word]
        return amount * groups / near.groups

    def rate(self, word: str) -> float:
        """The same in a nanosecond: billions in a second."""
        time = sum(map(self.nanoseconds, self.timed))
        return self.amount(word) / time if time else 0.0

    def per_item(self, word: str) -> float:
        """What a work-item does on average, in the largest launch that was counted."""
        work = self.work
        if work is None or work.groups == 0:
            return 0.0
        amount = work.bytes if word == "bytes" else work.sums[word]
        return amount / (work.groups * self.items_of_group)

    @property
    def utilisation(self) -> float | None:
        """Which part of the workers' time they worked, in launches on several; None: unknown."""
        shared = [each for each in self.timed if each.busy and each.workers]
        wall = sum((each.end - each.start) * each.workers for each in shared)
        return min(1.0, sum(each.busy for each in shared) / wall) if wall else None

    @property
    def hot_lines(self) -> list[HotLine]:
        """The lines with the most samples."""
        counts: Counter[tuple[str, int]] = Counter()
        texts: dict[tuple[str, int], str] = {}
        for sample in self.samples:
            frames = frames_of(sample)
            if frames:
                file, line, _ = frames[-1]
                counts[file, line] += 1
                texts.setdefault((file, line), _text(sample, file, line))
        total = len(self.samples)
        return [
            HotLine(file, line, texts[file, line], number, number / total)
            for (file, line), number in counts.most_common()
        ]

    def stacks(self) -> Counter[tuple[Frame, ...]]:
        """How many samples each stack of inlined calls has, the outermost frame first."""
        return Counter(tuple(frames_of(sample)) for sample in self.samples)

    @property
    def best(self) -> float:
        """The nanoseconds of a group in the fastest launch, which nothing else held up."""
        return min(self.nanoseconds(each) / max(1, each.group_count) for each in self.timed)

    def of_group(self, word: str) -> float:
        """What a group does on average, in the largest launch that was counted."""
        return self.per_item(word) * self.items_of_group

    @property
    def loaded_of_group(self) -> tuple[float, float]:
        """Bytes that a group moves of global and of local memory, where what is the same for all
        lanes of a vector is moved once."""
        work = self.work
        moved = {"global": 0.0, "local": 0.0}
        for each in work.sites if work is not None else ():
            lanes = work.lanes if work is not None and each.kind == "uniform" else 1
            space = "local" if each.space == "local" else "global"
            moved[space] += each.items * each.size / max(1, lanes)
        groups = max(1, work.groups) if work is not None else 1
        return moved["global"] / groups, moved["local"] / groups

    @property
    def reuse(self) -> float:
        """How often a launch asks for each byte of the memory that it is given; 0: not known."""
        work = self.work
        given = max((each.footprint for each in self.launches), default=0)
        if work is None or not given or not work.groups:
            return 0.0
        return work.bytes * work.all_groups / work.groups / given

    def sites(self, words: str, spaces: Sequence[str] = ("global", "constant")) -> list[Site]:
        """Where memory is accessed in a way, the most often used place first."""
        work = self.work
        found = [e for e in work.sites if e.words == words and e.space in spaces] if work else []
        return sorted(found, key=lambda each: (-each.items * each.size, -_nesting(each)))


def _nesting(site: Site) -> int:
    return site.expression.count("[")


def frames_of(sample: Sample) -> list[Frame]:
    """The calls that a sample is in, the outermost first; none if its place is not known."""
    if sample.lines is None:
        return []
    locations: list[Any] = sample.lines["locations"]
    frames: list[Frame] = []
    number = sample.location
    while 0 < number <= len(locations):
        file, line, _, function, caller = locations[number - 1]
        frames.append((file, line, function))
        number = min(caller, number - 1)
    return frames[::-1]


def _text(sample: Sample, file: str, line: int) -> str:
    texts = sample.lines["texts"] if sample.lines else []
    return next((text.strip() for f, n, text in texts if (f, n) == (file, line)), "")


def kernels_of(processes: Iterable[Recorded]) -> list[KernelProfile]:
    """The kernels of all processes; the one that takes the most time comes first."""
    found: dict[tuple[str, Size], KernelProfile] = {}
    works: dict[tuple[str, Size], dict[int, Work]] = defaultdict(dict)

    def of(process: Recorded, number: int) -> KernelProfile | None:
        kernel = process.kernels.get(number)
        if kernel is None:
            return None
        key = kernel.name, kernel.group_size
        return found.setdefault(key, KernelProfile(*key))

    for process in processes:
        for launch in process.launches:
            if (known := of(process, launch.kernel)) is not None:
                known.launches.append(launch)
        for sample in process.samples:
            if (known := of(process, sample.kernel)) is not None:
                known.samples.append(sample)
        for counts in process.counts:
            if (known := of(process, counts.kernel)) is not None and counts.table is not None:
                key = known.name, known.group_size
                works[key].setdefault(counts.all_groups, work_of(counts))
    for key, by_groups in works.items():
        found[key].works = list(by_groups.values())
    launched = [each for each in found.values() if each.launches]
    return sorted(launched, key=lambda each: -each.total)
