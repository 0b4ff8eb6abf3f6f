"""Modules: programs that were compiled for a device, and what can be asked of them.

A module's code may be in use after its handle is gone: its kernels keep it, and commands that
launch them. So `Module` objects live until the native half says that nothing refers to them any
more.
"""

from __future__ import annotations

import ctypes
from _thread import allocate_lock
from collections.abc import Sequence
from contextlib import suppress
from itertools import count

from groundstate import knobs, ze
from groundstate.announce import Announced
from groundstate.checkers import check_names
from groundstate.driver import (
    build_log,
    module_inputs,
    native,
    native_kernel,
    platform,
)
from groundstate.driver.api import (
    NOT_OF_THE_INPUT,
    Failure,
    Handles,
    find_in_chain,
    handler,
    pointer_in,
    read_text,
    read_u64,
    take_count,
    write_pointer,
    write_u64,
)
from groundstate.driver.devices import tile_registers
from groundstate.driver.platform import Device
from groundstate.extras import OF_MODULES, ModuleChecks

TYPE_CHECKING = False  # as in platform.py; the compiler is imported when it is first needed
if TYPE_CHECKING:
    from typing import Protocol

    from groundstate.compiler.program import KernelCode, Program, Signature
    from groundstate.compiler.target import Target
    from groundstate.driver.devices.nvidia.module import GpuModule
    from groundstate.driver.module_inputs import Input
    from groundstate.driver.native_kernel import Size

    class Watcher(Protocol):
        """Is told of modules, on the thread that creates or destroys one."""

        def loaded(self, module: Module) -> None: ...

        def unloading(self, module: Module) -> None: ...


_keys = count(1)
_by_handle: Handles[Module] = Handles("ze_module_handle_t")
_in_use: dict[int, Module] = {}
"""By key: also modules whose handle is gone, while commands still need their code."""

_entry_points: Handles[EntryPoint] = Handles("ze_kernel_handle_t")
_sharing = allocate_lock()
"""While modules come to share their variables, or one of them goes."""
watcher: Watcher | None = None
"""Who is told of modules: the debugger's part of the driver."""


class Module:
    """A program for a context and a device."""

    def __init__(self, context: int, device: int, program: Program) -> None:
        self.context = context
        self.device = device
        self.program = program
        self.parts: tuple[Program, ...] = (program,)
        """What the program was linked from."""
        self.is_linked = False
        self.names = [ctypes.create_string_buffer(name.encode()) for name in program.kernel_names]
        self.entry_points: dict[str, EntryPoint] = {}
        self.variables = 0
        """The program-scope variables in memory, or 0 while nobody needs them."""
        self.sharers: list[Module] = [self]
        """The modules that have these variables: those it was linked with, and itself."""
        self.mapped: list[int] = []
        """The addresses of variables of a GPU that were told to the program."""
        self.debug_image: bytes | None = None
        """The debug information, as it was when somebody last asked for its size."""
        self.gpu: GpuModule | None = None
        """Of a module for a GPU: the program in its memory, once it is complete."""
        self.lock = allocate_lock()
        self.is_ended = False
        """Whether the handle is gone, so that nothing more needs to be compiled."""
        self.key = next(_keys)
        _in_use[self.key] = self
        try:
            self.handle = native_kernel.module_new(context, device, self.key)
        except MemoryError:
            del _in_use[self.key]
            raise
        _by_handle[self.handle] = self

    @property
    def is_of_gpu(self) -> bool:
        return platform.device(self.device).gpu is not None

    def need_gpu(self) -> GpuModule:
        """The program in the memory of a GPU. It is loaded again after it was linked."""
        from groundstate.driver.devices.nvidia.module import load

        found = load(platform.device(self.device), self.program)
        self.gpu = found
        return found

    def need_variables(self) -> int:
        """The program-scope variables, made when a kernel or a pointer first needs them.

        Those of a GPU are a part of the loaded program."""
        if self.is_of_gpu:
            return 0
        with self.lock:
            if not self.variables and self.program.globals_bytes:
                image = self.program.globals_image.ljust(self.program.globals_bytes, b"\0")
                variables = native_kernel.globals_new(self.context, self.device, image)
                self._initialise(variables)
                with _sharing:
                    for module in self.sharers:
                        module.variables = variables
                        native_kernel.module_set_globals(module.handle, variables)
                if not self.program.finalizers:
                    native_kernel.globals_drop(variables)  # each module has its own share
            return self.variables

    def _initialise(self, variables: int) -> None:
        """Writes the addresses that variables hold, and runs the program's initializers."""
        from groundstate.compiler.errors import BuildError

        try:
            self.program.initialise(native_kernel.globals_base(variables), self._call)
        except BuildError as problem:
            native_kernel.globals_drop(variables)
            raise Failure(ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, problem.log) from problem
        except Failure:
            native_kernel.globals_drop(variables)
            raise

    def _call(self, name: str, code: int, dispatch: int, memory: int) -> None:
        """Calls an initializer or finalizer, which may lose the context."""
        if not native_kernel.run_once(self.context, name, code, dispatch, memory):
            raise Failure(ze.ZE_RESULT_ERROR_DEVICE_LOST, f"the context was lost in '{name}'")

    def finalise(self) -> None:
        """Runs the program's finalizers, if this was the last module that has its variables."""
        if self.variables and self.program.finalizers and not self.sharers:
            try:
                self.program.finalise(native_kernel.globals_base(self.variables), self._call)
            finally:
                native_kernel.globals_drop(self.variables)


