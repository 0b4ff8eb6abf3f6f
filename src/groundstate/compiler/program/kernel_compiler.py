"""Kernels of a program: described, checked, and compiled for a group size when needed.

What is in the cache is not found out again. What is not takes the rest of the compiler, which is
imported then.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from groundstate.announce import Announced
from groundstate.compiler.errors import BuildError, RefusedError, UnresolvedNameError, WrongIrError
from groundstate.compiler.light_dataclass import light_dataclass, replace
from groundstate.compiler.program import object_loader
from groundstate.compiler.program.signature import Signature, describe_arguments
from groundstate.compiler.program.unsupported import describe
from groundstate.compiler.program.variables import place_variables
from groundstate.compiler.spirv.opcodes import ExecutionMode

if TYPE_CHECKING:  # imported when a kernel is not in the cache
    from groundstate.compiler.codegen.kernel import Code
    from groundstate.compiler.ir import Kernel
    from groundstate.compiler.llvm.backend import Linked
    from groundstate.compiler.program.program import Program
    from groundstate.compiler.program.source_lines import KernelLines, SourceTexts

GroupSize = tuple[int, int, int]

Facts = dict[str, Any]
UNKNOWN_FACTS: Facts = {
    "local_bytes": 0,
    "private_bytes": 0,
    "furthest_lane": 0,
    "uses_barriers": False,
    "loop_free": False,
    "may_wait": True,
    "unresolved": [],
}
"""Of a kernel whose IR cannot be built yet."""

UNOPTIMISED = frozenset(("-ze-opt-disable", "-ze-opt-level=0", "-cl-opt-disable"))
"""The build options that ask for code that is written quickly and runs slowly."""

HINTED_TYPES = ("char", "short", "int", "long", "half", "float", "double")
"""By their numbers in VecTypeHint."""

MAX_KERNELS = 16
"""How many kernels are kept as they were before they were specialised."""
NAME_CHARACTERS = 60
"""Of the name of a kernel, in what is shown while it is compiled."""


@light_dataclass()
class KernelCode:
    """One compiled variant of a kernel."""

    address: int
    local_bytes: int
    private_bytes: int
    saved_bytes: int
    keep: object
    has_loops: bool = True
    may_wait: bool = True
    writes_back: bool = False
    """Whether a range of groups ends with atomic operations that were put off until then."""
    formats: tuple[bytes, ...] = ()
    sites: tuple[dict[str, Any], ...] = ()
    """Where checkers may report something (`ir/site.py`)."""
    binary: bytes = b""
    width: int = 1
    """How many work-items run side by side, and how, as `target/shapes.py` counts."""
    other_widths: tuple[int, ...] = ()
    """With which it may be faster."""
    refills: bool = False
    """Whether free lanes take the next work-items of a range of groups."""
    lines: KernelLines | None = None
    """Where in the source it comes from, if that is known."""


class Written(NamedTuple):
    """A kernel as LLVM gets it."""

    code: Code
    description: Facts
    width: int
    """As asked for; 0: as it is best."""


class KernelCompiler:
    """Compiles the kernels of a program, each once."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._signatures: dict[str, Signature] = {}
        self._variants: dict[tuple[str, GroupSize, int], KernelCode] = {}
        self._checked: set[str] = set()
        self._kernels: dict[str, Kernel] = {}

    def kernel(self, name: str) -> Kernel:
        """A kernel before it is specialised to a group size. Whoever changes it changes a copy."""
        found = self._kernels.get(name)
        if found is None:
            from groundstate.compiler.llvm import service

            service.start()
            from groundstate.compiler import pipeline

            if len(self._kernels) >= MAX_KERNELS:
                self._kernels.clear()
            program = self.program
            runs_alone = name in (*program.initializers, *program.finalizers)
            checks = () if runs_alone else program.checks  # no launch collects what it reports
            found = self._kernels[name] = pipeline.lower(
                program.symbols, name, program.target, checks
            )
        return found

    # --- What is known of a kernel ----------------------------------------------------------------

    def signature(self, name: str) -> Signature:
        """What a caller needs to know of a kernel."""
        found = self._signatures.get(name)
        if found is None:
            found = self._signatures[name] = self._describe(name)
        return found

    def _describe(self, name: str) -> Signature:
        arguments, _ = describe_arguments(*self.program.function(name))
        modes = self.program.modes(name)
        required = modes.get(ExecutionMode.LocalSize)
        lanes = modes.get(ExecutionMode.SubgroupSize)
        size = (required[0], required[1], required[2]) if required else None
        attributes = [f"reqd_work_group_size({','.join(map(str, size))})"] if size else []
        hint = modes.get(ExecutionMode.LocalSizeHint)
        attributes += [f"work_group_size_hint({','.join(map(str, hint))})"] if hint else []
        vector = modes.get(ExecutionMode.VecTypeHint)
        attributes += [f"vec_type_hint({_vector_type(vector[0])})"] if vector else []
        attributes += [f"intel_reqd_sub_group_size({lanes[0]})"] if lanes else []
        end = max((each.offset + each.size for each in arguments), default=0)
        facts = self.facts(name)
        spirv = b"".join(source.spirv for source in self.program.sources)
        return Signature(
            name=name,
            arguments=arguments,
            block_bytes=-(-end // 16) * 16,
            required_group_size=size,
            subgroup_size=lanes[0] if lanes else self._subgroup_size(facts["furthest_lane"]),
            local_bytes=facts["local_bytes"],
            private_bytes=facts["private_bytes"],
            attributes=" ".join(attributes),
            uses_barriers=facts["uses_barriers"],
            loop_free=facts["loop_free"],
            may_wait=facts["may_wait"],
            unresolved=tuple(facts["unresolved"]),
            source_hash=hashlib.sha256(spirv).digest(),
            furthest_lane=facts["furthest_lane"],
        )

    def _subgroup_size(self, furthest_lane: int) -> int:
        """The size of sub-groups of which the kernel says no more than a lane that they have."""
        target = self.program.known_target
        larger = (each for each in target.subgroup_sizes if each > furthest_lane)
        return max(target.subgroup_size, min(larger, default=0))

    def facts(self, name: str) -> Facts:
        """What only the IR of a kernel tells. It is cached when the kernel has been checked."""
        known = self.program.cache.get(name)
        if known is not None:
            self._checked.add(name)
            return known[0]
        from groundstate.compiler.llvm import service

        service.start()  # before the imports, which take about as long
        from groundstate.compiler.analysis import facts as known_of
        from groundstate.compiler.analysis.waiting import may_wait

        try:
            kernel = self.kernel(name)
        except UnresolvedNameError as error:
            return {**UNKNOWN_FACTS, "unresolved": [error.name]}
        return {
            "local_bytes": place_variables(kernel, self.program.globals)[1],
            "private_bytes": known_of.private_bytes(kernel),
            "furthest_lane": known_of.furthest_lane(kernel),
            "uses_barriers": known_of.has_barriers(kernel),
            "loop_free": known_of.is_loop_free(kernel),
            "may_wait": may_wait(kernel),
            "unresolved": [],
        }

    def check(self, name: str) -> None:
        """Raises BuildError if a kernel has something that cannot be compiled."""
        refusals = self.program.refusals
        if name in refusals:
            raise RefusedError(describe({name: refusals[name]}))
        signature = self.signature(name)
        if name in self._checked or signature.unresolved:
            return
        from groundstate.compiler import pipeline

        pipeline.check(self.program, name)
        self._checked.add(name)
        facts = {each: getattr(signature, each) for each in UNKNOWN_FACTS}
        self.program.cache.put({**facts, "unresolved": []}, b"", name)

    # --- Code -----------------------------------------------------------------------------------

    def write(self, name: str, group_size: GroupSize, width: int | None = None) -> Code:
        """LLVM IR of a kernel for a group size; BuildError if it cannot be compiled."""
        from groundstate.compiler import pipeline

        self.check(name)
        return pipeline.write(self.program, name, group_size, width)

    def compile(self, name: str, group_size: GroupSize, width: int | None = None) -> KernelCode:
        """Machine code of a kernel for a group size."""
        key = (name, group_size, width or 0)
        found = self._variants.get(key)
        if found is None:
            found = self._variants[key] = self._preferred(self._variant(*key), *key)
        return found

    def compile_meanwhile(
        self,
        name: str,
        group_size: GroupSize,
        width: int,
        lock: AbstractContextManager[object],
        is_unwanted: Callable[[], bool],
    ) -> KernelCode:
        """As `compile`, while other threads use the program under the lock."""
        from groundstate.compiler.ir import deadline

        cache, key = self.program.cache, (name, *group_size, width)
        with deadline.abandoned_when(is_unwanted):
            with lock:
                known = cache.get(*key)
                written = self._written(name, group_size, width) if known is None else None
            if written is not None:
                known = self._translated(name, group_size, written)
            assert known is not None
            with lock:
                if written is not None:
                    cache.put(*known, *key)
                return self._loaded(name, *known)

    def _preferred(
        self, code: KernelCode, name: str, group_size: GroupSize, width: int
    ) -> KernelCode:
        """The code that an earlier process found to be faster, if there is any."""
        wanted = self.program.cache.preferred(name, *group_size) if code.other_widths else 0
        if width or wanted not in code.other_widths:
            return code
        if not self.is_compiled(name, group_size, wanted):
            return code
        rest = (each for each in code.other_widths if each != wanted)
        found = self._variant(name, group_size, wanted)
        return replace(found, other_widths=(code.width, *rest))

    def is_compiled(self, name: str, group_size: GroupSize, width: int) -> bool:
        """True if code for so many work-items side by side can be had without compiling."""
        return self.program.cache.get(name, *group_size, width) is not None

    def _variant(self, name: str, group_size: GroupSize, width: int) -> KernelCode:
        cache, key = self.program.cache, (name, *group_size, width)
        known = cache.get(*key)
        if known is None:
            with Announced(f"compiling kernel {self._progress(name)}"):
                known = self._compile(name, group_size, width)
            cache.put(*known, *key)
        return self._loaded(name, *known)

    def _loaded(self, name: str, description: Facts, binary: bytes) -> KernelCode:
        loaded = load(binary)
        signature, widths = self.signature(name), description.get("widths", [])
        return KernelCode(
            address=loaded.address,
            local_bytes=signature.local_bytes,
            private_bytes=description["private_bytes"],
            saved_bytes=description["saved_bytes"],
            keep=loaded,
            has_loops=not signature.loop_free,
            may_wait=signature.may_wait,
            writes_back=description.get("writes_back", False) is True,
            formats=tuple(map(bytes.fromhex, description["formats"])),
            sites=tuple(description.get("sites", ())),
            binary=binary,
            width=next(iter(widths), 1),
            other_widths=tuple(widths[1:]),
            refills=description.get("refills", False) is True,
            lines=self._lines(name, description, binary, loaded.address),
        )

    def _lines(
        self, name: str, description: Facts, binary: bytes, address: int
    ) -> KernelLines | None:
        """Where in the source code comes from that is in memory now, if that is known."""
        locations = description.get("locations")
        if not locations:
            return None
        from groundstate.compiler.program import debug_image, source_lines

        table = debug_image.line_table(debug_image.Code(name, binary, address))
        return source_lines.KernelLines(name, locations, table, self.texts)

    @cached_property
    def texts(self) -> SourceTexts:
        """The source, for excerpts."""
        from groundstate.compiler.program.source_lines import SourceTexts

        return SourceTexts(self.program.modules)

    def _compile(self, name: str, group_size: GroupSize, width: int) -> tuple[Facts, bytes]:
        return self._translated(name, group_size, self._written(name, group_size, width))

    @property
    def _is_optimised(self) -> bool:
        return UNOPTIMISED.isdisjoint(self.program.options.split())

    def _written(self, name: str, group_size: GroupSize, width: int) -> Written:
        from groundstate.compiler import pipeline

        others: list[int] = []
        if not width and self._is_optimised:
            self.check(name)
            width, *others = pipeline.shapes_of(self.program, name, group_size) or (0,)
        code = self.write(name, group_size, width or None)
        description = {
            "private_bytes": code.private_bytes,
            "saved_bytes": code.saved_bytes,
            "writes_back": code.writes_back,
            "refills": code.refills,
            "formats": [each.hex() for each in code.formats],
            "widths": [code.shape, *others],
        }
        if code.sites:
            description["sites"] = code.sites
        if code.locations:
            description["locations"] = code.locations
        return Written(code, description, width)

    def _translated(
        self, name: str, group_size: GroupSize, written: Written
    ) -> tuple[Facts, bytes]:
        from groundstate.compiler.llvm import service

        code, description, width = written
        try:
            return description, service.object_code(code.text, code.lanes, self._is_optimised)
        except WrongIrError as problem:
            from groundstate.compiler import pipeline
            from groundstate.compiler.llvm import diagnose

            marked = pipeline.write(self.program, name, group_size, width or None, is_marked=True)
            raise BuildError(diagnose.explained(name, marked)) from problem
        except BuildError as problem:
            raise BuildError(f"kernel '{name}' cannot be compiled: {problem}") from problem

    def _progress(self, name: str) -> str:
        """A kernel, and which one of those that the program has is compiled now."""
        names = self.program.kernel_names
        shown = name if len(name) <= NAME_CHARACTERS else name[: NAME_CHARACTERS - 3] + "..."
        if name not in names:
            return shown  # one that initialises variables
        compiled = {each for each, _, _ in self._variants if each in names} - {name}
        return f"{shown} ({len(compiled) + 1} of {len(names)})"


def _vector_type(hint: int) -> str:
    """The type that VecTypeHint names by a number: how many of what."""
    count, kind = hint >> 16, hint & 0xFFFF
    name = HINTED_TYPES[kind] if kind < len(HINTED_TYPES) else str(kind)
    return f"{name}{count}" if count > 1 else name


def load(binary: bytes) -> object_loader.Loaded | Linked:
    """The code of an object file, ready to run."""
    loaded = object_loader.load(binary)
    if loaded is not None:
        return loaded
    from groundstate.compiler.llvm import service

    return service.link(binary)
