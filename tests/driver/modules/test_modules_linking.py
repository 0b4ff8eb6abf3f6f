"""Modules that use each other: linking them, and looking at what they share."""

import ctypes
from typing import Any

from groundstate import ze
from tests.conftest import check, last_error
from tests.driver.kernels import KernelBench, launch
from tests.driver.modules.test_modules import IMAGE, VARIABLES, global_pointer, properties, read_log
from tests.driver.support import finish, handles, view


def link(*modules: int) -> tuple[int, str]:
    """Links modules; the result and the log."""
    log = ctypes.c_void_p()
    result = ze.zeModuleDynamicLink(len(modules), handles(*modules), ctypes.byref(log))
    assert log.value is not None, "a log that was asked for is always made"
    text = read_log(log.value)
    check(ze.zeModuleBuildLogDestroy(log.value))
    return result, text


def inspect(flags: int, *modules: int) -> str:
    log = ctypes.c_void_p()
    description = ze.ze_linkage_inspection_ext_desc_t(flags=flags)
    check(
        ze.zeModuleInspectLinkageExt(
            ctypes.byref(description), len(modules), handles(*modules), ctypes.byref(log)
        )
    )
    assert log.value is not None
    text = read_log(log.value)
    check(ze.zeModuleBuildLogDestroy(log.value))
    return text


def create_kernel(module: int, name: str) -> int:
    handle = ctypes.c_void_p()
    description = ze.ze_kernel_desc_t(pKernelName=name.encode())
    result = ze.zeKernelCreate(module, ctypes.byref(description), ctypes.byref(handle))
    if handle.value:
        check(ze.zeKernelDestroy(handle.value))
    return int(result)


def importer(kernels: KernelBench, *names: str, **fields: Any) -> int:
    """A module whose kernel "tally" uses what it imports."""
    return kernels.module("tally", imports=names, unresolved={"tally": names}, **fields)


def exporter(kernels: KernelBench, *names: str, **fields: Any) -> int:
    return kernels.module(exports=dict.fromkeys(names, "function"), **fields)


def test_kernel_with_missing_import_is_refused(kernels: KernelBench) -> None:
    module = importer(kernels, "helper")
    assert create_kernel(module, "tally") == ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
    assert "helper" in last_error()
    assert "zeModuleDynamicLink" in last_error()


def test_kernel_not_using_imports_is_created(kernels: KernelBench) -> None:
    module = kernels.module("empty", imports=["helper"])
    assert create_kernel(module, "empty") == ze.ZE_RESULT_SUCCESS


def test_linking_resolves_imports(kernels: KernelBench) -> None:
    module, library = importer(kernels, "helper"), exporter(kernels, "helper")
    assert link(module, library) == (ze.ZE_RESULT_SUCCESS, "")
    counter, commands = kernels.array(1), kernels.immediate()
    launch(commands, kernels.kernel_in(module, "tally", counter, size=(2, 1, 1)), 3)
    finish(commands)
    assert counter[0] == 6
    assert properties(module).flags == ze.ZE_MODULE_PROPERTY_FLAG_IMPORTS


def test_a_log_of_linking_is_optional(kernels: KernelBench) -> None:
    modules = importer(kernels, "helper"), exporter(kernels, "helper")
    check(ze.zeModuleDynamicLink(2, handles(*modules), None))


def test_missing_symbols_are_named(kernels: KernelBench) -> None:
    module, library = importer(kernels, "here", "gone", "lost"), exporter(kernels, "here")
    result, log = link(module, library)
    assert result == ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    assert "'gone'" in log
    assert "'lost'" in log
    assert "'here'" not in log
    assert create_kernel(module, "tally") == ze.ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED


def test_an_ambiguous_symbol_is_refused(kernels: KernelBench) -> None:
    libraries = [exporter(kernels, "helper") for _ in range(2)]
    result, log = link(importer(kernels, "helper"), *libraries)
    assert result == ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    assert "ambiguous: module 1 and module 2" in log


def test_modules_may_need_each_other(kernels: KernelBench) -> None:
    one = importer(kernels, "b", exports={"a": "function"})
    other = importer(kernels, "a", exports={"b": "function"})
    assert link(one, other)[0] == ze.ZE_RESULT_SUCCESS
    assert create_kernel(one, "tally") == ze.ZE_RESULT_SUCCESS
    assert create_kernel(other, "tally") == ze.ZE_RESULT_SUCCESS


