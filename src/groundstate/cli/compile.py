"""`groundstate compile`: turns OpenCL C into SPIR-V, and shows what becomes of it."""

from __future__ import annotations

import argparse
import os
import sys

from rich.syntax import Syntax
from rich.text import Text

from groundstate import knobs
from groundstate.cli.commands import COMMANDS
from groundstate.cli.console import Console
from groundstate.cli.errors import DONE, FAILED, complain, describe
from groundstate.cli.output import create_binary
from groundstate.cli.pass_options import add_pass_options, observed
from groundstate.cli.stages import STAGES, Size, make, variants
from groundstate.compiler.errors import BuildError
from groundstate.compiler.opencl import frontend
from groundstate.compiler.opencl import options as language
from groundstate.compiler.opencl.frontend import CompileError
from groundstate.compiler.program import Program
from groundstate.compiler.program.ptx_program import compile_program
from groundstate.compiler.spirv.reader import is_spirv
from groundstate.compiler.target import SUBGROUP_SIZES, Target, nvptx
from groundstate.compiler.target.scalar import SCALAR
from groundstate.printable import printable_lines

DESCRIPTION = """\
Compiles a file of OpenCL C to SPIR-V, which zeModuleCreate and other tools take.

With --emit it goes on, for this machine, and prints what it makes of each kernel: its graph, LLVM
IR, assembly. SPIR-V may be given instead of OpenCL C then. --emit=ptx makes one module of all
kernels for one of NVIDIA's GPUs, which need not be there.

The options of OpenCL itself are taken as they are: -D, -I, -cl-std=, -cl-fast-relaxed-math, -w and
so on. The language is OpenCL C 3.0 unless -cl-std says otherwise.
"""

EXAMPLES = """\
examples:
  groundstate compile blur.cl                          writes blur.spv
  groundstate compile blur.cl -o out.spv -D RADIUS=3 -I include
  groundstate compile old.cl -cl-std=CL1.2 -cl-mad-enable
  cat blur.cl | groundstate compile - -o blur.spv      from a pipe
  groundstate compile blur.cl --emit=asm               assembly of all kernels, for reading
  groundstate compile blur.spv --emit=llvm --kernel sharpen --group-size 16,16 -o sharpen.ll
  groundstate compile blur.cl --emit=ir --lanes 8      what 8 work-items do side by side
  groundstate compile blur.cl --emit=ir --print-after=unroll --verify
  groundstate compile blur.cl --emit=ptx --target sm_90 -o blur.ptx    for NVIDIA's GPUs
"""

STANDARD_STREAM = "-"
PTX = "ptx"
TARGETS = {"host": None, SCALAR.name: SCALAR}
DEFAULT_GPU = "sm_90"
"""What PTX is for, unless --target says otherwise."""

VALUE_OPTIONS = {
    "-D": ("NAME[=VALUE]", "define a macro"),
    "-U": ("NAME", "make a macro undefined"),
    "-I": ("FOLDER", "look for included files in a folder"),
    "-W": ("WARNING", "switch a warning on or off, such as -Wno-unused"),
    "-cl-std": ("STANDARD", f"the language: {', '.join(language.STANDARDS)}"),
}