class EntryPoint:
    """A kernel of a module: what is known of it without compiling, and the code compiled so far."""

    def __init__(self, module: Module, signature: Signature, address: int, most_items: int) -> None:
        self.module = module
        self.most_items = most_items
        """In a group."""
        self.sizes: set[Size] = set()
        """Of groups for which a GPU's kernel has been made known."""
        self.signature = signature
        self.address = address
        self.codes: dict[Size, KernelCode] = {}
        self.counting_codes: dict[Size, KernelCode] = {}
        """The same for launches that count their instructions."""
        self.variants: dict[Size, list[KernelCode]] = {}
        """What else these codes may run as; the first one is the code itself."""
        self.other_widths: dict[Size, list[int]] = {}
        """Of variants that can still be compiled."""
        self.debugger_entries: list[int] = []
        """What debuggers were told of the code."""
        _entry_points[address] = self


def of_handle(handle: int) -> Module:
    """The module behind a handle that the C side has found to be live."""
    return _by_handle[handle]


def entry_point_at(address: int) -> EntryPoint:
    """The entry point that the native half knows by this address."""
    return _entry_points[address]


def live_modules() -> list[Module]:
    """The modules whose handles are live."""
    return list(_by_handle.values())


def all_entry_points() -> list[EntryPoint]:
    """The entry points of all modules whose code may still run."""
    return [each for module in list(_in_use.values()) for each in module.entry_points.values()]


def entry_point_of(kernel: int) -> EntryPoint:
    """What a kernel was made from."""
    return entry_point_at(native_kernel.kernel_entry_point(kernel))


def reap_modules() -> None:
    """Lets go of the modules that nothing refers to any more, and of their code."""
    while key := native_kernel.reap_module():
        module = _in_use.pop(key)
        for entry_point in list(module.entry_points.values()):
            while entry_point.debugger_entries:
                native_kernel.debugger_remove(entry_point.debugger_entries.pop())
            # The address may belong to a younger entry point by now.
            if _entry_points.get(entry_point.address) is entry_point:
                del _entry_points[entry_point.address]


# --- Building -------------------------------------------------------------------------------------


def _checks(description: ze.ze_module_desc_t) -> tuple[str, ...]:
    """What the kernels of a module are checked for."""
    always = knobs.CHECK.get()
    chained = find_in_chain(pointer_in(description, "pNext"), ModuleChecks._stype_)
    if not chained:
        return always
    named = check_names(ModuleChecks.from_address(chained).checks)
    wanted = tuple(each for each in named if each in OF_MODULES)
    if wanted and not always:
        from groundstate.driver.checking import session

        session.start_once(wanted)
    return tuple(dict.fromkeys((*always, *wanted)))


