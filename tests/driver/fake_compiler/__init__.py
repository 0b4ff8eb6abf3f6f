"""A compiler that compiles nothing: kernels are C functions, and a "module" names some of them.

It has the interface of `groundstate.compiler.program`, so that what the driver does with modules,
kernels and launches can be tested with code whose every instruction is known. `spirv(...)` makes an
input for zeModuleCreate; the fixture `fake_compiler` puts this module in the compiler's place. A
kernel `describe_8x4` is the function `describe` with a required group size.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from groundstate.compiler.errors import BuildError as BuildError

SOURCE = Path(__file__).parent / "kernels.c"
NATIVE = Path(__file__).parents[3] / "native"
MARK = b"\n--fake--\n"
NATIVE_MARK = b"fake native "
LANES = 16


@dataclass(frozen=True, slots=True)
class Argument:
    name: str
    type_name: str
    kind: str
    size: int
    offset: int
    address_space: int = 5
    access: int = 0


@dataclass(frozen=True, slots=True)
class Signature:
    name: str
    arguments: tuple[Argument, ...]
    block_bytes: int
    required_group_size: tuple[int, int, int] | None
    subgroup_size: int
    local_bytes: int
    private_bytes: int
    attributes: str
    uses_barriers: bool
    source_hash: bytes
    unresolved: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class KernelCode:
    address: int
    local_bytes: int
    private_bytes: int
    saved_bytes: int
    keep: object
    has_loops: bool
    formats: tuple[bytes, ...]
    binary: bytes
    width: int = LANES
    other_widths: tuple[int, ...] = ()
    writes_back: bool = False
    refills: bool = False
    lines: None = None
    sites: tuple[()] = ()

    @property
    def may_wait(self) -> bool:
        return self.has_loops


def pointer(name: str, of: str, offset: int) -> Argument:
    return Argument(name, f"{of}*", "pointer", 8, offset)


HELLO = (
    b"hello %s %d %d %.2f\n",
    b"%v4hlf|%v3hhd|%v2hd %u%%\n",
    b"[%3c] %#x %-4o| %8.3e %y\n",
)

ARGUMENTS: dict[str, tuple[Argument, ...]] = {
    "empty": (),
    "add": (pointer("a", "float", 0), pointer("b", "float", 8), pointer("c", "float", 16)),
    "visit": (pointer("visits", "uchar", 0),),
    "amble": (pointer("visits", "uint", 0),),
    "hurry": (pointer("visits", "uint", 0),),
    "tally": (pointer("counter", "ulong", 0),),
    "describe": (pointer("out", "ulong", 0),),
    "locals": (
        pointer("out", "ulong", 0),
        Argument("left", "char*", "local", 8, 8, 4),
        Argument("right", "char*", "local", 8, 16, 4),
    ),
    "values": (
        Argument("small", "char", "value", 1, 0),
        Argument("large", "long", "value", 8, 8),
        Argument("mixed", "mixture", "value", 32, 16),
        pointer("out", "long", 48),
    ),
    "look": (
        Argument("image", "image2d_t", "image", 8, 0),
        Argument("sampler", "sampler_t", "sampler", 8, 8),
        pointer("out", "ulong", 16),
    ),
    "spin": (pointer("flag", "uint", 0),),
    "meet": (pointer("arrived", "uint", 0),),
    "bump": (pointer("out", "uint", 0),),
    "threads": (pointer("out", "uint", 0),),
    "cpus": (pointer("out", "uint", 0),),
    "hello": (),
    "shout": (pointer("results", "int", 0),),
    "strike": (
        Argument("what", "ulong", "value", 8, 0),
        Argument("group", "ulong", "value", 8, 8),
        pointer("address", "ulong", 16),
    ),
    "desert": (pointer("arrived", "uint", 0),),
    "quote": (pointer("text", "char", 0),),
}
FORMATS = {"hello": HELLO, "shout": (b"group %lu\n",), "quote": (b"<%s>\n",)}
WITH_LOOPS = {"spin", "meet", "tally", "desert", "amble"}
VARIANTS: dict[str, str] = {}
"""For tests of variants: by the name of a kernel, another one that does the same."""
preferred: list[tuple[str, tuple[int, int, int], int]] = []
"""The choices that were remembered."""
LOCAL_BYTES = {"locals": 100}


class Library:
    """The compiled kernels, made when first needed."""

    def __init__(self) -> None:
        self._library: ctypes.CDLL | None = None

    def build(self, folder: Path) -> None:
        path = folder / "kernels.so"
        command = ["cc", "-O2", "-shared", "-fPIC", "-pthread", f"-I{NATIVE}", str(SOURCE)]
        subprocess.run([*command, "-o", str(path)], check=True)
        self._library = ctypes.CDLL(str(path))

    def address(self, name: str) -> int:
        function = getattr(self._library, name.partition("_")[0])
        return ctypes.cast(function, ctypes.c_void_p).value or 0


LIBRARY = Library()
compiled: list[tuple[str, tuple[int, int, int]]] = []
"""Every compilation so far, for tests that count them."""


def spirv(
    *kernels: str,
    imports: Sequence[str] = (),
    exports: Mapping[str, str] | None = None,
    variables: Mapping[str, tuple[int, int]] | None = None,
    image: bytes = b"",
    prefix: bytes = b"",
    unresolved: Mapping[str, Sequence[str]] | None = None,
    fails: str = "",
) -> bytes:
    """The bytes of a "module" with these kernels. `prefix` may be real SPIR-V declarations."""
    description = {
        "kernels": kernels,
        "imports": imports,
        "exports": exports or {},
        "variables": variables or {},
        "image": image.hex(),
        "unresolved": unresolved or {},
        "fails": fails,
    }
    return prefix + MARK + json.dumps(description).encode()


class Program:
    """What the driver takes for a compiled module."""

    finalizers: tuple[str, ...] = ()
    calls_pointers = False
    modules = ()
    uses_tiles = False

    def __init__(
        self,
        spirv: bytes | Sequence[bytes],
        *,
        options: str = "",
        constants: Mapping[int, bytes] | None = None,
        target: object = None,
        checks: Sequence[str] = (),
    ) -> None:
        del target, checks
        inputs = [spirv] if isinstance(spirv, bytes) else list(spirv)
        self.options = options
        self.constants = dict(constants or {})
        self._read([self._description(each) for each in inputs])
        self.log = f"built with [{options}]"

    @staticmethod
    def _description(spirv: bytes) -> dict[str, Any]:
        _, mark, text = spirv.partition(MARK)
        if not mark:
            raise BuildError("error: this is no SPIR-V module: the first word is wrong")
        description: dict[str, Any] = json.loads(text)
        if description["fails"]:
            raise BuildError(description["fails"])
        return description

    def _read(self, descriptions: list[dict[str, Any]]) -> None:
        self.descriptions = descriptions
        self.kernel_names = tuple(name for each in descriptions for name in each["kernels"])
        self.exports = {
            name: kind for each in descriptions for name, kind in each["exports"].items()
        }
        imports = [name for each in descriptions for name in each["imports"]]
        self.imports = tuple(name for name in imports if name not in self.exports)
        self.global_offsets = {
            name: tuple(place) for each in descriptions for name, place in each["variables"].items()
        }
        self.globals_bytes = max((sum(place) for place in self.global_offsets.values()), default=0)
        self.globals_image = b"".join(bytes.fromhex(each["image"]) for each in descriptions)

    def signature(self, name: str) -> Signature:
        base, _, size = name.partition("_")
        required = tuple(int(each) for each in size.split("x")) if size else ()
        arguments = ARGUMENTS[base]
        end = max((each.offset + each.size for each in arguments), default=0)
        needed = [use for each in self.descriptions for use in each["unresolved"].get(name, ())]
        return Signature(
            name,
            arguments,
            end,
            (*required, 1, 1, 1)[:3] if required else None,
            LANES,
            LOCAL_BYTES.get(base, 0),
            24,
            f"reqd_work_group_size({size.replace('x', ',')})" if size else "",
            False,
            hashlib.sha256(name.encode()).digest(),
            tuple(use for use in needed if use not in self.exports),
        )

    def function_pointer(self, name: str) -> int | None:
        """The address of a kernel, which is all that the fake has of functions."""
        return LIBRARY.address(name) if name in self.kernel_names else None

    def check(self, name: str) -> None:
        """Every kernel of the fake compiles."""

    def initialise(self, variables: int, call: object = None) -> None:
        """Variables of the fake hold no addresses."""

    def compile(self, name: str, group_size: tuple[int, int, int]) -> KernelCode:
        if group_size == (13, 13, 1):
            raise BuildError(f"error: {name}: groups of 13 x 13 bring bad luck")
        compiled.append((name, group_size))
        base = name.partition("_")[0]
        return KernelCode(
            LIBRARY.address(name),
            LOCAL_BYTES.get(base, 0),
            256 if base in LOCAL_BYTES else 0,
            0,
            LIBRARY,
            base in WITH_LOOPS,
            FORMATS.get(base, ()),
            f"code of {name} for {group_size}".encode(),
            other_widths=(1,) if name in VARIANTS else (),
        )

    def is_compiled(self, name: str, group_size: tuple[int, int, int], width: int) -> bool:
        return False

    def compile_meanwhile(
        self,
        name: str,
        group_size: tuple[int, int, int],
        width: int,
        lock: object,
        is_unwanted: Callable[[], bool],
    ) -> KernelCode:
        return replace(self.compile(VARIANTS[name], group_size), width=width)

    def prefer(self, name: str, group_size: tuple[int, int, int], width: int) -> None:
        preferred.append((name, group_size, width))

    def native_binary(self) -> bytes:
        return NATIVE_MARK + json.dumps(self.descriptions).encode()

    @staticmethod
    def from_native(binary: bytes, checks: Sequence[str] = (), target: object = None) -> Program:
        del checks, target
        if not binary.startswith(NATIVE_MARK):
            raise BuildError("error: this binary was not made by this driver")
        program = Program.__new__(Program)
        program.options, program.constants, program.log = "", {}, ""
        program._read(json.loads(binary[len(NATIVE_MARK) :]))
        return program

    @staticmethod
    def link(programs: Sequence[Program]) -> Program:
        linked = Program.__new__(Program)
        linked.options, linked.constants, linked.log = "", {}, ""
        linked._read([each for program in programs for each in program.descriptions])
        return linked