STYLES = {"error": "bold red", "fatal error": "bold red", "warning": "bold yellow", "note": "bold"}


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `compile` to the commands."""
    parser = subparsers.add_parser(
        "compile",
        help=COMMANDS["compile"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        usage="groundstate compile FILE [-o OUTPUT] [--emit STAGE] [OpenCL options]",
        allow_abbrev=False,
    )
    parser.add_argument("file", metavar="FILE", help="the source; - reads the standard input")
    parser.add_argument(
        "-o",
        dest="output",
        metavar="OUTPUT",
        help="where to write; - for the standard output (default: FILE with another ending for "
        "SPIR-V and object files, the standard output for text)",
    )
    add_stage_options(parser)
    add_pass_options(parser)
    add_language_options(parser)
    parser.set_defaults(run=run, parser=parser)


def add_stage_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options that say what to make, and for what."""
    group = parser.add_argument_group("stages")
    meanings = "; ".join(f"{stage.name}: {stage.meaning}" for stage in STAGES.values())
    group.add_argument(
        "--emit",
        metavar="STAGE",
        choices=["spirv", *STAGES, PTX],
        default="spirv",
        help=f"what to make. spirv: a module (the default); {meanings}; "
        "ptx: assembly for NVIDIA's GPUs, of all kernels",
    )
    group.add_argument(
        "--kernel",
        dest="kernels",
        metavar="NAME",
        action="append",
        default=[],
        help="only this kernel (more than once: these)",
    )
    group.add_argument(
        "--group-size",
        metavar="X[,Y[,Z]]",
        type=group_size,
        help="how many work-items a group has (default: what the kernel requires, or 256)",
    )
    group.add_argument(
        "--lanes",
        metavar="N",
        type=int,
        choices=SUBGROUP_SIZES,
        help="how many work-items run side by side: 1, 4, 8, 16 or 32 (default: the best)",
    )
    group.add_argument(
        "--target",
        metavar="TARGET",
        type=target_name,
        help="what to compile for. host: this machine (the default); "
        "scalar: the reference, one work-item at a time and as few passes as possible; "
        f"sm_NN: PTX for NVIDIA's GPUs of that compute capability (default of PTX: {DEFAULT_GPU})",
    )


def target_name(text: str) -> str:
    """Reads the name of a target."""
    try:
        is_known = text in TARGETS or nvptx.named(text) is not None
    except BuildError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from problem
    if not is_known:
        raise argparse.ArgumentTypeError(
            f"'{text}' is not a target; there are {', '.join(TARGETS)} and sm_NN, such as sm_90"
        )
    return text


def group_size(text: str) -> Size:
    """Reads a group size.

    >>> group_size("16,8")
    (16, 8, 1)
    """
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        sizes = []
    if not 1 <= len(sizes) <= 3 or min(sizes) < 1:
        raise argparse.ArgumentTypeError(f"'{text}' is not a group size such as 64 or 16,8")
    x, y, z = (*sizes, 1, 1)[:3]
    return x, y, z


class Prefixed:
    """Makes of an option's value the word that the compiler takes: -D and X is -DX."""

    def __init__(self, flag: str) -> None:
        self.prefix = f"{flag}=" if len(flag) > 2 else flag

    def __call__(self, value: str) -> str:
        return self.prefix + value


def add_language_options(parser: argparse.ArgumentParser) -> None:
    """Adds the options of OpenCL C, which are gathered as they are in `args.options`."""
    group = parser.add_argument_group("options of OpenCL")
    for flag, (metavar, sentence) in VALUE_OPTIONS.items():
        group.add_argument(
            flag,
            dest="options",
            action="append",
            default=[],
            metavar=metavar,
            type=Prefixed(flag),
            help=sentence,
        )
    for flag in language.FLAGS:
        group.add_argument(
            flag, dest="options", action="append_const", const=flag, help=argparse.SUPPRESS
        )


def run(args: argparse.Namespace) -> int:
    """Compiles, says what there is to say, and writes the result."""
    reject_idle_options(args)
    if would_write_binary_to_terminal(args):
        return complain(
            "compile",
            f"{args.emit} is binary and standard output is a terminal; name a file with -o, "
            "or read it with 'groundstate dis -'",
        )
    try:
        source = read(args.file)
    except (OSError, UnicodeDecodeError) as problem:
        name = "standard input" if args.file == STANDARD_STREAM else args.file
        return complain("compile", describe(problem, name))
    try:
        result = compile_file(args, source)
    except CompileError as problem:
        show(problem.log)
        return FAILED
    except BuildError as problem:
        return complain("compile", *(problem.log or "it failed").splitlines())
    write(args, result)
    return DONE


IDLE = {
    "spirv": {
        "--kernel": "kernels",
        "--group-size": "group_size",
        "--lanes": "lanes",
        "--target": "target",
        "--print-before": "print_before",
        "--print-after": "print_after",
        "--passes": "passes",
        "--time-passes": "time_passes",
        "--verify": "verify",
    },
    PTX: {"--group-size": "group_size", "--lanes": "lanes"},
}
"""Options that change nothing of what is made, by --emit, and where they are in the arguments."""


