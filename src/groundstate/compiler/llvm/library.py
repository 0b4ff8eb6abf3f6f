"""LLVM's functions as llvmlite's shared library exports them: those that compiling takes.

LLVM's process starts for every program that compiles a kernel for the first time, and that program
waits for it. llvmlite's own Python half takes twice as long to import as all else that the process
does before it is ready, so this is a binding of our own; nothing here imports more than ctypes.
`pyproject.toml` says which versions of llvmlite have these functions.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, byref, c_bool, c_char_p, c_int, c_size_t, c_void_p

from groundstate.compiler.llvm import headroom

TYPE_CHECKING = False  # importing typing takes longer than the rest of this file
if TYPE_CHECKING:
    from typing import Any

_TEXT_OUT = POINTER(c_char_p)
_PROTOTYPES: dict[str, tuple[Any, ...]] = {
    "DisposeString": (None, c_char_p),
    "InitializeNativeTarget": (None,),
    "InitializeNativeAsmPrinter": (None,),
    "InitializeAllTargetInfos": (None,),
    "InitializeAllTargets": (None,),
    "InitializeAllTargetMCs": (None,),
    "InitializeAllAsmPrinters": (None,),
    "SetCommandLine": (None, c_char_p, c_char_p),
    "GetHostCPUName": (None, _TEXT_OUT),
    "GetHostCPUFeatures": (c_int, _TEXT_OUT),
    "GetProcessTriple": (None, _TEXT_OUT),
    "GetTargetFromTriple": (c_void_p, c_char_p, _TEXT_OUT),
    "CreateTargetMachine": (
        *(c_void_p, c_void_p, c_char_p, c_char_p, c_char_p, c_int),
        *(c_char_p, c_char_p, c_int, c_int, c_char_p),
    ),
    "TargetMachineEmitToMemory": (c_void_p, c_void_p, c_void_p, c_int, _TEXT_OUT),
    "GetBufferStart": (c_void_p, c_void_p),
    "GetBufferSize": (c_size_t, c_void_p),
    "DisposeMemoryBuffer": (None, c_void_p),
    "GetGlobalContext": (c_void_p,),
    "ParseAssembly": (c_void_p, c_void_p, c_char_p, _TEXT_OUT),
    "VerifyModule": (c_int, c_void_p, _TEXT_OUT),
    "PrintModuleToString": (None, c_void_p, _TEXT_OUT),
    "DisposeModule": (None, c_void_p),
    "CreatePipelineTuningOptions": (c_void_p,),
    "PTOSetLoopVectorization": (None, c_void_p, c_bool),
    "PTOSetSLPVectorization": (None, c_void_p, c_bool),
    "DisposePipelineTuningOptions": (None, c_void_p),
    "CreatePassBuilder": (c_void_p, c_void_p, c_void_p),
    "DisposePassBuilder": (None, c_void_p),
    "buildPerModuleDefaultPipeline": (c_void_p, c_void_p, c_int),
    "buildFunctionSimplificationPipeline": (c_void_p, c_void_p, c_int),
    "CreateNewModulePassManager": (c_void_p,),
    "DisposeNewModulePassManger": (None, c_void_p),
    "RunNewModulePassManager": (None, c_void_p, c_void_p, c_void_p),
    "DisposeNewFunctionPassManger": (None, c_void_p),
    "RunNewFunctionPassManager": (None, c_void_p, c_void_p, c_void_p),
    "ModuleFunctionsIter": (c_void_p, c_void_p),
    "FunctionsIterNext": (c_void_p, c_void_p),
    "DisposeFunctionsIter": (None, c_void_p),
    "IsDeclaration": (c_int, c_void_p),
}
"""By name without its prefix: what a function returns, and what it takes."""

_library: ctypes.CDLL | None = None
_functions: dict[str, Any] = {}


def call(name: str, *arguments: object) -> Any:
    """Calls a function of the library, which is loaded for the first one."""
    found = _functions.get(name)
    if found is None:
        found = _functions[name] = _load()[f"LLVMPY_{name}"]
        # All functions that add a pass to a list of passes are alike.
        found.restype, *found.argtypes = _PROTOTYPES.get(name, (None, c_void_p))
    return found(*arguments)


def _load() -> ctypes.CDLL:
    global _library
    if _library is None:
        import llvmlite

        folder = os.path.dirname(os.path.abspath(llvmlite.__file__))
        headroom.require(headroom.LIBRARY_BYTES, "loading LLVM")
        _library = ctypes.CDLL(os.path.join(folder, "binding", "libllvmlite.so"))
    return _library


class _Text:
    """A text that the library hands out."""

    def __init__(self) -> None:
        self.pointer = c_char_p()

    def take(self) -> str:
        """The text, which the library then forgets."""
        text = (self.pointer.value or b"").decode("utf-8", "replace")
        if self.pointer:
            call("DisposeString", self.pointer)
            self.pointer = c_char_p()
        return text


def text_of(name: str, *arguments: object) -> str:
    """The text that a function of the library writes."""
    text = _Text()
    call(name, *arguments, byref(text.pointer))
    return text.take()


class Module:
    """A module of LLVM IR in LLVM's own form."""

    def __init__(self, text: str) -> None:
        """Parses and verifies LLVM IR. Raises RuntimeError with LLVM's words if it is wrong."""
        said = _Text()
        context = call("GetGlobalContext")
        self.address = call("ParseAssembly", context, text.encode(), byref(said.pointer))
        if said.pointer or not self.address:
            raise RuntimeError(f"LLVM IR parsing error\n{said.take()}")
        is_wrong = call("VerifyModule", self.address, byref(said.pointer))
        words = said.take()
        if is_wrong:
            raise RuntimeError(words)

    def __str__(self) -> str:
        return text_of("PrintModuleToString", self.address)

    def __del__(self) -> None:
        address, self.address = getattr(self, "address", None), None
        if address and call is not None:  # None: at the end of the interpreter
            call("DisposeModule", address)


