"""Changes to the text of clang's LLVM IR before it goes on to the SPIR-V back end."""

from __future__ import annotations

import re
from itertools import count

from groundstate.compiler.opencl import builtins, mangling
from groundstate.compiler.opencl.function_body import INSTRUCTION, PURE, Body, Declaration

_KERNEL_BODY = re.compile(r"^define (?:dso_local )?(?=.*@__clang_ocl_kern_imp_)", re.MULTILINE)
_INLINE_FUNCTION = re.compile(r"^define (?:dso_local )?available_externally ", re.MULTILINE)
_DECLARATION = re.compile(
    r"^declare spir_func (?P<result>.*?) ?@(?P<name>_Z\w+|__to_\w+)\((?P<parameters>.*)\).*\n",
    re.MULTILINE,
)
_ATTRIBUTE = re.compile(
    r"\b(?:noundef|zeroext|signext|align \d+|(?:captures|nofpclass)\([^)]*\)|read(?:only|none)) ?"
)

_SIGNED_TO_FLOAT = re.compile(r"= sitofp (<\d+ x i\d+>|i\d+) (.+?) to (<\d+ x \w+>|\w+)")

_EVENT = 'target("spirv.Event")'
_STORED_EVENT = re.compile(rf"^  store {re.escape(_EVENT)} zeroinitializer,", re.MULTILINE)
NO_EVENT = f"{INSTRUCTION}NoEvent.."

INLINE = "alwaysinline convergent nounwind"


def fix(ir: str, contract: bool) -> str:
    """All changes, in order; `contract` as in `allow_contraction`."""
    ir = hide_kernel_bodies(ir)
    ir = keep_inline_functions(ir)
    ir = write_builtins(ir)
    ir = keep_signed_conversions(ir)
    ir = name_no_event(ir)
    ir = leave_halves_to_device(ir)
    return allow_contraction(ir) if contract else ir


def hide_kernel_bodies(ir: str) -> str:
    """Makes the second copy of each kernel internal.

    clang writes a kernel twice, as an entry point and as a function that other kernels can call.
    The function would be exported, and stay in the module, although nobody outside can know of it.
    """
    return _KERNEL_BODY.sub("define internal ", ir)


def keep_inline_functions(ir: str) -> str:
    """Makes functions that are `inline` and not `static` internal.

    In C99 another file has to have such a function, too, in case that a call of it is not inlined.
    OpenCL has no other files, and drivers accept what programs then write.
    """
    return _INLINE_FUNCTION.sub("define internal ", ir)


def allow_contraction(ir: str) -> str:
    """Says that any multiplication and addition may be done in one step.

    Without it the module says that they may not. clang has by then written `fma` for those in one
    expression, which is what OpenCL allows where no option asks for more.
    """
    return f"{ir}\n!opencl.enable.FP_CONTRACT = !{{}}\n"


def write_builtins(ir: str) -> str:
    """Gives a body to each declared built-in function for which `builtins` has one."""
    written: dict[str, tuple[Declaration, Body]] = {}
    for match in _DECLARATION.finditer(ir):
        declaration = _parse(match)
        body = builtins.write(declaration)
        if body is not None:
            written[match["name"]] = declaration, body
    if not written:
        return ir
    names = "|".join(re.escape(name) for name in sorted(written, key=len, reverse=True))
    ir = re.sub(rf"^declare spir_func .*@(?:{names})\(.*\n", "", ir, flags=re.MULTILINE)
    ir = re.sub(rf"@({names})(?=\()", r'@"groundstate_\1"', ir)
    definitions = [_define(name, *parts) for name, parts in written.items()]
    needed: dict[str, str] = {}
    for _, body in written.values():
        needed |= body.declarations
    return "\n".join([ir, *definitions, *_missing_declarations(ir, needed)]) + "\n"


