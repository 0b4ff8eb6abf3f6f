"""`groundstate dis`: shows what is in a SPIR-V module."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path

from groundstate.cli.commands import COMMANDS
from groundstate.cli.errors import complain, describe, say
from groundstate.compiler.errors import BuildError
from groundstate.compiler.spirv import InvalidModule, Module, read
from groundstate.compiler.spirv.assembly import assembly
from groundstate.compiler.spirv.disassemble import Disassembler, disassemble

DEFAULT_GPU = "sm_90"
DESCRIPTION = """\
Shows a SPIR-V module as text: its kernels, functions, variables and structures, with types and
constants written out where they are used. Or what becomes of its kernels on NVIDIA's GPUs, none of
which need be there: PTX, and, with ptxas and nvdisasm of the CUDA toolkit, the machine code (SASS).
"""

EXAMPLES = """\
examples:
  groundstate dis k.spv                    the whole module, to read
  groundstate dis k.spv --function add     one function or kernel
  groundstate dis k.spv --raw              every instruction, in SPIR-V's assembly language
  groundstate dis - < k.spv                from standard input
  groundstate dis k.spv --ptx sm_80        PTX of all kernels for a GPU
"""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds `dis` to the commands."""
    parser = subparsers.add_parser(
        "dis",
        help=COMMANDS["dis"],
        description=DESCRIPTION,
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("file", metavar="FILE", help="a .spv file, or - for standard input")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--raw", action="store_true", help="show the bare instructions, all of them")
    how.add_argument("--function", metavar="NAME", help="show only this function or kernel")
    for flag, what in (("--ptx", "PTX"), ("--sass", "machine code, by the CUDA toolkit's tools")):
        how.add_argument(
            flag,
            metavar="GPU",
            nargs="?",
            const=DEFAULT_GPU,
            help=f"show all kernels as {what}, for a GPU (default: {DEFAULT_GPU})",
        )
    parser.add_argument(
        "--words",
        action="store_true",
        help="with --raw, show the word that each instruction begins at, as checked mode names it",
    )
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Prints the module; what comes before a broken place is printed too."""
    try:
        data = sys.stdin.buffer.read() if args.file == "-" else Path(args.file).read_bytes()
    except OSError as problem:
        return complain("dis", describe(problem, args.file))
    try:
        if args.ptx or args.sass:
            found = iter(
                for_gpu(data, args.ptx or args.sass, bool(args.sass)).expandtabs().splitlines()
            )
        else:
            found = lines(data, args.raw or args.words, args.function, args.words)
        for line in found:
            say(line)
    except (InvalidModule, LookupError, BuildError) as problem:
        return complain("dis", f"{args.file}: {problem}")
    return 0


def for_gpu(data: bytes, gpu: str, is_sass: bool) -> str:
    """PTX or SASS of all kernels for a GPU. Raises BuildError."""
    from groundstate.cli import cuda_tools
    from groundstate.compiler.program.ptx_program import compile_ptx
    from groundstate.compiler.target import nvptx

    target = nvptx.named(gpu)
    if target is None:
        raise BuildError(f"'{gpu}' is no GPU; name one by its compute capability, as sm_90")
    ptx = compile_ptx(data, sm=target.compute_capability).text
    return cuda_tools.sass(ptx, target.cpu) if is_sass else ptx


def lines(data: bytes, raw: bool, function: str | None, words: bool = False) -> Iterator[str]:
    """What to print."""
    if raw:
        return assembly(data, words)
    module = read(data)
    if function is None:
        return disassemble(module)
    return Disassembler(module).function(module.function(find(module, function)))


def find(module: Module, name: str) -> int:
    """The id of a function by any of its names; raises `LookupError` if it has none such."""
    if name in module.entry_points:
        return module.entry_points[name].function
    known = {module.function_name(id): id for id in module.function_ids}
    known |= {module.names[id]: id for id in module.function_ids if id in module.names}
    if name not in known:
        raise LookupError(f"there is no function '{name}'; there are {', '.join(sorted(known))}")
    return known[name]
