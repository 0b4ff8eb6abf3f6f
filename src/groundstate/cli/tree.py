"""Drivers and devices as a tree to read, for `groundstate info`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from groundstate import core
from groundstate.cli.facts import available, version_text
from groundstate.printable import printable
from groundstate.version import __version__

LABEL_WIDTH = 12
GUIDE_STYLE = "bright_black"

Row = tuple[str, str]


def print_machine(
    console: Console,
    drivers: Sequence[core.Driver],
    settings: Mapping[str, str],
    *,
    verbose: bool,
) -> None:
    """Prints a tree for each driver, and what else a reader should know."""
    for number, driver in enumerate(drivers):
        console.print(driver_tree(number, driver, verbose=verbose))
        console.print()
    if len(drivers) == 1:
        console.print(Text("The system has no other Level Zero drivers.", style="dim"))
    for name, value in settings.items():
        console.print(Text.assemble((printable(f"{name}={value}"), "yellow"), (" is set.", "dim")))
    if not verbose:
        hint = "'groundstate info --verbose' shows more, '--json' everything."
        console.print(Text(hint, style="dim"))


def driver_tree(number: int, driver: core.Driver, *, verbose: bool) -> Tree:
    """A driver with its devices."""
    name = f"Groundstate {__version__}" if driver.is_own else f"version {driver.version:#x}"
    title = Text.assemble(
        ("Driver ", "dim"), (f"{number}  ", "dim"), (name, "bold"), "  ",
        (f"Level Zero {version_text(driver.api_version)}", "green"),
    )  # fmt: skip
    tree = Tree(title, guide_style=GUIDE_STYLE)
    tree.add(line("library", driver.library_path))
    for index, device in enumerate(driver.devices):
        add_device(tree, f"Device {index}", device, verbose=verbose)
    tree.add(extensions_branch(driver, verbose=verbose))
    return tree


def add_device(tree: Tree, title: str, device: core.Device, *, verbose: bool) -> None:
    """A device with its sub-devices."""
    branch = tree.add(
        Text.assemble(
            (f"{title}  ", "dim"), (printable(device.name), "bold cyan"), f"  {kind(device)}"
        )
    )
    rows = list(short_rows(device))
    if verbose:
        rows += verbose_rows(device)
    for label, value in rows:
        branch.add(line(label, value))
    for index, part in enumerate(device.sub_devices):
        if verbose:
            add_device(branch, f"Sub-device {index}", part, verbose=True)
        else:
            branch.add(Text.assemble((f"Sub-device {index}  ", "dim"), summary(part)))


def kind(device: core.Device) -> str:
    """What sort of device it is, or says it is."""
    return f"(type {getattr(device.type, 'name', device.type)})"


def summary(device: core.Device) -> str:
    """A sub-device in one line: how much of the whole it is."""
    return f"{cores(device)}, {size(device.memory_bytes)}"


def cores(device: core.Device) -> str:
    """How many cores a device has, and how fast they are if that is known."""
    facts = device.properties
    units = facts.num_slices * facts.num_subslices_per_slice * facts.num_eus_per_subslice
    clock = f" at {facts.core_clock_mhz} MHz" if facts.core_clock_mhz else ""
    return f"{units} core{'s' * (units != 1)}{clock}"


def short_rows(device: core.Device) -> Iterator[Row]:
    """What everybody wants to know of a device."""
    yield "compute", f"{cores(device)}, {device.properties.physical_eu_simd_width} lanes each"
    for memory in device.memories:
        yield "memory", f"{size(memory.total_bytes)} {memory.name}".rstrip()
    if device.caches:
        yield "caches", ", ".join(size(cache.size_bytes) for cache in device.caches)
    for ordinal, group in enumerate(device.queue_groups):
        yield f"queues {ordinal}", f"{group.num_queues} for {flags(group.flags)}"


def verbose_rows(device: core.Device) -> Iterator[Row]:
    """What some want to know of a device."""
    facts = device.properties
    yield "uuid", str(device.uuid)
    yield "ids", f"vendor {facts.vendor_id:#06x}, device {facts.device_id:#06x}"
    if device.pci_address is not None:
        yield "pci", device.pci_address
    yield "flags", flags(facts.flags) or "none"
    yield "allocation", f"up to {size(facts.max_allocation_bytes)} at once"
    yield (
        "timer",
        f"{facts.timer_resolution_ns} ns a tick, {facts.timestamp_valid_bits} bits "
        f"({facts.kernel_timestamp_valid_bits} in events)",
    )
    yield from access_rows(device)
    yield from compute_rows(device)


def access_rows(device: core.Device) -> Iterator[Row]:
    """What the device does with each kind of memory."""
    access = available(lambda: device.memory_access)
    if access is not None:
        yield "host mem", flags(access.host) or "no access"
        yield "device mem", flags(access.device) or "no access"
        yield "shared mem", flags(access.shared_single_device) or "no access"
        yield "malloc mem", flags(access.shared_system) or "no access"


def compute_rows(device: core.Device) -> Iterator[Row]:
    """The limits of kernels."""
    limits = available(lambda: device.compute_properties)
    if limits is not None:
        sizes = ", ".join(map(str, limits.sub_group_sizes))
        yield "groups", f"up to {limits.max_total_group_size} items, sub-groups of {sizes}"
        yield "local mem", size(limits.max_local_memory_bytes)
    module = available(lambda: device.module_properties)
    if module is not None:
        spirv = version_text((module.spirv_version >> 16, module.spirv_version & 0xFFFF))
        yield "modules", f"SPIR-V {spirv}, {flags(module.flags)}"


def extensions_branch(driver: core.Driver, *, verbose: bool) -> Tree:
    """The extensions of a driver: how many, or each with its version."""
    branch = Tree(line("extensions", str(len(driver.extensions))), guide_style=GUIDE_STYLE)
    if verbose:
        for name, version in sorted(driver.extensions.items()):
            branch.add(Text.assemble(printable(name), (f"  {version_text(version)}", "dim")))
    return branch


def line(label: str, value: str) -> Text:
    """A line of a tree: what it is about, and what there is to say."""
    return Text.assemble((f"{label:<{LABEL_WIDTH}}", "dim"), printable(value))


def flags(
    value: core.QueueGroupFlag | core.DeviceFlag | core.MemoryAccess | core.ModuleFlag,
) -> str:
    """Flags as words."""
    words = (str(member.name) for member in type(value) if member in value)
    return ", ".join(word.lower().replace("_", " ") for word in words)


def size(size_bytes: int) -> str:
    """A size in the largest unit that leaves a whole number or three digits.

    >>> size(33554432), size(25274793984), size(100)
    ('32 MiB', '23.5 GiB', '100 B')
    """
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if size_bytes >= factor:
            return f"{size_bytes / factor:.3g} {unit}"
    return f"{size_bytes} B"
