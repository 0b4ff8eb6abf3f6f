"""LLVM IR to machine code, in the process that calls: that of the program, or one of LLVM's own
(`server`), which imports little else.
"""

from __future__ import annotations

import sys
from functools import cache, cached_property
from threading import Lock

from groundstate import knobs
from groundstate.compiler.errors import BuildError, WrongIrError
from groundstate.compiler.llvm import headroom

if "llvmlite.binding" not in sys.modules:
    headroom.require(headroom.LIBRARY_BYTES, "loading LLVM")
import llvmlite.binding as llvm

_lock = Lock()
_OPTIONS = ("-post-RA-scheduler=false", "-dag-maps-huge-region=100")
"""LLVM compares all accesses to memory in a block with each other, spills among them, to put them
into a better order; in long blocks that took most of the time. The second order, which some CPUs
ask for, gains nothing where the CPU itself goes on with what is ready."""

LARGE_LINES = 1500
"""Of LLVM IR, from which on a kernel would take too long to compile with all of LLVM's passes."""
LARGE_UNROLLED_LINES = 2500
"""The same for kernels whose loops over sub-groups are unrolled: there, passes find most."""
UNROLLED = "llvm.loop.unroll.full"
"""What such kernels have in their text."""
HUGE_LINES = 50_000
"""From which on it would take minutes with any: it is translated as it stands."""
MOST_LINES = 400_000
"""Beyond which it would take minutes even so."""


class NativeMachine:
    """This machine, as LLVM compiles for it."""

    def __init__(self) -> None:
        llvm.initialize_native_target()
        llvm.initialize_native_asmprinter()
        for option in _OPTIONS:
            llvm.set_option("groundstate", option)
        self.cpu = llvm.get_host_cpu_name()
        found = llvm.get_host_cpu_features().items()
        features = {name: there and knobs.allows(name) for name, there in found}
        self.features = ",".join(
            ("+" if there else "-") + name for name, there in sorted(features.items())
        )
        self.triple = llvm.get_process_triple()
        self.machine = self._translator(2)

    @property
    def facts(self) -> tuple[str, str, str]:
        """The CPU, its features and LLVM's name for the machine."""
        return self.cpu, self.features, self.triple

    @cached_property
    def quick_machine(self) -> llvm.TargetMachine:
        """Writes slow code in a short time: for huge kernels, and where somebody asks for it."""
        return self._translator(0)

    def _translator(self, effort: int) -> llvm.TargetMachine:
        found = llvm.Target.from_triple(self.triple)
        return found.create_target_machine(
            cpu=self.cpu, features=self.features, opt=effort, reloc="pic", codemodel="default"
        )

    @cached_property
    def linker(self) -> llvm.LLJIT:
        """LLVM's linker. JITLink keeps a kernel in one piece, so that its code always reaches its
        constants."""
        return llvm.create_lljit_compiler(self.machine, use_jit_link=True)


@cache
def native_machine() -> NativeMachine:
    """The machine of this process, made on first use."""
    return NativeMachine()


class Linked:
    """Code that LLVM has put into memory. It lives as long as this object."""

    def __init__(self, tracker: object, address: int) -> None:
        self.tracker = tracker
        self.address = address


_count = iter(range(1 << 62))


def parse(text: str) -> llvm.ModuleRef:
    """LLVM's own form of LLVM IR."""
    lines = _code_lines(text)
    if lines > MOST_LINES:
        raise BuildError(f"the kernel is too large: {lines} lines of LLVM IR, at most {MOST_LINES}")
    headroom.require_to_compile(text)
    try:
        module = llvm.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise WrongIrError(str(error)) from error
    return module


def _code_lines(text: str) -> int:
    """How many lines of LLVM IR there are without metadata, which changes no code."""
    return text.count("\n") - text.count("\n!")


def optimise(text: str, lanes: int) -> llvm.ModuleRef:
    """Parses and optimises LLVM IR. One lane's loops are left to LLVM to turn into vectors."""
    module = parse(text)
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    options.loop_vectorization = lanes == 1
    options.slp_vectorization = False
    builder = llvm.create_pass_builder(native_machine().machine, options)
    is_large = _code_lines(text) > (LARGE_UNROLLED_LINES if UNROLLED in text else LARGE_LINES)
    manager = _few_passes() if is_large else builder.getModulePassManager()
    manager.run(module, builder)
    return module


def _few_passes() -> llvm.ModulePassManager:
    """What gains most, in a fifth of the time that LLVM's own list of passes takes."""
    passes = llvm.create_new_module_pass_manager()
    passes.add_sroa_pass()  # in a function of its own, where nothing is left from the round before
    passes.add_always_inliner_pass()
    passes.add_global_dead_code_eliminate_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_loop_rotate_pass()
    passes.add_loop_unroll_pass()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    return passes


def assembly(text: str, lanes: int) -> str:
    """The machine code of LLVM IR, to read."""
    with _lock:
        return str(native_machine().machine.emit_assembly(optimise(text, lanes)))


def object_code(text: str, lanes: int, optimised: bool = True) -> bytes:
    """Machine code of LLVM IR as an object file."""
    with _lock:
        if optimised and _code_lines(text) <= HUGE_LINES:
            return bytes(native_machine().machine.emit_object(optimise(text, lanes)))
        return bytes(native_machine().quick_machine.emit_object(parse(text)))


def link(code: bytes, symbol: str = "run") -> Linked:
    """Makes an object file executable that refers to functions of the C library."""
    name = f"kernel{next(_count)}"
    headroom.require(headroom.TASK_BYTES, "loading a kernel")
    with _lock:
        try:
            tracker = (
                llvm.JITLibraryBuilder()
                .add_object_img(code)
                .export_symbol(symbol)
                .add_current_process()
                .link(native_machine().linker, name)
            )
        except RuntimeError as error:
            raise BuildError(f"machine code cannot be loaded: {error}") from error
        return Linked(tracker, int(tracker[symbol]))
