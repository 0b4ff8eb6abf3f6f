"""Kernels: what is asked of them and compiled. native/objects/kernel.c holds their arguments."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from groundstate import knobs, ze
from groundstate.driver import native, native_kernel, platform, profiling, variants
from groundstate.driver.api import (
    NOT_OF_THE_INPUT,
    Extensions,
    Failure,
    answer_structs,
    handler,
    pointer_in,
    read_pointer,
    read_text,
    read_u32,
    request,
    write_bytes,
    write_pointer,
    write_u32,
)
from groundstate.driver.build_log import answer_text
from groundstate.driver.capabilities import MAX_GROUP_SIZE, local_memory_bytes
from groundstate.driver.module import (
    EntryPoint,
    Module,
    answer_bytes,
    entry_point_at,
    entry_point_of,
    of_handle,
)
from groundstate.driver.platform import identity
from groundstate.native_layouts import AllocationFacts

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.compiler.program import KernelCode
    from groundstate.compiler.program.signature import Signature
    from groundstate.driver.devices.nvidia.module import GpuKernel
    from groundstate.driver.native_kernel import Size


# --- Creating and compiling -----------------------------------------------------------------------


def _entry_point(module: Module, name: str) -> EntryPoint:
    """The kernel of that name, which the native half learns about when it is first asked for."""
    with module.lock:
        if name not in module.entry_points:
            module.entry_points[name] = _new_entry_point(module, name)
        return module.entry_points[name]


def _new_entry_point(module: Module, name: str) -> EntryPoint:
    signature = module.program.signature(name)
    if signature.unresolved:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED,
            f"kernel {name!r} needs {', '.join(signature.unresolved)}, which the module imports; "
            "link it with a module that exports them (zeModuleDynamicLink)",
        )
    most_items = MAX_GROUP_SIZE
    device = platform.device(module.device)
    if device.gpu is not None:
        kernel = module.need_gpu().kernel(name)
        most_items = kernel.most_items
        signature = _as_on_gpu(signature, kernel)
    local_bytes = local_memory_bytes(device)
    # Where work-items wait for each other, what a larger group keeps leaves the cache.
    suits_large_groups = device.gpu is None and not signature.uses_barriers
    address = native_kernel.entry_point_add(
        module.handle, signature, most_items, local_bytes, suits_large_groups
    )
    return EntryPoint(module, signature, address, most_items)


def _as_on_gpu(signature: Signature, kernel: GpuKernel) -> Signature:
    """What a kernel needs depends on its code."""
    from groundstate.compiler.light_dataclass import replace

    return replace(
        signature,
        subgroup_size=kernel.ptx.sub_group_size,
        required_group_size=kernel.ptx.required_group_size,
        local_bytes=kernel.ptx.static_shared,
        private_bytes=kernel.private_bytes,
    )


def _add_gpu_code(entry_point: EntryPoint, size: Size) -> None:
    """Gives a kernel of a GPU its code, which is the same for all group sizes."""
    from groundstate.driver.devices.nvidia.module import describe

    module, signature = entry_point.module, entry_point.signature
    gpu = module.need_gpu()
    formats = gpu.ptx.print_formats
    kernel = gpu.kernel(signature.name)
    description, _kept = describe(kernel, signature, formats if kernel.ptx.uses_print else (), size)
    native_kernel.described_code_add(module.handle, entry_point.address, description)


def _compile(entry_point: EntryPoint, size: Size) -> KernelCode:
    """The code for a group size, compiled once."""
    module = entry_point.module
    with module.lock:
        if size in entry_point.codes:
            return entry_point.codes[size]
        code = module.program.compile(entry_point.signature.name, size)
        variants.begin(entry_point, size, code)
        entry_point.codes[size] = code
        return code


def compile_for_default_size(module: Module, name: str) -> EntryPoint:
    """A kernel with code for the group size that it has before one is set."""
    with _building():
        entry_point = _entry_point(module, name)
        signature = entry_point.signature
        _compile(entry_point, signature.required_group_size or (signature.subgroup_size, 1, 1))
    return entry_point


@contextmanager
def _building() -> Iterator[None]:
    """Whatever goes wrong in the compiler is a failed build, with the compiler's words for it."""
    from groundstate.compiler.errors import BuildError

    failure = ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
    try:
        yield
    except BuildError as problem:
        raise Failure(failure, problem.log) from problem
    except (Failure, *NOT_OF_THE_INPUT):
        raise
    except Exception as problem:
        name = type(problem).__name__
        sentence = f"the compiler failed on this kernel: {name}: {problem}"
        raise Failure(failure, sentence) from problem


