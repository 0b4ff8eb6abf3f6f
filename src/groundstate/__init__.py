"""Level Zero for every machine: a driver whose device is the CPU you have.

>>> import groundstate as gs
>>> x = gs.array([1, 2, 3, 4], "float32")
>>> source = "kernel void square(global float *x) { int i = get_global_id(0); x[i] *= x[i]; }"
>>> gs.Module(opencl=source)["square"].launch(x, global_size=4)
>>> x.tolist()
[1.0, 4.0, 9.0, 16.0]

The objects are in `groundstate.core`, which is imported when one of them is first used: the driver
imports this package too, inside programs that have nothing to do with Python, and needs none of
them. The exceptions are in `groundstate.errors`. The C API itself, name by name, is in
`groundstate.ze`, `zes`, `zet` and `zer`.
"""

from groundstate.version import __version__ as __version__

_FUNCTIONS = ("array", "default_context", "devices", "drivers", "sysman_devices")


def __getattr__(name: str) -> object:
    if name == "errors":
        import importlib

        return importlib.import_module("groundstate.errors")
    if name == "profile":
        from groundstate.profiler.session import profile

        return profile
    # Submodules are asked for here before they are imported, and must not bring in the core.
    if not name[:1].isupper() and name not in _FUNCTIONS and name != "__all__":
        raise AttributeError(f"module 'groundstate' has no attribute {name!r}")
    from groundstate import core

    if name == "__all__":
        return ["__version__", "errors", "profile", *core.__all__]
    # Exceptions were listed here once; programs that use them by these names go on working.
    value: object = getattr(core, name, None) or getattr(core.errors, name, None)
    if value is None:
        raise AttributeError(f"module 'groundstate' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    from groundstate import core

    return sorted({"__version__", "errors", "profile", *core.__all__})
