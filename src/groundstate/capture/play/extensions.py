"""What a library has besides the functions that it exports, and whether it is our own driver."""

from __future__ import annotations

import ctypes
from typing import Any

from groundstate import _raw, ze


def extension_function(library: _raw.Library, name: str) -> Any | None:
    """A function that the first driver of a library hands out; None if there is none."""
    one, driver, address = ctypes.c_uint32(1), ctypes.c_void_p(), ctypes.c_void_p()
    if library.zeDriverGet(ctypes.byref(one), ctypes.byref(driver)) != ze.ZE_RESULT_SUCCESS:
        return None
    text = ctypes.create_string_buffer(name.encode())
    ask = library.zeDriverGetExtensionFunctionAddress
    if ask(driver, text, ctypes.byref(address)) != ze.ZE_RESULT_SUCCESS or not address.value:
        return None
    declaration = _raw.namespace_of(name).functions[name]
    parameters, _, returns = declaration.partition(" -> ")
    types = [_raw._argument_type(each) for each in parameters.split(", ") if each]
    made = ctypes.CFUNCTYPE(_raw.c_type(f"{returns or 'ze_result_t'} _"), *types)
    return made(address.value)


def is_our_driver(library: _raw.Library) -> bool:
    """Whether a library is the driver of this package itself, with no loader before it."""
    try:
        library.find("gs_share_python")
    except _raw.MissingFunctionError:
        return False
    return True
