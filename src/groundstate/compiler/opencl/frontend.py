"""OpenCL C to SPIR-V, for users who have a kernel's source.

clang turns the source into LLVM IR without optimising it; `llvm_ir` puts right what LLVM's SPIR-V
back end would not understand; clang again optimises (without vectorising, which is the device's
business) and writes SPIR-V; `spirv_words` puts right what is not yet valid for OpenCL. All data
stays in memory, so that no temporary file appears in a message. Results are cached on disk.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import re
from collections.abc import Sequence

from groundstate import knobs
from groundstate.announce import Announced
from groundstate.compiler.cache import disk
from groundstate.compiler.light_dataclass import light_dataclass
from groundstate.compiler.opencl import clang, options
from groundstate.version import __version__

TYPE_CHECKING = False  # as in driver/platform.py
if TYPE_CHECKING:
    from groundstate.compiler.opencl.messages import Message

__all__ = ["CompileError", "Compiled", "compile_opencl", "compile_with_log"]

SPIRV_VERSIONS = ("1.2", "1.4")
"""The versions to write, the first that has what the module needs: OpenCL's tools know 1.2 best."""

EXTENSIONS = (
    "SPV_EXT_shader_atomic_float16_add",
    "SPV_EXT_shader_atomic_float_add",
    "SPV_EXT_shader_atomic_float_min_max",
    "SPV_INTEL_bfloat16_conversion",
    "SPV_INTEL_optnone",
    "SPV_INTEL_split_barrier",
    "SPV_INTEL_subgroups",
    "SPV_KHR_bit_instructions",
    "SPV_KHR_expect_assume",
    "SPV_KHR_float_controls",
    "SPV_KHR_integer_dot_product",
    "SPV_KHR_linkonce_odr",
    "SPV_KHR_no_integer_wrap_decoration",
    "SPV_KHR_shader_clock",
    "SPV_KHR_subgroup_rotate",
    "SPV_KHR_uniform_group_instructions",
)
"""The SPIR-V extensions that may be used where a kernel needs them."""

PRINTF_EXTENSION_VERSION = 22
"""The first clang that asks for `PRINTF_EXTENSION`, or knows it: an older one refuses its name."""

_WRITTEN_BY = r'(?m)^!\d+ = !\{!"[^"]*clang version (\d+)'
"""What LLVM IR says of the clang that wrote it."""


OPTIMISE_AND_WRITE = ("-emit-obj", "-o", "-", "-")
OPTIMISE = ("-emit-llvm", "-o", "-", "-")
WRITE = ("-disable-llvm-passes", "-emit-obj", "-o", "-", "-")
"""What clang does with LLVM IR."""

FIX_WITH = tuple(
    f"groundstate.compiler.{name}"
    for name in ("opencl.messages", "opencl.llvm_ir", "opencl.spirv_words")
)
FIX_LINES_WITH = tuple(
    f"groundstate.compiler.{name}"
    for name in ("spirv.types", "spirv.instructions", "opencl.spirv_module", "opencl.line_info")
)
"""What our own steps between the runs of clang are made of."""


class CompileError(Exception):
    """The source cannot be compiled. Its text is what clang said, with excerpts of the source."""

    def __init__(self, log: str) -> None:
        super().__init__(log)
        self.log = log

    @property
    def messages(self) -> list[Message]:
        """What was said, message by message."""
        from groundstate.compiler.opencl import messages

        return messages.parse(self.log)


@light_dataclass()
class Compiled:
    """A module of SPIR-V, and the warnings that came with it."""

    spirv: bytes
    log: str


def compile_opencl(
    source: str,
    *,
    options: Sequence[str] = (),
    name: str = "kernel.cl",
    meanwhile: clang.Meanwhile | None = None,
) -> bytes:
    """Compiles OpenCL C to SPIR-V.

    `options` are those of OpenCL (`-D`, `-I`, `-cl-std=CL1.2`, ...); `name` is what messages call
    the source. `meanwhile` is called again and again while clang runs, as long as it returns True;
    not at all if nothing has to be compiled. Raises `CompileError` if the source has a mistake.

    >>> spirv = compile_opencl("kernel void f(global int *a) { a[get_global_id(0)] += 1; }")
    >>> spirv[:4].hex()
    '03022307'
    """
    return compile_with_log(source, options=options, name=name, meanwhile=meanwhile).spirv


def compile_with_log(
    source: str,
    *,
    options: Sequence[str] = (),
    name: str = "kernel.cl",
    meanwhile: clang.Meanwhile | None = None,
) -> Compiled:
    """As `compile_opencl`, with the warnings."""
    understood = _understand(options)
    try:
        compiler = clang.find()
    except clang.ClangMissingError as problem:
        return _prebuilt(source, name, understood, str(problem))
    try:
        with Announced(f"compiling {name}"):
            compiled = _compile_or_take_from_cache(
                _Job(compiler, understood, NamedSource(source, name), meanwhile)
            )
    except CompileError as problem:
        _keep_prebuilt(source, name, understood, problem.log, b"")
        raise
    _keep_prebuilt(source, name, understood, compiled.log, compiled.spirv)
    return compiled