@handler
def zeKernelCreate(hModule: int, desc: int, phKernel: int) -> None:
    module = of_handle(hModule)
    description = ze.ze_kernel_desc_t.from_address(desc)
    name = read_text(pointer_in(description, "pKernelName"))
    if name not in module.program.kernel_names:
        known = ", ".join(module.program.kernel_names[:10]) or "none"
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_KERNEL_NAME,
            f"the module has no kernel {name!r}; it has {known}",
        )
    with _building():
        entry_point = _entry_point(module, name)
        if not module.is_of_gpu:
            module.program.check(name)
    if "portability" in knobs.CHECK.get() and not module.is_of_gpu:
        from groundstate.driver.checking import portability

        portability.check_kernel(module.program, name)
    module.need_variables()
    write_pointer(phKernel, native_kernel.kernel_new(hModule, entry_point.address))


@request
def compile_entry_point(entry_point: int, x: int, y: int, z: int) -> None:
    """Compiles an entry point for a group size that is allowed for it and has no code yet."""
    found = entry_point_at(entry_point)
    with _building():
        if not found.module.is_of_gpu:
            _compile(found, (x, y, z))
            return
        with found.module.lock:
            if (x, y, z) not in found.sizes:
                _add_gpu_code(found, (x, y, z))
                found.sizes.add((x, y, z))


@request
def compile_counting(entry_point: int, x: int, y: int, z: int) -> None:
    """Compiles an entry point for launches with a group size that count their instructions."""
    found, size = entry_point_at(entry_point), (x, y, z)
    module = found.module
    with _building(), module.lock:
        if size not in found.counting_codes:
            code = module.program.counting.compile(found.signature.name, size)
            native_kernel.counting_code_add(module.handle, found.address, size, code)
            found.counting_codes[size] = code
            if profiling.is_written():
                profiling.tell_counting(found, size, code)


@request
def report_launch(entry_point: int, x: int, y: int, z: int, reports: int) -> int:
    """Tells what checkers found in a launch; 1 if the context is to be lost for it."""
    from groundstate.driver.checking import kernel_findings

    return kernel_findings.report_launch(entry_point, x, y, z, reports)


@handler
def zeKernelGetBinaryExp(hKernel: int, pSize: int, pKernelBinary: int) -> None:
    """The machine code for the group size that is set."""
    if entry_point_of(hKernel).module.is_of_gpu:
        raise Failure(
            ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "kernels of NVIDIA's GPUs have no binary of ours",
        )
    with _building():
        code = _compile(entry_point_of(hKernel), native_kernel.kernel_group_size(hKernel))
    answer_bytes(code.binary, pSize, pKernelBinary)


# --- Asking ---------------------------------------------------------------------------------------

PROPERTIES_EXTENSIONS = Extensions("KERNEL_PROPERTIES")