class TargetMachine:
    """What writes machine code of modules, for as long as the process lives."""

    def __init__(self, triple: str, cpu: str, features: str, effort: int) -> None:
        said = _Text()
        target = call("GetTargetFromTriple", triple.encode(), byref(said.pointer))
        if not target:
            raise RuntimeError(said.take())
        texts = (triple.encode(), cpu.encode(), features.encode())
        options = (effort, b"pic", b"default", 0, 0, b"")
        self.address = call("CreateTargetMachine", target, *texts, *options)
        if not self.address:
            raise RuntimeError(f"LLVM has no machine for {triple}")

    def emit_object(self, module: Module) -> bytes:
        """An object file."""
        return self._emit(module, 1)

    def emit_assembly(self, module: Module) -> str:
        """The same to read."""
        return self._emit(module, 0).decode()

    def _emit(self, module: Module, is_object: int) -> bytes:
        said = _Text()
        buffer = call(
            "TargetMachineEmitToMemory",
            *(self.address, module.address, is_object, byref(said.pointer)),
        )
        words = said.take()
        if not buffer:
            raise RuntimeError(words)
        try:
            start, size = call("GetBufferStart", buffer), call("GetBufferSize", buffer)
            return ctypes.string_at(start, size)
        finally:
            call("DisposeMemoryBuffer", buffer)


class Passes:
    """LLVM's passes, for modules of one machine."""

    def __init__(
        self, machine: TargetMachine, vectorises: bool = False, packs: bool = False
    ) -> None:
        """`vectorises`: whether LLVM's own list makes vectors of loops; `packs`: and of numbers
        that lie side by side."""
        self._options = call("CreatePipelineTuningOptions")
        call("PTOSetLoopVectorization", self._options, vectorises)
        call("PTOSetSLPVectorization", self._options, packs)
        self._builder = call("CreatePassBuilder", machine.address, self._options)

    def __del__(self) -> None:
        if call is not None:  # None: at the end of the interpreter
            call("DisposePassBuilder", self._builder)
            call("DisposePipelineTuningOptions", self._options)

    def run(self, module: Module, names: tuple[str, ...]) -> None:
        """Improves a module with the passes of these names."""
        manager = call("CreateNewModulePassManager")
        for name in names:
            call(f"module_Add{name}Pass", manager)
        self._run(manager, module)

    def run_all(self, module: Module, level: int = 2) -> None:
        """Improves a module with LLVM's own list of a level."""
        self._run(call("buildPerModuleDefaultPipeline", self._builder, level), module)

    def _run(self, manager: int, module: Module) -> None:
        call("RunNewModulePassManager", manager, module.address, self._builder)
        call("DisposeNewModulePassManger", manager)

    def simplify_functions(self, module: Module) -> None:
        """Improves each function with that part of LLVM's own list that looks at one by itself."""
        manager = call("buildFunctionSimplificationPipeline", self._builder, 2)
        following = call("ModuleFunctionsIter", module.address)
        while function := call("FunctionsIterNext", following):
            if not call("IsDeclaration", function):
                call("RunNewFunctionPassManager", manager, function, self._builder)
        call("DisposeFunctionsIter", following)
        call("DisposeNewFunctionPassManger", manager)
