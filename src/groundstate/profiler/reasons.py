"""Why a kernel is as slow as it is, in sentences: what limits it most comes first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from groundstate.profiler.counted import Branch, Site
from groundstate.profiler.kernels import KernelProfile
from groundstate.profiler.roof import Roof

TINY_NS = 20_000
"""A launch that takes no longer is mostly overhead."""
MANY = 100
LEAST_SHARE = 0.25
"""Of accesses, from which on their kind matters."""
LANES = 0.75
"""With fewer lanes at work, it matters that others are idle."""
LEAST_REACHED = 0.1
"""Of a limit: with less, it is not what holds a kernel up."""
AT_LIMIT = 0.5
ARITHMETIC, MEMORY, CACHES = "arithmetic", "memory", "caches"
REUSED = 4
"""Bytes that are asked for more often than this come from caches."""
BUSY = 0.6
ATOMIC_SHARE = 0.02
"""Of instructions."""
BARRIER_SHARE = 0.05
LEAST_NS = 50_000
"""Of a launch that is worth dividing among all workers."""


def reasons(kernel: KernelProfile, roof: Roof | None) -> list[str]:
    """The sentences; the first one is what to look at first. There is always one."""
    found = [*_of_launches(kernel)]
    limits = [*_of_roof(kernel, roof)]
    details = [*_of_work(kernel)]
    known = found + (limits + details if _is_at_limit(kernel, roof) else details + limits)
    uneven = [*_of_workers(kernel)]
    return known + uneven + ([] if known else [*_of_mix(kernel, roof)])


def _is_at_limit(kernel: KernelProfile, roof: Roof | None) -> bool:
    """Whether a kernel could hardly be faster as it is: its accesses lie side by side, too."""
    work = kernel.work
    if roof is None or work is None or kernel.is_slowed:
        return False
    is_orderly = not any(
        each.kind in ("gathered", "strided") for each in work.sites if each.space != "local"
    )
    return is_orderly and limit_of(kernel, roof).reached >= AT_LIMIT


def _of_launches(kernel: KernelProfile) -> Iterator[str]:
    timed = kernel.timed
    mean = sum(map(kernel.nanoseconds, timed)) / len(timed)
    if len(timed) >= MANY and mean <= TINY_NS:
        yield (
            f"{len(kernel.launches):,} launches of {mean / 1000:.1f} us each: what a launch costs "
            "by itself is a large part of that. Launch fewer and larger ones, or put them into one "
            "list or graph"
        )
        return
    workers = max(each.workers for each in timed)
    groups = max(each.group_count for each in timed)
    if mean < LEAST_NS:
        return
    if groups < workers:
        yield (
            f"too few groups: {_number(groups, 'group')} for {workers} workers, so that "
            f"{workers - groups} of them {'has' if workers - groups == 1 else 'have'} nothing to do"
        )


def _of_workers(kernel: KernelProfile) -> Iterator[str]:
    """Whether workers wait for each other, in launches long enough for all of them."""
    timed = kernel.timed
    used = kernel.utilisation
    mean = sum(map(kernel.nanoseconds, timed)) / len(timed)
    if used is not None and used < BUSY and mean >= LEAST_NS:
        yield (
            f"workers are busy for {used:.0%} of the time: groups take unequal times, or other "
            "programs use the CPUs"
        )


@dataclass
class Limit:
    """What a kernel cannot be faster than."""

    name: str
    reached: float
    """The least time that it needs, as a part of the time that it takes."""


def limit_of(kernel: KernelProfile, roof: Roof) -> Limit:
    """Which of arithmetic, memory and caches a kernel needs the most time for."""
    outer, local = kernel.loaded_of_group
    is_reused = kernel.reuse > REUSED
    needs = {
        ARITHMETIC: kernel.of_group("flops") / roof.gflops,
        MEMORY: 0.0 if is_reused else outer / roof.gbs,
        CACHES: (local + outer * is_reused) / roof.cache_gbs,
    }
    name = max(needs, key=lambda each: needs[each])
    return Limit(name, needs[name] / kernel.best if kernel.best else 0.0)


def _of_roof(kernel: KernelProfile, roof: Roof | None) -> Iterator[str]:
    if roof is None or kernel.work is None or kernel.is_slowed:
        return
    limit = limit_of(kernel, roof)
    if limit.reached < LEAST_REACHED:
        return
    reached = f"the fastest launch reaches {min(1.0, limit.reached):.0%} of"
    outer, local = kernel.loaded_of_group
    if limit.name == ARITHMETIC:
        yield f"compute-bound: {reached} the machine's {roof.gflops:,.0f} GFLOP/s"
    elif limit.name == MEMORY:
        yield (
            f"memory-bound: {reached} the {roof.gbs:,.0f} GB/s that memory gives; each work-item "
            f"moves {outer / kernel.items_of_group:,.3g} bytes"
        )
    else:
        per_byte = kernel.of_group("flops") / max(1.0, outer + local)
        what = "local memory" if local > outer else "caches"
        yield (
            f"bound by loads from {what}: {reached} the {roof.cache_gbs:,.0f} GB/s of a cache, at "
            f"{per_byte:.2g} operations for each byte. Keep values in registers and use them again"
        )


def _of_work(kernel: KernelProfile) -> Iterator[str]:
    """What work-items do, the worst first."""
    work = kernel.work
    if work is None:
        return
    instructions = max(1, work.sums["instructions"])
    if work.sums["atomics"] / instructions >= ATOMIC_SHARE:
        yield _atomics(kernel)
    yield from _accesses(kernel)
    if work.lanes > 1 and work.lanes_active < LANES:
        yield _divergence(work.lanes_active, work.branches)
    if work.sums["barriers"] / instructions >= BARRIER_SHARE:
        where = _at_branch(max(work.barriers, key=lambda each: each.items, default=None))
        each = kernel.per_item("barriers")
        number = "one barrier" if each == 1 else f"{each:,.3g} barriers"
        yield f"{number} for each work-item{where}: groups do little between them"
    private = work.sums["private_loaded"] + work.sums["private_stored"]
    if private > work.bytes:
        each = private / (work.groups * kernel.items_of_group)
        yield f"private arrays: each work-item moves {each:,.0f} bytes of private memory"


def _atomics(kernel: KernelProfile) -> str:
    sites = kernel.sites("atomic access", ("global", "local"))
    each = kernel.per_item("atomics")
    where = _at(sites[0]) if sites else ""
    space = f" of {sites[0].space} memory" if sites else ""
    number = "one atomic operation" if each == 1 else f"{each:,.3g} atomic operations"
    sentence = f"{number}{space} for each work-item{where}"
    if sites and sites[0].kind == "uniform":
        return sentence + ": all of them on one address. Add up within the group first"
    return sentence + ": work-items that meet at an address wait for each other"


def _accesses(kernel: KernelProfile) -> Iterator[str]:
    for kind, words in (("gathered", "gathers"), ("strided", "strided")):
        for access, noun in (("read", "loads"), ("write", "stores")):
            sites = kernel.sites(access)
            chosen = [each for each in sites if each.kind == kind]
            total = sum(each.items for each in sites)
            share = sum(each.items for each in chosen) / total if total else 0
            if share < LEAST_SHARE:
                continue
            name = "scattered" if kind == "gathered" and access == "write" else words
            sentence = f"{share:.0%} of {noun} are {name}{_at(chosen[0])}"
            if kind == "strided":
                sentence += ", so that each work-item touches a cache line of its own"
            yield sentence


def _divergence(active: float, branches: list[Branch]) -> str:
    worst = max(branches, key=lambda each: each.diverged, default=None)
    where = _at_branch(worst) if worst is not None and worst.diverged else ""
    what = f": work-items of a vector go different ways{where}" if where else ""
    return f"{1 - active:.0%} of the lanes are idle{what}"


def _of_mix(kernel: KernelProfile, roof: Roof | None) -> Iterator[str]:
    work = kernel.work
    if work is None:
        yield "not counted: what its work-items do is not known"
        return
    of_all = max(1, work.sums["instructions"])
    mix = {
        "floating-point": work.sums["float_instructions"] / of_all,
        "integer": work.sums["integer_instructions"] / of_all,
        "memory": work.sums["memory_instructions"] / of_all,
    }
    kind, share = max(mix.items(), key=lambda each: each[1])
    sentence = f"no single limit: {share:.0%} of its instructions are {kind} ones"
    if roof is not None and not kernel.is_slowed:
        sentence += (
            f"; it reaches {kernel.rate('flops') / roof.gflops:.0%} of the machine's GFLOP/s and "
            f"{kernel.rate('bytes') / roof.gbs:.0%} of its GB/s"
        )
    yield sentence


def _at(site: Site) -> str:
    """Such as ": `col[j]` at spmv.cl:12"."""
    if site.place is None:
        return ""
    expression = site.expression
    place = f"{site.place[0].rsplit('/', 1)[-1]}:{site.place[1]}"
    return f": `{expression}` at {place}" if expression else f" at {place}"


def _at_branch(branch: Branch | None) -> str:
    if branch is None or branch.place is None:
        return ""
    return f" at {branch.place[0].rsplit('/', 1)[-1]}:{branch.place[1]}"


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
