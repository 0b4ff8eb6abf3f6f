"""LLVM IR to machine code, in the process that calls: that of the program, or one of LLVM's own
(`server`), which imports little else.
"""

from __future__ import annotations

from _thread import allocate_lock

from groundstate import knobs
from groundstate.compiler.errors import BuildError, WrongIrError
from groundstate.compiler.llvm import headroom, library
from groundstate.compiler.llvm.library import Module, Passes, TargetMachine

TYPE_CHECKING = False  # as in library.py
if TYPE_CHECKING:
    from collections.abc import Callable

    import llvmlite.binding as llvm

_lock = allocate_lock()
_OPTIONS = (
    b"-post-RA-scheduler=false",
    b"-enable-post-misched=false",
    b"-dag-maps-huge-region=100",
    b"-dse-memoryssa-walklimit=10",
    b"-slp-threshold=6",
)
"""LLVM compares all accesses to memory in a block with each other, spills among them, to put them
into a better order; in long blocks that took most of the time. The second order, which some CPUs
ask for, gains nothing where the CPU itself goes on with what is ready; it has one name on x86-64
and another on AArch64, where lines for debuggers would change it. For stores that nobody reads it
looks along all others, 90 of them for each: that took half of the time of kernels that keep arrays,
and found nothing behind the first few. Numbers are packed where that saves more than six
instructions: where it saved fewer, a walk through a grid of voxels took 7 % longer."""

LARGE_LINES = 1500
"""Of LLVM IR, from which on a kernel would take too long to compile with all of LLVM's passes."""
LARGE_UNROLLED_LINES = 2500
"""The same for kernels whose loops over sub-groups are unrolled: there, passes find most."""
CONTRACTED = " contract "
"""What LLVM may fuse has in its text."""
UNROLLED = "llvm.loop.unroll.full"
"""What such kernels have in their text."""
HUGE_LINES = 50_000
"""From which on it would take minutes with any: it is translated as it stands."""
MOST_LINES = 400_000
"""Beyond which it would take minutes even so."""


FEW_PASSES = (
    "SROA",  # in a function of its own, where nothing is left from the round before
    "AlwaysInliner",
    "GlobalDCE",
    "IPSCCP",  # routines learn what all calls have in common: that all lanes are active, say
    "DeadArgumentElimination",
    "SROA",
    "SimplifyCFG",
    "InstCombine",
    "LoopRotate",
    "LoopUnroll",
    "SROA",
    "InstCombine",
    "SimplifyCFG",
)
"""What gains most, in a fifth of the time that LLVM's own list of passes takes."""

INLINING_PASSES = (
    "SROA",
    "AlwaysInliner",
    "GlobalDCE",
    "IPSCCP",
    "DeadArgumentElimination",
    "PostOrderFunctionAttrs",  # no tables for exceptions, which only LLVM's linker takes
)
"""For vectors, before LLVM simplifies one function after the other. The rest of its own list takes
as long again, and gains nothing that was measured: most of it makes vectors of loops."""
STEP_PASSES = ("SROA", "SimplifyCFG", "InstCombine")
"""Before those, for what they copy often: from each barrier on."""
STEP = "call i32 @step("
"""What begins there, and with the kernel."""
MOST_STEPS = 4
"""Of which none is simplified before it is copied."""

FIRST_PASSES = ("SROA", "SimplifyCFG")
"""For other machines: values on their way to the next iteration leave empty blocks behind, which
LLVM's own list would fill with parts of the loop and then turn the loop around them."""

WARMING_TEXT = """\
define void @run(ptr %data, i64 %count, float %factor) {
entry:
  %some = icmp sgt i64 %count, 0
  br i1 %some, label %loop, label %end
loop:
  %at = phi i64 [ 0, %entry ], [ %next, %skip ]
  %sum = phi <8 x float> [ zeroinitializer, %entry ], [ %added, %skip ]
  %place = getelementptr float, ptr %data, i64 %at
  %value = load <8 x float>, ptr %place, align 4
  %one = insertelement <8 x float> poison, float %factor, i64 0
  %all = shufflevector <8 x float> %one, <8 x float> poison, <8 x i32> zeroinitializer
  %product = fmul contract <8 x float> %value, %all
  %added = fadd contract <8 x float> %product, %sum
  %mask = fcmp olt <8 x float> %value, %added
  %chosen = select <8 x i1> %mask, <8 x float> %added, <8 x float> %value
  %bits = bitcast <8 x i1> %mask to i8
  %any = icmp ne i8 %bits, 0
  br i1 %any, label %write, label %skip
write:
  call void @llvm.masked.store.v8f32.p0(<8 x float> %chosen, ptr %place, i32 4, <8 x i1> %mask)
  br label %skip
skip:
  %next = add nuw nsw i64 %at, 8
  %more = icmp slt i64 %next, %count
  br i1 %more, label %loop, label %end
end:
  ret void
}
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, i32, <8 x i1>)
"""
"""A kernel like others, but short."""


