"""Linking modules that use each other's functions and variables, and looking at what they share.

Modules that are linked become parts of one program, and share its program-scope variables.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from groundstate import ze
from groundstate.driver import build_log
from groundstate.driver.api import Failure, handler, read_pointer
from groundstate.driver.module import Module, of_handle, share_variables

TYPE_CHECKING = False  # as in platform.py
if TYPE_CHECKING:
    from groundstate.compiler.program import Program


def _modules(count: int, array: int) -> list[Module]:
    return [of_handle(read_pointer(array + 8 * index)) for index in range(count)]


def _own(module: Module) -> Program:
    """What the module was built from, before it was linked."""
    return module.parts[0]


def _needs_others(module: Module) -> bool:
    """True if functions of other modules may be called from a module, by name or by pointer."""
    return bool(_own(module).imports) or _own(module).calls_pointers


def _providers(modules: Sequence[Module], name: str) -> list[int]:
    """Which of the modules define a symbol, as places in the list."""
    return [place for place, module in enumerate(modules) if name in _own(module).exports]


def _problems(modules: Sequence[Module]) -> Iterable[str]:
    """A line for each import that cannot be resolved, or can in more than one way."""
    for place, module in enumerate(modules):
        for name in () if module.is_linked else _own(module).imports:
            found = _providers(modules, name)
            if not found:
                yield f"error: module {place} imports {name!r}, which no module of the list exports"
            elif len(found) > 1:
                by = " and ".join(f"module {provider}" for provider in found)
                yield f"error: module {place} imports {name!r}, which is ambiguous: {by} export it"


def _fixed_variables(modules: Sequence[Module]) -> Iterable[str]:
    """A line for each module whose variables lie where linking cannot include them any more."""
    for place, module in enumerate(modules):
        if module.variables:
            yield (
                f"error: the variables of module {place} are in use already; link modules before "
                "creating kernels from them or asking for their global pointers"
            )


def _link(modules: Sequence[Module]) -> None:
    """Links modules into one program, and those that were linked with one of them before.

    A module that needs nothing of the others stays as it is, unless there are variables to share.
    """
    from groundstate.compiler.program import Program

    family = {other.handle: other for module in modules for other in list(module.sharers)}
    parts = {id(part): part for module in family.values() for part in module.parts}
    linked = Program.link(list(parts.values()))
    for module in family.values():
        own = _own(module)
        if not linked.globals_bytes and (module.is_linked or not _needs_others(module)):
            continue
        module.program = linked
        module.parts = (own, *(part for part in parts.values() if part is not own))
        module.is_linked = True
    if linked.globals_bytes:
        share_variables(list(family.values()))


@handler
def zeModuleDynamicLink(numModules: int, phModules: int, phLinkLog: int) -> None:
    from groundstate.compiler.errors import BuildError

    modules = _modules(numModules, phModules)
    others = len(modules) > 1
    problems = list(_problems(modules))
    pending = [
        module
        for module in modules
        if not module.is_linked and (_own(module).imports or (others and _needs_others(module)))
    ]
    if not problems and pending:
        problems = list(_fixed_variables(modules))
    if not problems and pending:
        try:
            _link(modules)
        except BuildError as problem:
            problems = [problem.log]
    build_log.write(phLinkLog, problems)
    if problems:
        raise Failure(ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE, problems[0])


@handler
def zeModuleInspectLinkageExt(
    pInspectDesc: int, numModules: int, phModules: int, phLog: int
) -> None:
    modules = _modules(numModules, phModules)
    flags = ze.ze_linkage_inspection_ext_desc_t.from_address(pInspectDesc).flags
    everything = (
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS
        | ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS
        | ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS
    )
    flags = flags or everything
    lines: list[str] = []
    if flags & ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS:
        lines += ["imports:", *_imports(modules, unresolvable_only=False)]
    if flags & ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS:
        lines += ["unresolvable imports:", *_imports(modules, unresolvable_only=True)]
    if flags & ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS:
        lines += ["exports:", *_exports(modules)]
    build_log.write(phLog, lines)


def _imports(modules: Sequence[Module], *, unresolvable_only: bool) -> Iterable[str]:
    for place, module in enumerate(modules):
        for name in _own(module).imports:
            if not unresolvable_only or not _providers(modules, name):
                yield f"  module {place}: {name}"


def _exports(modules: Sequence[Module]) -> Iterable[str]:
    for place, module in enumerate(modules):
        for name, kind in _own(module).exports.items():
            yield f"  module {place}: {name} ({kind})"