@handler
def zeKernelGetProperties(hKernel: int, pKernelProperties: int) -> None:
    entry_point = entry_point_of(hKernel)
    signature = entry_point.signature
    properties = ze.ze_kernel_properties_t.from_address(pKernelProperties)
    properties.numKernelArgs = len(signature.arguments)
    required = signature.required_group_size or (0, 0, 0)
    properties.requiredGroupSizeX = required[0]
    properties.requiredGroupSizeY = required[1]
    properties.requiredGroupSizeZ = required[2]
    properties.requiredNumSubGroups = _attribute(signature.attributes, "required_num_sub_groups")
    properties.requiredSubgroupSize = _attribute(signature.attributes, "intel_reqd_sub_group_size")
    properties.maxSubgroupSize = signature.subgroup_size
    properties.maxNumSubgroups = -(-entry_point.most_items // signature.subgroup_size)
    properties.localMemSize = signature.local_bytes
    properties.privateMemSize = signature.private_bytes
    properties.spillMemSize = 0  # the stack of the thread that runs the kernel takes all spills
    write_bytes(properties.uuid.kid, identity("kernel", signature.name, *_source(entry_point)))
    write_bytes(properties.uuid.mid, identity("module", *_source(entry_point)))
    PROPERTIES_EXTENSIONS.fill(properties, entry_point)


def _attribute(attributes: str, name: str) -> int:
    """The number in an attribute such as `intel_reqd_sub_group_size(16)`, or 0."""
    import re

    found = re.search(rf"\b{name}\((\d+)\)", attributes)
    return int(found[1]) if found else 0


def _source(entry_point: EntryPoint) -> Iterable[str]:
    yield entry_point.signature.source_hash.hex()


@PROPERTIES_EXTENSIONS.add("ze_kernel_preferred_group_size_properties_t")
def _preferred_group_size(
    properties: ze.ze_kernel_preferred_group_size_properties_t, entry_point: EntryPoint
) -> None:
    properties.preferredMultiple = entry_point.signature.subgroup_size


@PROPERTIES_EXTENSIONS.add("ze_kernel_max_group_size_properties_ext_t")
def _max_group_size(
    properties: ze.ze_kernel_max_group_size_properties_ext_t, entry_point: EntryPoint
) -> None:
    required = entry_point.signature.required_group_size
    properties.maxGroupSize = (
        required[0] * required[1] * required[2] if required else entry_point.most_items
    )


@handler
def zeKernelGetName(hKernel: int, pSize: int, pName: int) -> None:
    answer_text(entry_point_of(hKernel).signature.name.encode(), pSize, pName)


@handler
def zeKernelGetSourceAttributes(hKernel: int, pSize: int, pString: int) -> None:
    """The specification's own oddity: the string goes where the pointer at `pString` points."""
    attributes = entry_point_of(hKernel).signature.attributes.encode() + b"\0"
    room = read_u32(pSize)
    write_u32(pSize, len(attributes))
    target = read_pointer(pString) if pString else 0
    if target and room:
        ctypes.memmove(target, attributes[: room - 1] + b"\0", min(room, len(attributes)))


@handler
def zeKernelGetAllocationPropertiesExp(
    hKernel: int, pCount: int, pAllocationProperties: int
) -> None:
    """The allocations that pointer arguments lie in, and the module's variables."""
    entry_point = entry_point_of(hKernel)
    structure = ze.ze_kernel_allocation_exp_properties_t
    found = list(_allocations(hKernel, entry_point))
    answer_structs(pCount, pAllocationProperties, structure, found, _write_allocation)


def _allocations(kernel: int, entry_point: EntryPoint) -> Iterable[tuple[int, AllocationFacts]]:
    context = entry_point.module.context
    for index, argument in enumerate(entry_point.signature.arguments):
        if argument.kind == "pointer":
            pointer = native_kernel.kernel_argument_word(kernel, index, argument.offset)
            allocation = native.allocation(context, pointer) if pointer else None
            if allocation is not None:
                yield index, allocation
    variables = entry_point.module.need_variables()
    if variables:
        own = native.allocation(context, native_kernel.globals_base(variables))
        assert own is not None
        yield 0xFFFFFFFF, own


def _write_allocation(
    properties: ze.ze_kernel_allocation_exp_properties_t, found: tuple[int, AllocationFacts]
) -> None:
    index, allocation = found
    properties.base = allocation.base
    properties.size = allocation.size
    properties.type = allocation.type
    properties.argIndex = index
