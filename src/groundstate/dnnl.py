"""The C functions of oneDNN under their C names, as `libgroundstate_dnnl.so.3` exports them.

They take handles and addresses as ints, `None`, `ctypes.byref(...)` or ctypes arrays, and return
what C returns: a status as an int, mostly. The enumerators and the numbers of arguments have their
C names, too.

>>> import ctypes
>>> from groundstate import dnnl
>>> engine = ctypes.c_void_p()
>>> dnnl.dnnl_engine_create(ctypes.byref(engine), dnnl.dnnl_gpu, 0) == dnnl.dnnl_success
True
>>> dnnl.dnnl_engine_create(None, dnnl.dnnl_gpu, 0) == dnnl.dnnl_invalid_arguments
True
>>> dnnl.groundstate_dnnl_last_error().decode()
'dnnl_engine_create: a pointer is null that must not be (dnnl_invalid_arguments)'
>>> dnnl.dnnl_engine_destroy(engine)
0
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import shlex
import sys
from collections.abc import Sequence
from functools import cache
from typing import Any

from groundstate.dnn import constants, declarations, native

DNNL_MEMORY_NONE = None
DNNL_MEMORY_ALLOCATE = ctypes.c_void_p(-1).value
DNNL_MAX_NDIMS = 12
DNNL_RUNTIME_DIM_VAL = -(1 << 63)

dnnl_dims_t = ctypes.c_int64 * DNNL_MAX_NDIMS
dnnl_exec_arg_t = native.Passed

_NUMBERS = {
    "int": ctypes.c_int,
    "int32_t": ctypes.c_int32,
    "unsigned": ctypes.c_uint,
    "size_t": ctypes.c_size_t,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "dnnl_dim_t": ctypes.c_int64,
}


def include_folder() -> str:
    """Where the header groundstate/dnnl.h is, for a C compiler's -I."""
    return os.path.join(os.path.dirname(os.path.abspath(__file__)), "include")


def library_path() -> str:
    """Where the shared library is, for a linker."""
    return native.path()


def compiler_flags() -> str:
    """What a C compiler needs to find the header."""
    return f"-I{shlex.quote(include_folder())}"


def linker_flags() -> str:
    """What links a program with the library, and lets it find the library when it runs."""
    path = library_path()
    return f"{shlex.quote(path)} {shlex.quote('-Wl,-rpath,' + os.path.dirname(path))}"


def _parameter_type(parameter: str) -> Any:
    match = re.fullmatch(r"(?:const )?(\w+)( const)? ?(\**)\w+", parameter)
    if match is None or match[3] or match[1] == "dnnl_dims_t":
        return ctypes.c_void_p
    return _simple_type(match[1])


def _simple_type(name: str) -> Any:
    if name in _NUMBERS:
        return _NUMBERS[name]
    return ctypes.c_int if constants.is_enumeration(name) else ctypes.c_void_p


def _return_type(text: str) -> Any:
    if text == "const char *":
        return ctypes.c_char_p
    return ctypes.c_void_p if text.endswith("*") else _simple_type(text)


@cache
def _function(name: str) -> Any:
    parameters, _, returns = declarations.FUNCTIONS[name].partition(" -> ")
    function = native.library()[name]
    function.argtypes = [_parameter_type(each) for each in parameters.split(", ") if each]
    function.restype = _return_type(returns)
    return function


def __getattr__(name: str) -> Any:
    if name in declarations.FUNCTIONS:
        return _function(name)
    value = constants.value_of(name)
    if value is None:
        raise AttributeError(f"the API has no {name!r}")
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *declarations.FUNCTIONS, *constants.names()})


def _main(arguments: Sequence[str] | None = None) -> int:
    """Prints flags for a C compiler, as pkg-config does."""
    parser = argparse.ArgumentParser(
        prog="python -m groundstate.dnnl",
        description="Prints what a C compiler needs to build programs with the neural-network "
        "primitives.",
        epilog="example:\n  cc program.c $(python -m groundstate.dnnl --cflags --libs) -o program",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--cflags", action="store_true", help="where the header is")
    parser.add_argument("--libs", action="store_true", help="what to link with")
    args = parser.parse_args(arguments)
    if not (args.cflags or args.libs):
        parser.error("name --cflags, --libs or both")
    wanted = [compiler_flags()] * args.cflags + [linker_flags()] * args.libs
    print(*wanted)
    return 0


if __name__ == "__main__":
    sys.exit(_main())