def _build(
    inputs: Sequence[Input], is_native: bool, checks: Sequence[str], device: Device
) -> Program:
    from groundstate.compiler.errors import BuildError
    from groundstate.compiler.program import Program

    target = _varied_target()
    if device.gpu is not None:
        from groundstate.compiler.target.nvptx import nvptx

        checks, target = (), nvptx(device.gpu.sm)  # what checkers need of a launch is the CPU's
    errors = [error for each in inputs for error in each.errors]
    if errors:
        raise BuildError("\n".join(errors))
    if is_native:
        programs = [Program.from_native(each.binary, checks, target) for each in inputs]
        return programs[0] if len(programs) == 1 else Program.link(programs)
    with Announced(f"reading a module of {sum(len(each.binary) for each in inputs) >> 10} KiB"):
        programs = [
            Program(
                each.binary,
                options=each.options,
                constants=each.constants,
                target=target,
                checks=checks,
            )
            for each in inputs
        ]
        return programs[0] if len(programs) == 1 else Program.link(programs)


def _varied_target() -> Target | None:
    """What kernels are compiled for if sub-groups vary (GROUNDSTATE_CHECK_VARY)."""
    if not knobs.CHECK_VARY.get():
        return None
    from groundstate.driver.checking.portability import varied_target

    return varied_target()


def _claim_tiles(program: Program, device: int) -> None:
    """Asks for the tile registers of the machine if kernels may use them."""
    from groundstate.compiler.errors import BuildError

    here = platform.device(device)
    if not program.uses_tiles or here.gpu is not None or not here.machine.has_tiles:
        return
    if not tile_registers.granted():
        raise BuildError(
            "Linux does not let this process use the tile registers that the module asks for: "
            "perhaps a thread has a signal stack that is too small for them"
        )


def _load(device: Device, program: Program) -> GpuModule | None:
    """The program in the memory of a GPU, unless it still has to be linked."""
    if device.gpu is None or program.imports:
        return None
    from groundstate.driver.devices.nvidia.module import load

    return load(device, program)


@handler
def zeModuleCreate(hContext: int, hDevice: int, desc: int, phModule: int, phBuildLog: int) -> None:
    if not native.context_uses_device(hContext, hDevice):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_ARGUMENT,
            "the context was created without this device; name it in zeContextCreateEx",
        )
    from groundstate.compiler.errors import BuildError

    reap_modules()
    description = ze.ze_module_desc_t.from_address(desc)
    is_native = description.format == ze.ZE_MODULE_FORMAT_NATIVE
    inputs = module_inputs.read(description)
    lines = [warning for each in inputs for warning in each.warnings]
    try:
        device = platform.device(hDevice)
        program = _build(inputs, is_native, _checks(description), device)
        _claim_tiles(program, hDevice)
        gpu = _load(device, program)
    except BuildError as problem:
        reason = problem.log
    except Failure as problem:
        if problem.result != ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE:
            raise
        reason = problem.sentence
    except NOT_OF_THE_INPUT:
        raise
    except Exception as problem:
        reason = f"error: the compiler failed on this module: {type(problem).__name__}: {problem}"
    else:
        module = Module(hContext, hDevice, program)
        module.gpu = gpu
        build_log.write(phBuildLog, [*lines, program.log])
        if watcher is not None:
            watcher.loaded(module)
        write_pointer(phModule, module.handle)
        return
    build_log.write(phBuildLog, [*lines, reason])
    bad_binary = ze.ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
    raise Failure(bad_binary if is_native else ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, reason)