def _keep_prebuilt(
    source: str, name: str, understood: options.Options, log: str, spirv: bytes
) -> None:
    if knobs.PREBUILT_SPIRV.get():
        from groundstate.compiler.opencl import prebuilt

        prebuilt.put(source, name, understood, log, spirv)


def _understand(words: Sequence[str]) -> options.Options:
    try:
        understood = options.parse(words)
    except options.UnknownOptionError as problem:
        raise CompileError(str(problem)) from None
    if knobs.DEBUG.get():
        understood.has_lines, understood.optimise = True, False
    return understood


def _prebuilt(source: str, name: str, understood: options.Options, missing: str) -> Compiled:
    """What was compiled where there was a clang; `missing` says that there is none here."""
    from groundstate.compiler.opencl import prebuilt

    found = prebuilt.get(source, understood)
    if found is None:
        raise CompileError(missing)
    if not found.spirv:
        raise CompileError(found.log_for(name))
    return Compiled(found.spirv, found.log_for(name))


@light_dataclass()
class NamedSource:
    """A source, and what messages call it."""

    text: str
    name: str

    def for_clang(self) -> bytes:
        """The source as clang reads it from its standard input, under its name."""
        quoted = self.name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        return f'#line 1 "{quoted}"\n{self.text}\n'.encode("utf-8", "surrogateescape")


# --- Compiling ------------------------------------------------------------------------------------


@light_dataclass()
class _Job:
    """What is compiled, how, and what is done while clang runs."""

    compiler: clang.Clang
    understood: options.Options
    source: NamedSource
    meanwhile: clang.Meanwhile | None


def _compile_or_take_from_cache(job: _Job) -> Compiled:
    key = _key(job.compiler, job.understood, job.source.for_clang())
    stored = disk.get(key)
    if stored is not None:
        return _unpack(stored)
    compiled = _compile(job)
    disk.put(key, _pack(compiled))
    return compiled


def _compile(job: _Job) -> Compiled:
    from groundstate.compiler.opencl import messages

    understood = job.understood
    front = job.compiler.run(understood.front_arguments(), job.source.for_clang(), _imports(job))
    log = messages.tidy(front.stderr.decode("utf-8", "replace"))
    if front.returncode != 0:
        raise CompileError(log or f"clang ended with status {front.returncode}")
    ir = front.stdout.decode("utf-8", "surrogateescape")
    if understood.has_lines or understood.keeps_accesses:
        return Compiled(_compile_in_steps(job, ir), log)
    from groundstate.compiler.opencl import llvm_ir, spirv_words

    ir = llvm_ir.fix(ir, understood.contract)
    spirv = _run_back(job, ir, OPTIMISE_AND_WRITE)
    return Compiled(spirv_words.fix(spirv, ir), log)


def _imports(job: _Job) -> clang.Meanwhile:
    """Imports what comes after the first run of clang while that runs, and then does the rest."""
    # Not needed, and not worth importing, for what is in the cache.
    from groundstate.compiler.preparation import import_quietly

    wanted = iter((*FIX_WITH, *(FIX_LINES_WITH if job.understood.has_lines else ())))

    def step() -> bool:
        name = next(wanted, None)
        if name is not None:
            import_quietly(name)
            return True
        return job.meanwhile is not None and job.meanwhile()

    return step


def _compile_in_steps(job: _Job, ir: str) -> bytes:
    """Makes SPIR-V with lines, or with all accesses: clang optimises and writes it in two steps,
    and there are changes between."""
    from groundstate.compiler.opencl import llvm_ir, spirv_words

    understood = job.understood
    if understood.has_lines:
        from groundstate.compiler.opencl import line_info

        ir = line_info.without_declarations(ir)
    ir = llvm_ir.fix(ir, understood.contract)
    if understood.has_variables and "#dbg_declare(" in ir:
        return spirv_words.fix(_write_with_lines(job, ir), ir)
    optimise = _optimised_with_accesses if understood.keeps_accesses else _optimised
    optimised = optimise(job, ir)
    if not understood.has_lines:
        return spirv_words.fix(_run_back(job, optimised, WRITE), ir)
    return spirv_words.fix(_write_with_lines(job, optimised), ir)


def _optimised(job: _Job, ir: str) -> str:
    return _run_back(job, ir, OPTIMISE).decode("utf-8", "surrogateescape")


