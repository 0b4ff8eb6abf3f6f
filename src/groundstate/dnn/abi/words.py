"""What is asked for as text: names of values, the version."""

from __future__ import annotations

import ctypes
from enum import IntEnum
from functools import cache

from groundstate.dnn import declarations, layout
from groundstate.dnn import types as t
from groundstate.dnn.abi.api import HANDLERS, handler
from groundstate.dnn.errors import require, support

_NAMED: dict[str, type[IntEnum]] = {
    "dnnl_status2str": t.Status,
    "dnnl_dt2str": t.DataType,
    "dnnl_fpmath_mode2str": t.FpmathMode,
    "dnnl_accumulation_mode2str": t.AccumulationMode,
    "dnnl_engine_kind2str": t.EngineKind,
    "dnnl_sparse_encoding2str": t.SparseEncoding,
    "dnnl_prop_kind2str": t.PropKind,
    "dnnl_prim_kind2str": t.PrimitiveKind,
    "dnnl_alg_kind2str": t.Algorithm,
    "dnnl_rnn_direction2str": t.RnnDirection,
    "dnnl_scratchpad_mode2str": t.ScratchpadMode,
    "dnnl_rounding_mode2str": t.RoundingMode,
    "dnnl_quantization_mode2str": t.QuantizationMode,
    "dnnl_fmt_kind2str": t.FormatKind,
}

_LEVEL_ZERO_RUNTIME = 1 << 11


@cache
def _text(text: str) -> ctypes.Array[ctypes.c_char]:
    """A string that C may keep for ever."""
    return ctypes.create_string_buffer(text.encode())


def _name(kind: type[IntEnum], value: int) -> str:
    try:
        name = kind(value).name
    except ValueError:
        return "unknown"
    if name in ("data_type_undef", "alg_kind_undef", "prop_kind_undef", "undefined_primitive"):
        return "undef"
    return {"any_engine": "any"}.get(name, name)


def _naming(kind: type[IntEnum]) -> None:
    def name_of(value: int) -> int:
        return ctypes.addressof(_text(_name(kind, value)))

    for function, named in _NAMED.items():
        if named is kind:
            HANDLERS[function] = name_of


for _kind in set(_NAMED.values()):
    _naming(_kind)


@handler
def dnnl_fmt_tag2str(v: int) -> int:
    name = layout.tag_name(v).removeprefix("format_tag_") or "unknown"
    return ctypes.addressof(_text(name))


@handler
def dnnl_rnn_flags2str(v: int) -> int:
    names = {0: "undef", 1: "rnn_flags_diff_weights_overwrite"}
    return ctypes.addressof(_text(names.get(v, "unknown")))


@handler
def dnnl_runtime2str(v: int) -> int:
    return ctypes.addressof(_text({0: "none", _LEVEL_ZERO_RUNTIME: "ze"}.get(v, "unknown")))


class _Version(ctypes.Structure):
    _fields_ = (
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    )


@cache
def _version() -> _Version:
    major, minor = map(int, declarations.VERSION.split("."))
    return _Version(major, minor, 0, b"groundstate", 0, _LEVEL_ZERO_RUNTIME)


@handler
def dnnl_version() -> int:
    return ctypes.addressof(_version())


@handler
def dnnl_set_verbose(level: int) -> None:
    require(0 <= level <= 2, "the levels are 0, 1 and 2")
    support(level == 0, "this library prints nothing; profile a stream instead")