def test_imports_are_linked_once(kernels: KernelBench) -> None:
    """A linked module does not mind a second definition in a later link."""
    module, library = importer(kernels, "helper"), exporter(kernels, "helper")
    assert link(module, library)[0] == ze.ZE_RESULT_SUCCESS
    second, rival = importer(kernels, "other"), exporter(kernels, "other", "helper")
    assert link(module, library, second, rival)[0] == ze.ZE_RESULT_SUCCESS
    assert create_kernel(second, "tally") == ze.ZE_RESULT_SUCCESS


def test_modules_without_imports_need_no_linking(kernels: KernelBench) -> None:
    assert link(kernels.module("add"), kernels.module("empty")) == (ze.ZE_RESULT_SUCCESS, "")


def test_linked_modules_share_variables(kernels: KernelBench) -> None:
    owner = kernels.module(exports={"ticks": "variable"}, variables=VARIABLES, image=IMAGE)
    user = kernels.module("bump", imports=["ticks"], unresolved={"bump": ["ticks"]})
    assert link(user, owner)[0] == ze.ZE_RESULT_SUCCESS
    place, _ = global_pointer(owner, b"ticks")
    assert global_pointer(user, b"ticks")[0] == place
    out, commands = kernels.array(3, "uint32"), kernels.immediate()
    launch(commands, kernels.kernel_in(user, "bump", out, size=(1, 1, 1)), 3)
    finish(commands)
    assert view(place, 4).view("uint32")[0] == 8


def test_variables_outlive_their_defining_module(kernels: KernelBench) -> None:
    owner = kernels.module(exports={"ticks": "variable"}, variables=VARIABLES, image=IMAGE)
    user = kernels.module("bump", imports=["ticks"], unresolved={"bump": ["ticks"]})
    assert link(user, owner)[0] == ze.ZE_RESULT_SUCCESS
    kernels.end(owner)
    out, commands = kernels.array(1, "uint32"), kernels.immediate()
    launch(commands, kernels.kernel_in(user, "bump", out, size=(1, 1, 1)), 1)
    finish(commands)
    assert out[0] == 5


def test_relinked_unused_library_has_one_variable(
    kernels: KernelBench,
) -> None:
    owner = kernels.module(exports={"ticks": "variable"}, variables=VARIABLES, image=IMAGE)
    users = [
        kernels.module("bump", imports=["ticks"], unresolved={"bump": ["ticks"]}) for _ in range(2)
    ]
    for user in users:
        assert link(user, owner)[0] == ze.ZE_RESULT_SUCCESS
    places = {global_pointer(module, b"ticks")[0] for module in (owner, *users)}
    assert len(places) == 1


def test_variables_that_are_in_use_cannot_move(kernels: KernelBench) -> None:
    owner = kernels.module(exports={"ticks": "variable"}, variables=VARIABLES, image=IMAGE)
    global_pointer(owner, b"ticks")
    user = kernels.module("bump", imports=["ticks"], unresolved={"bump": ["ticks"]})
    result, log = link(user, owner)
    assert result == ze.ZE_RESULT_ERROR_MODULE_LINK_FAILURE
    assert "variables of module 1 are in use" in log


def test_linkage_is_listed(kernels: KernelBench) -> None:
    module = importer(kernels, "f", "v", "lost")
    library = kernels.module(exports={"f": "function", "v": "variable"})
    imports = ["imports:", "  module 0: f", "  module 0: v", "  module 0: lost"]
    unresolvable = ["unresolvable imports:", "  module 0: lost"]
    exports = ["exports:", "  module 1: f (function)", "  module 1: v (variable)"]
    kinds = {
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_IMPORTS: imports,
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_UNRESOLVABLE_IMPORTS: unresolvable,
        ze.ZE_LINKAGE_INSPECTION_EXT_FLAG_EXPORTS: exports,
        0: imports + unresolvable + exports,
    }
    for flags, expected in kinds.items():
        assert inspect(flags, module, library).splitlines() == expected
