"""Modules: programs for a device, made from SPIR-V, OpenCL C or a native binary."""

from __future__ import annotations

import ctypes
import math
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from groundstate import knobs, ze
from groundstate.checkers import check_bits
from groundstate.core.api import Api, handle_array
from groundstate.core.default_context import context_or_default
from groundstate.core.dtype import dtype
from groundstate.core.enums import MemoryType
from groundstate.core.errors import failure
from groundstate.core.handle import OwnedHandle, Resource
from groundstate.core.kernel import Kernel
from groundstate.core.kernel_signatures import Signatures
from groundstate.core.memory import Memory, Shape, shape_of
from groundstate.extras import OF_MODULES, ModuleChecks

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from groundstate.core.context import Context
    from groundstate.core.device import Device


class Module(OwnedHandle):
    """A program for a device: its kernels are had by name.

    >>> import groundstate as gs
    >>> with gs.Context(gs.devices()[0]) as context:
    ...     module = gs.Module(context, opencl="kernel void first() {} kernel void second() {}")
    ...     module.kernel_names
    ('first', 'second')
    """

    def __init__(
        self,
        context: Context | None = None,
        *,
        spirv: Buffer | None = None,
        opencl: str | None = None,
        native: Buffer | None = None,
        device: Device | None = None,
        options: str | Sequence[str] = (),
        constants: Mapping[int, Any] | None = None,
        name: str = "kernel.cl",
        check: bool | str = False,
    ) -> None:
        """Builds a module from exactly one of SPIR-V, OpenCL C and a native binary.

        Without a context it is one of `default_context()`.

        `options` are build options; those that do not begin with `-ze-` go to the compiler of
        OpenCL C, if that is the source, and `name` is what its messages call it. Such a module
        knows the lines of its source; with `-g` debuggers do, too. `constants` are values for
        specialization constants by number: integers, NumPy scalars or bytes. A build that fails
        raises `ModuleBuildFailure` (or `InvalidNativeBinary`) with the build log.
        A native binary must come from a driver of the same user: docs/reference/security.md.

        With `check`, kernels report their mistakes on stderr, with lines and work-items: those of
        "memory,races,sync", or of another list such as "memory,arithmetic"
        (docs/howto/checking.md). Only our own device does so.
        """
        if sum(each is not None for each in (spirv, opencl, native)) != 1:
            raise TypeError("a module is made from one of spirv=, opencl= and native=")
        if opencl is not None and not isinstance(opencl, str):
            raise TypeError(f"opencl= takes the source as a str, not {type(opencl).__name__}")
        context = context_or_default(context)
        words = options.split() if isinstance(options, str) else list(options)
        if opencl is not None:
            spirv = _compiled(opencl, [each for each in words if not each.startswith("-ze-")], name)
            words = [each for each in words if each.startswith("-ze-") or each == "-g"]
        self.context = context
        self.device = context.choose_device(device)
        self.spirv = bytes(spirv) if spirv is not None else None
        """The SPIR-V that the module was built from; None for a native binary."""
        self.signatures = Signatures(self.spirv) if self.spirv is not None else None
        """What its kernels take, as far as that is known."""
        binary = self.spirv if self.spirv is not None else bytes(native)  # type: ignore[arg-type]
        self._checks = ModuleChecks(checks=check_bits(_checkers(check)))
        handle, self.log = self._build(binary, " ".join(words), constants or {})
        destroy = ("zeModuleDestroy", (handle,))
        self._resource = Resource(context.api, handle, destroy, context.resource)
        self._kernels: dict[str, Kernel] = {}

    def _build(self, binary: bytes, options: str, constants: Mapping[int, Any]) -> tuple[int, str]:
        source = (ctypes.c_uint8 * len(binary)).from_buffer_copy(binary)
        given = _Constants(constants)
        description = ze.ze_module_desc_t(
            format=(
                ze.ZE_MODULE_FORMAT_NATIVE if self.spirv is None else ze.ZE_MODULE_FORMAT_IL_SPIRV
            ),
            inputSize=len(binary),
            pInputModule=ctypes.addressof(source),
            pBuildFlags=options.encode() or None,
            pConstants=given.address,
            pNext=ctypes.addressof(self._checks) if self._checks.checks else None,
        )
        api = self.context.api
        created, log = ctypes.c_void_p(), ctypes.c_void_p()
        result = api.raw(
            "zeModuleCreate",
            self.context.handle,
            self.device.handle,
            ctypes.byref(description),
            ctypes.byref(created),
            ctypes.byref(log),
        )
        said = api.last_error("zeModuleCreate") if result != ze.ZE_RESULT_SUCCESS else ""
        text = _take_log(api, log.value)
        if result != ze.ZE_RESULT_SUCCESS:
            raise failure(result, "zeModuleCreate", text or said)
        return created.value or 0, text

    def close(self) -> None:
        """Lets go of the driver's object; kernels that somebody still holds go on working."""
        self._kernels.clear()
        super().close()

    def _describe(self) -> str:
        return f"with {len(self.kernel_names)} kernel{'s' * (len(self.kernel_names) != 1)}"

    # --- Kernels ----------------------------------------------------------------------------------

    @cached_property
    def kernel_names(self) -> tuple[str, ...]:
        """The names of the kernels in the module."""
        count = ctypes.c_uint32()
        self.api.call("zeModuleGetKernelNames", self.handle, ctypes.byref(count), None)
        names = (ctypes.c_char_p * count.value)()
        if count.value:
            self.api.call("zeModuleGetKernelNames", self.handle, ctypes.byref(count), names)
        return tuple((name or b"").decode(errors="replace") for name in names)

    def __getitem__(self, name: str) -> Kernel:
        """The kernel of a name, the same object each time."""
        if not isinstance(name, str):
            raise TypeError(f"a kernel is had by its name, not {name!r}; see kernel_names")
        kernel = self._kernels.get(name)
        if kernel is None or kernel.closed:
            kernel = self._kernels[name] = Kernel(self, name)
        return kernel

    if not TYPE_CHECKING:  # a type checker finds it by itself

        def __getattr__(self, name: str) -> object:
            advice = ""
            if not name.startswith("_") and name in self.kernel_names:
                advice = f"; write module[{name!r}] for the kernel"
            raise AttributeError(f"a Module has no attribute {name!r}{advice}")

    def kernel(self, name: str) -> Kernel:
        """A new kernel object, with arguments and a group size of its own."""
        return Kernel(self, name)

    # --- What else a module has -------------------------------------------------------------------

    @property
    def has_imports(self) -> bool:
        """True if the module uses what another one has to define: see `link`."""
        answer = self.api.struct(ze.ze_module_properties_t, "zeModuleGetProperties", self.handle)
        return bool(answer.flags & ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS)

    def link(self, *others: Module) -> str:
        """Resolves what the modules use of each other; returns the log.

        Raises `ModuleLinkFailure` with the log if something is missing, or defined twice.
        """
        modules = handle_array([module.handle for module in (self, *others)])
        log = ctypes.c_void_p()
        result = self.api.raw("zeModuleDynamicLink", 1 + len(others), modules, ctypes.byref(log))
        function = "zeModuleDynamicLink"
        said = self.api.last_error(function) if result != ze.ZE_RESULT_SUCCESS else ""
        text = _take_log(self.api, log.value)
        if result != ze.ZE_RESULT_SUCCESS:
            raise failure(result, function, text or said)
        return text

    def variable(self, name: str, kind: Any = "uint8", shape: Shape | None = None) -> Memory:
        """The memory of a program-scope variable; without a shape, as many elements as fit."""
        size, pointer = ctypes.c_size_t(), ctypes.c_void_p()
        self.api.call(
            "zeModuleGetGlobalPointer",
            self.handle,
            name.encode(),
            ctypes.byref(size),
            ctypes.byref(pointer),
        )
        element = dtype(kind)
        wanted = shape_of(size.value // element.itemsize_bytes if shape is None else shape)
        if math.prod(wanted) * element.itemsize_bytes > size.value:
            raise ValueError(f"variable {name!r} has {size.value} bytes, fewer than {wanted}")
        resource = Resource(self.api, pointer.value or 0, None, self.resource)
        return Memory(self.context, resource, MemoryType.DEVICE, wanted, element, self.device)

    def native_binary(self) -> bytes:
        """The module as bytes from which it is made again much faster: `Module(native=...)`."""
        size = ctypes.c_size_t()
        self.api.call("zeModuleGetNativeBinary", self.handle, ctypes.byref(size), None)
        binary = (ctypes.c_uint8 * size.value)()
        self.api.call("zeModuleGetNativeBinary", self.handle, ctypes.byref(size), binary)
        return bytes(binary)


def _compiled(source: str, options: list[str], name: str) -> bytes:
    from groundstate.compiler.opencl.frontend import CompileError, compile_opencl

    try:
        words = [*options, "-g", *(["-fkeep-accesses"] if knobs.CHECK.get() else [])]
        return compile_opencl(source, options=words, name=name, meanwhile=_preparation())
    except CompileError as problem:
        raise failure(
            ze.ZE_RESULT_ERROR_MODULE_BUILD_FAILURE, "compile_opencl", problem.log
        ) from None


def _preparation() -> Callable[[], bool] | None:
    """Gets our own driver's compiler ready, if that driver is the one that runs here."""
    if "groundstate.driver.entry" not in sys.modules:
        return None
    from groundstate.compiler.preparation import preparation

    return preparation()


def _take_log(api: Api, log: int | None) -> str:
    """Reads a log and destroys it."""
    if not log:
        return ""
    size = ctypes.c_size_t()
    api.call("zeModuleBuildLogGetString", log, ctypes.byref(size), None)
    text = ctypes.create_string_buffer(max(1, size.value))
    api.call("zeModuleBuildLogGetString", log, ctypes.byref(size), text)
    api.call("zeModuleBuildLogDestroy", log)
    return text.value.decode(errors="replace")


class _Constants:
    """Specialization constants as the API takes them: numbers, and pointers to values."""

    def __init__(self, constants: Mapping[int, Any]) -> None:
        self._values = [
            ctypes.create_string_buffer(_constant_bytes(value)) for value in constants.values()
        ]
        self._ids = (ctypes.c_uint32 * len(constants))(*constants)
        self._pointers = (ctypes.c_void_p * len(constants))(*map(ctypes.addressof, self._values))
        self._struct = ze.ze_module_constants_t(
            len(constants), ctypes.addressof(self._ids), ctypes.addressof(self._pointers)
        )
        self.address = ctypes.addressof(self._struct) if constants else None


def _checkers(check: bool | str) -> tuple[str, ...]:
    """The checkers of kernels that somebody asks for."""
    if isinstance(check, bool):
        return tuple(each for each in knobs.CHECK.usual if each in OF_MODULES) if check else ()
    if not isinstance(check, str):
        raise TypeError(f"check= takes True, False or a list as a str, not {check!r}")
    named = tuple(each.strip() for each in check.split(",") if each.strip())
    known = [each for each in knobs.CHECK.words if each in OF_MODULES]
    for each in named:
        if each not in known:
            raise ValueError(f"check={check!r}: {each!r} is none of {', '.join(known)}")
    return named


def _constant_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if getattr(value, "shape", None) == ():
        return bytes(value.tobytes())
    if isinstance(value, int):
        return (value & (1 << 64) - 1).to_bytes(8, "little")
    raise TypeError(
        f"a specialization constant is an integer, a NumPy scalar or bytes, not {value!r}; "
        "write numpy.float32(...) to say how wide it is"
    )