@handler
def zeModuleDestroy(hModule: int) -> None:
    with _sharing:
        module = _by_handle.take(hModule)
        native.object_end(hModule)
        module.is_ended = True
        module.sharers.remove(module)
    if watcher is not None:
        watcher.unloading(module)
    native_kernel.forget_requests(hModule)
    for address in module.mapped:
        native.mapping_remove(module.context, address)
    module.finalise()
    reap_modules()


def forget_context(context: int) -> None:
    """Ends the modules of a context that was lost; their kernels have been ended."""
    for module in list(_by_handle.values()):
        if module.context == context:
            with suppress(Failure):  # another thread may have done it
                zeModuleDestroy(module.handle)


def share_variables(modules: Sequence[Module]) -> None:
    """Lets modules have their variables in common, but for those that were destroyed meanwhile."""
    with _sharing:
        sharers = [module for module in modules if _by_handle.get(module.handle) is module]
        for module in sharers:
            module.sharers = sharers


# --- Asking ---------------------------------------------------------------------------------------


@handler
def zeModuleGetNativeBinary(hModule: int, pSize: int, pModuleNativeBinary: int) -> None:
    module = of_handle(hModule)
    answer_bytes(module.program.native_binary(), pSize, pModuleNativeBinary)


def answer_bytes(content: bytes, size_address: int, bytes_address: int) -> None:
    """Answers with bytes: their number, and all of them unless only the number is asked for."""
    room = read_u64(size_address)
    write_u64(size_address, len(content))
    if not bytes_address or room == 0:
        return
    if room < len(content):
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_SIZE,
            f"the binary has {len(content)} bytes and does not fit in {room}",
        )
    ctypes.memmove(bytes_address, content, len(content))


@handler
def zeModuleGetGlobalPointer(hModule: int, pGlobalName: int, pSize: int, pptr: int) -> None:
    module, name = of_handle(hModule), read_text(pGlobalName)
    if module.is_of_gpu:
        address, size = _gpu_variable(module, name)
        if pSize:
            write_u64(pSize, size)
        if pptr:
            write_pointer(pptr, address)
        return
    if name not in module.program.global_offsets:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, f"the module has no variable {name!r}"
        )
    offset, size = module.program.global_offsets[name]
    if pSize:
        write_u64(pSize, size)
    if pptr:
        write_pointer(pptr, native_kernel.globals_base(module.need_variables()) + offset)


def _gpu_variable(module: Module, name: str) -> tuple[int, int]:
    """The place and the size of a variable, which is known as memory of the GPU from then on."""
    gpu = module.need_gpu()
    found = gpu.variable(name)
    if found is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_GLOBAL_NAME, f"the module has no variable {name!r}"
        )
    if native.allocation(module.context, found[0]) is None:
        native.mapping_add(module.context, module.device, *found)
        module.mapped.append(found[0])
    return found


@handler
def zeModuleGetKernelNames(hModule: int, pCount: int, pNames: int) -> None:
    names = of_handle(hModule).names
    for index in range(take_count(pCount, pNames, len(names))):
        write_pointer(pNames + 8 * index, ctypes.addressof(names[index]))


@handler
def zeModuleGetProperties(hModule: int, pModuleProperties: int) -> None:
    properties = ze.ze_module_properties_t.from_address(pModuleProperties)
    has_imports = bool(of_handle(hModule).parts[0].imports)
    properties.flags = ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS if has_imports else 0


@handler
def zeModuleGetFunctionPointer(hModule: int, pFunctionName: int, pfnFunction: int) -> None:
    from groundstate.compiler.errors import BuildError

    name = read_text(pFunctionName)
    try:
        pointer = of_handle(hModule).program.function_pointer(name)
    except BuildError as problem:
        raise Failure(ze.ZE_RESULT_ERROR_UNSUPPORTED_FEATURE, problem.log) from problem
    if pointer is None:
        raise Failure(
            ze.ZE_RESULT_ERROR_INVALID_FUNCTION_NAME,
            f"the module has no function {name!r} that others may call: export it, with the "
            "SPIR-V decoration LinkageAttributes",
        )
    write_pointer(pfnFunction, pointer)