class NativeMachine:
    """This machine, as LLVM compiles for it."""

    def __init__(self) -> None:
        library.call("InitializeNativeTarget")
        library.call("InitializeNativeAsmPrinter")
        for option in _OPTIONS:
            library.call("SetCommandLine", b"groundstate", option)
        self.cpu = library.text_of("GetHostCPUName")
        features = library.text_of("GetHostCPUFeatures").split(",")
        found = {each[1:]: each[0] == "+" and knobs.allows(each[1:]) for each in features if each}
        self.features = ",".join(
            ("+" if there else "-") + name for name, there in sorted(found.items())
        )
        self.triple = library.text_of("GetProcessTriple")
        self.machine = self._translator(2)
        self._quick_machine: TargetMachine | None = None
        self._others: dict[str, TargetMachine] = {}
        self._linker: llvm.LLJIT | None = None

    @property
    def facts(self) -> tuple[str, str, str]:
        """The CPU, its features and LLVM's name for the machine."""
        return self.cpu, self.features, self.triple

    @property
    def quick_machine(self) -> TargetMachine:
        """Writes slow code in a short time: for huge kernels, and where somebody asks for it."""
        if self._quick_machine is None:
            self._quick_machine = self._translator(0)
        return self._quick_machine

    def _translator(self, effort: int) -> TargetMachine:
        return TargetMachine(self.triple, self.cpu, self.features, effort)

    def other_machine(self, description: str) -> TargetMachine:
        """What writes code for another machine, by its triple, CPU and features."""
        found = self._others.get(description)
        if found is None:
            if not self._others:
                for part in ("TargetInfos", "Targets", "TargetMCs", "AsmPrinters"):
                    library.call(f"InitializeAll{part}")
            triple, cpu, features = description.split(" ")
            found = self._others[description] = TargetMachine(triple, cpu, features, 3)
        return found

    @property
    def linker(self) -> llvm.LLJIT:
        """LLVM's linker. JITLink keeps a kernel in one piece, so that its code always reaches its
        constants."""
        if self._linker is None:
            import llvmlite.binding as llvm

            machine = llvm.Target.from_triple(self.triple).create_target_machine(
                cpu=self.cpu, features=self.features, reloc="pic", codemodel="default"
            )
            self._linker = llvm.create_lljit_compiler(machine, use_jit_link=True)
        return self._linker


_machine: NativeMachine | None = None


def native_machine() -> NativeMachine:
    """The machine of this process, made on first use."""
    global _machine
    if _machine is None:
        _machine = NativeMachine()
    return _machine


class Linked:
    """Code that LLVM has put into memory. It lives as long as this object."""

    def __init__(self, tracker: object, address: int) -> None:
        self.tracker = tracker
        self.address = address


_count = iter(range(1 << 62))


def parse(text: str) -> Module:
    """LLVM's own form of LLVM IR."""
    lines = _code_lines(text)
    if lines > MOST_LINES:
        raise BuildError(f"the kernel is too large: {lines} lines of LLVM IR, at most {MOST_LINES}")
    headroom.require_to_compile(text)
    native_machine()  # has set LLVM's options
    try:
        return Module(text)
    except RuntimeError as error:
        raise WrongIrError(str(error)) from error


def _code_lines(text: str) -> int:
    """How many lines of LLVM IR there are without metadata, which changes no code."""
    return text.count("\n") - text.count("\n!")


def optimise(text: str, lanes: int) -> Module:
    """Parses and optimises LLVM IR. One lane's loops are left to LLVM to turn into vectors. So are
    numbers that lie side by side, such as the components of a float4, unless LLVM chooses which
    products it adds in one step: packed, it would not choose as in vectors of work-items."""
    module = parse(text)
    is_alone = lanes == 1
    packs = is_alone and CONTRACTED not in text
    passes = Passes(native_machine().machine, vectorises=is_alone, packs=packs)
    if _code_lines(text) > (LARGE_UNROLLED_LINES if UNROLLED in text else LARGE_LINES):
        passes.run(module, FEW_PASSES)
    elif is_alone:
        passes.run_all(module)
    else:
        if text.count(STEP) > MOST_STEPS:
            passes.run(module, STEP_PASSES)
        passes.run(module, INLINING_PASSES)
        passes.simplify_functions(module)
    return module


def warm_up(is_idle: Callable[[], bool]) -> None:
    """Compiles something for nobody, as long as nobody asks for anything else.

    The first kernel takes twice as long as a second one: LLVM's code and its tables come into
    memory, page by page, when they are first used.
    """
    try:
        with _lock:
            if is_idle():
                module = optimise(WARMING_TEXT, 8)
                if is_idle():
                    native_machine().machine.emit_object(module)
    except (BuildError, MemoryError):
        return  # whoever asks for something is told so


def assembly(text: str, lanes: int) -> str:
    """The machine code of LLVM IR, to read."""
    with _lock:
        return native_machine().machine.emit_assembly(optimise(text, lanes))


def object_code(text: str, lanes: int, optimised: bool = True) -> bytes:
    """Machine code of LLVM IR as an object file."""
    with _lock:
        if optimised and _code_lines(text) <= HUGE_LINES:
            return native_machine().machine.emit_object(optimise(text, lanes))
        return native_machine().quick_machine.emit_object(parse(text))


def other_assembly(text: str, machine: str, optimised: bool = True) -> bytes:
    """Assembly of LLVM IR for another machine, by its triple, CPU and features: PTX for a GPU."""
    with _lock:
        module = parse(text)
        other = native_machine().other_machine(machine)
        if optimised:
            passes = Passes(other)
            passes.run(module, FIRST_PASSES)
            passes.run_all(module, level=3)
        return other.emit_assembly(module).encode()


def link(code: bytes, symbol: str = "run") -> Linked:
    """Makes an object file executable that refers to functions of the C library."""
    name = f"kernel{next(_count)}"
    headroom.require(headroom.TASK_BYTES, "loading a kernel")
    import llvmlite.binding as llvm

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