def _optimised_with_accesses(job: _Job, ir: str) -> str:
    """The same without losing accesses that have no effect."""
    from groundstate.compiler.opencl import array_indices, fences, kept_accesses, unwritten

    kept = unwritten.mark(kept_accesses.keep(array_indices.mark(fences.widen(ir))))
    optimised = fences.mark(array_indices.release(_optimised(job, kept)))
    return unwritten.release(kept_accesses.release(optimised, ir))


def _write_with_lines(job: _Job, optimised: str) -> bytes:
    """SPIR-V that knows its lines: markers hold their places while clang writes it."""
    from groundstate.compiler.opencl import line_info, spirv_module

    marked, lines, variables = line_info.mark(optimised, job.source.name)
    module = spirv_module.read(_run_back(job, marked, WRITE))
    line_info.put(module, lines, variables, job.source.name, job.source.text)
    return spirv_module.write(module)


def _run_back(job: _Job, ir: str, actions: Sequence[str]) -> bytes:
    """Runs clang on LLVM IR, for the lowest version of SPIR-V that can express it."""
    from groundstate.compiler.opencl import messages

    text = ir.encode("utf-8", "surrogateescape")
    extensions = _extensions(ir)
    said = ""
    for version in SPIRV_VERSIONS:
        arguments = _back_arguments(job.understood, version, extensions)
        back = job.compiler.run([*arguments, *actions], text, job.meanwhile)
        if back.returncode == 0:
            return back.stdout
        said = messages.tidy(back.stderr.decode("utf-8", "replace"))
    raise CompileError(f"LLVM could not write this program as SPIR-V:\n{messages.innermost(said)}")


def _extensions(ir: str) -> Sequence[str]:
    """The SPIR-V extensions that this program may be written with."""
    from groundstate.compiler.opencl.spirv_words import PRINTF_EXTENSION

    if "@printf(" not in ir:
        return EXTENSIONS
    writer = re.search(_WRITTEN_BY, ir)
    knows = writer is not None and int(writer[1]) >= PRINTF_EXTENSION_VERSION
    return (*EXTENSIONS, PRINTF_EXTENSION) if knows else EXTENSIONS


def _back_arguments(
    understood: options.Options, version: str, extensions: Sequence[str]
) -> list[str]:
    allowed = ",".join(f"+{name}" for name in extensions)
    return [
        *("-cc1", "-x", "ir", "-triple", f"spirv64v{version}-unknown-unknown"),
        # Less than -O1 leaves forms of code that the back end does not know.
        *(["-O2", "-funroll-loops"] if understood.optimise else ["-O1"]),
        *("-mllvm", f"--spirv-ext={allowed}", "-Wno-override-module"),
        # A loop that fills memory is better as a loop than as the call that it would become.
        *("-mllvm", "-disable-loop-idiom-memset", "-mllvm", "-disable-loop-idiom-memcpy"),
        # Would count in integers of odd widths, whose ends the back end forgets.
        *("-mllvm", "-disable-lsr"),
        # Would load vectors of one element, which SPIR-V does not have.
        *("-mllvm", "-disable-vector-combine"),
    ]


# --- Caching --------------------------------------------------------------------------------------

_INCLUDES = b"include", b"embed"
"""What a source cannot do without that reads other files; a comment may say it too."""


def _key(compiler: clang.Clang, understood: options.Options, text: bytes) -> bytes:
    """Everything the result depends on.

    A source that includes files is keyed by what it becomes when they are put in, which costs a run
    of the preprocessor and is right even when a new file hides one that was found before.
    """
    if any(word in text for word in _INCLUDES):
        expanded = compiler.run(understood.preprocess_arguments(), text)
        text += b"\0" + expanded.stdout
    keeps = understood.keeps_accesses
    settings = json.dumps([compiler.identity, _fingerprint(), understood.front_arguments(), keeps])
    return settings.encode() + b"\0" + text


@functools.cache
def _fingerprint() -> str:
    """Changes with our own version, headers and treatment of the output: with what the files' sizes
    and times say, as the kernel cache does, since reading them all takes longer than the rest."""
    digest = hashlib.sha256(__version__.encode())
    for path in own_files():
        status = os.stat(path)
        digest.update(f"{path} {status.st_size} {status.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def own_files() -> list[str]:
    """The files that decide what becomes of a source, beside clang."""
    paths: list[str] = []
    for folder, _, names in os.walk(os.path.dirname(os.path.abspath(__file__))):
        paths += [os.path.join(folder, name) for name in names if name.endswith((".py", ".h"))]
    return sorted(paths)


def _pack(compiled: Compiled) -> bytes:
    log = compiled.log.encode("utf-8", "surrogateescape")
    return len(log).to_bytes(8, "little") + log + compiled.spirv


def _unpack(stored: bytes) -> Compiled:
    end = 8 + int.from_bytes(stored[:8], "little")
    return Compiled(stored[end:], stored[8:end].decode("utf-8", "surrogateescape"))