def keep_signed_conversions(ir: str) -> str:
    """Calls a function that stands for the instruction wherever a signed integer becomes a float.

    What is known to be 0 or -1 would otherwise be optimised to the conversion of a single bit,
    which the back end takes to be 0 or 1.
    """
    declared: dict[str, str] = {}

    def call(match: re.Match[str]) -> str:
        source, value, target = match.groups()
        name = f"{INSTRUCTION}ConvertSToF..{_suffix(source)}.{_suffix(target)}"
        declared[name] = f'declare spir_func {target} @"{name}"({source}) {PURE}'
        return f'= call spir_func {target} @"{name}"({source} {value})'

    ir = _SIGNED_TO_FLOAT.sub(call, ir)
    return "\n".join([ir, *declared.values()]) + "\n"


def name_no_event(ir: str) -> str:
    """Takes the event 0 from a function that stands for it: the back end knows no such constant."""
    numbers = count()

    def call(_: re.Match[str]) -> str:
        name = f"%no.event.{next(numbers)}"
        return f'  {name} = call spir_func {_EVENT} @"{NO_EVENT}"()\n  store {_EVENT} {name},'

    changed = _STORED_EVENT.sub(call, ir)
    if changed == ir:
        return ir
    return f'{changed}\ndeclare spir_func {_EVENT} @"{NO_EVENT}"() {PURE}\n'


_HALF_CONTRACTION = re.compile(r"call half @llvm\.fmuladd\.f16\(")
_VECTOR_CONTRACTION = re.compile(r"call <(\d+) x half> @llvm\.fmuladd\.v\d+f16\(")


def leave_halves_to_device(ir: str) -> str:
    """Calls `mad` for a multiplication and an addition of halves that clang has put together.

    The back end would write `fma`, which a device that computes with halves as with floats has to
    round once: that takes longer than both operations.
    """
    declared: dict[str, str] = {}

    def call(match: re.Match[str]) -> str:
        count = match[1] if match.re is _VECTOR_CONTRACTION else ""
        kind = f"<{count} x half>" if count else "half"
        name = f"_Z3madDv{count}_DhS_S_" if count else "_Z3madDhDhDh"
        declared[name] = f"declare spir_func {kind} @{name}({kind}, {kind}, {kind}) {PURE}"
        return f"call spir_func {kind} @{name}("

    for pattern in (_HALF_CONTRACTION, _VECTOR_CONTRACTION):
        ir = pattern.sub(call, ir)
    return "\n".join([ir, *_missing_declarations(ir, declared)]) + "\n" if declared else ir


def _suffix(kind: str) -> str:
    """What a type is called in the name of a function.

    >>> _suffix("<4 x float>")
    'v4float'
    """
    return re.sub(r"<(\d+) x (\w+)>", r"v\1\2", kind)


def _parse(match: re.Match[str]) -> Declaration:
    split = mangling.split(match["name"])
    plain, code = split if split is not None else (match["name"], "")
    result = _ATTRIBUTE.sub("", match["result"]).strip()
    parameters = [_ATTRIBUTE.sub("", part).strip() for part in _commas(match["parameters"])]
    return Declaration(plain, code, result, parameters)


def _commas(text: str) -> list[str]:
    """The parts of `text` between commas that are not inside brackets."""
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        depth += (letter in "(<[{") - (letter in ")>]}")
        if letter == "," and depth == 0:
            parts.append(text[start:position].strip())
            start = position + 1
    last = text[start:].strip()
    return [*parts, last] if last else parts


def _define(name: str, declaration: Declaration, body: Body) -> str:
    parameters = ", ".join(
        f"{kind} %{number}" for number, kind in enumerate(declaration.parameters)
    )
    end = "ret void" if declaration.result == "void" else f"ret {declaration.result} %r"
    lines = "\n".join(f"  {line}" for line in [*body.lines, end])
    head = f'define internal spir_func {declaration.result} @"groundstate_{name}"({parameters})'
    return f"{head} {INLINE} {{\nentry:\n{lines}\n}}"


def _missing_declarations(ir: str, needed: dict[str, str]) -> list[str]:
    """Those of the declarations that the module does not have already."""
    present = set(re.findall(r'^(?:declare|define) .*?@"?([\w.$]+)"?\(', ir, re.MULTILINE))
    return [line for name, line in needed.items() if name not in present]