def reject_idle_options(args: argparse.Namespace) -> None:
    """Ends with a sentence if an option would do nothing."""
    stage = PTX if args.target and args.target not in TARGETS else "asm"
    further = f"; it is for later stages, such as --emit={stage}" if args.emit == "spirv" else ""
    for option, name in IDLE.get(args.emit, {}).items():
        if getattr(args, name):
            args.parser.error(f"{option} changes nothing of --emit={args.emit}{further}")
    if args.emit == PTX and args.target in TARGETS:
        args.parser.error(f"PTX is for a GPU, such as --target {DEFAULT_GPU}, not '{args.target}'")


def would_write_binary_to_terminal(args: argparse.Namespace) -> bool:
    """Whether SPIR-V or machine code would fill somebody's screen."""
    is_binary = args.emit in ("spirv", "object")
    return is_binary and output_path(args) == STANDARD_STREAM and sys.stdout.isatty()


def compile_file(args: argparse.Namespace, source: str | bytes) -> str | bytes:
    """What was asked for, made of OpenCL C or of SPIR-V."""
    if isinstance(source, bytes):
        if args.emit == "spirv":
            raise BuildError(f"'{args.file}' is SPIR-V already; --emit says what to make of it")
        spirv = source
    else:
        name = "<stdin>" if args.file == STANDARD_STREAM else args.file
        options = [*args.options, f"-I{os.path.dirname(args.file) or os.curdir}"]
        compiled = frontend.compile_with_log(source, options=options, name=name)
        show(compiled.log)
        spirv = compiled.spirv
    if args.emit == "spirv":
        return spirv
    target = args.target or "host"
    gpu = None if target in TARGETS else nvptx.named(target)
    if args.emit == PTX:
        with observed(args):
            return ptx(spirv, gpu or nvptx.named(DEFAULT_GPU), args)
    if gpu is not None:
        raise BuildError(f"for a GPU there is PTX alone: --emit=ptx --target {target}")
    with observed(args):
        program = Program(spirv, target=TARGETS[target], checks=knobs.CHECK.get())
        some = variants(program, args.kernels, args.group_size, args.lanes)
        return make(STAGES[args.emit], some)


def ptx(spirv: bytes, target: Target | None, args: argparse.Namespace) -> str:
    """PTX of the kernels that were asked for, or of all."""
    program = Program(spirv, target=target)
    return compile_program(program, args.kernels or None).text


def read(path: str) -> str | bytes:
    """The source at `path`: text, or SPIR-V."""
    if path == STANDARD_STREAM:
        stream = getattr(sys.stdin, "buffer", None)
        data = stream.read() if stream is not None else sys.stdin.read().encode()
    else:
        with open(path, "rb") as file:
            data = file.read()
    return data if is_spirv(data) else data.decode("utf-8")


def output_path(args: argparse.Namespace) -> str:
    """Where the result goes: what -o says, else beside the source, or to the standard output."""
    if args.output is not None:
        return str(args.output)
    is_text = args.emit not in ("spirv", "object")
    if is_text or args.file == STANDARD_STREAM:
        return STANDARD_STREAM
    ending = STAGES[args.emit].ending if args.emit in STAGES else ".spv"
    return os.path.splitext(str(args.file))[0] + ending


def write(args: argparse.Namespace, result: str | bytes) -> None:
    """Writes the result; text on a terminal is coloured."""
    path = output_path(args)
    data = result.encode() if isinstance(result, str) else result
    if path != STANDARD_STREAM:
        with create_binary(path) as file:
            file.write(data)
    elif isinstance(result, str) and sys.stdout.isatty():
        lexer = STAGES[args.emit].lexer if args.emit in STAGES else PTX
        Console().print(Syntax(printable_lines(result), lexer, background_color="default"))
    else:
        sys.stdout.buffer.write(data)


def show(log: str) -> None:
    """Prints clang's messages on standard error, in colour if that is a terminal."""
    if not log:
        return
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for line in log.splitlines():
        text = Text(printable_lines(line))
        for severity, style in STYLES.items():
            text.highlight_regex(rf"(?<=: ){severity}: ", style)
        console.print(text)
