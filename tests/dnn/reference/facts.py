"""The numbers of oneDNN that the judge uses: apart from ours, so that ours are checked, too."""

from __future__ import annotations

SUCCESS = 0
OUT_OF_MEMORY = 1
INVALID_ARGUMENTS = 2
UNIMPLEMENTED = 3
STATUS_NAMES = {
    0: "success",
    1: "out_of_memory",
    2: "invalid_arguments",
    3: "unimplemented",
    4: "last_impl_reached",
    5: "runtime_error",
    6: "not_required",
    7: "invalid_graph",
    8: "invalid_graph_op",
    9: "invalid_shape",
    10: "invalid_data_type",
}

ENGINE_KINDS = {"any": 0, "cpu": 1, "gpu": 2}
DATA_TYPES = {"undef": 0, "f16": 1, "bf16": 2, "f32": 3, "s32": 4, "s8": 5, "u8": 6, "f64": 7}
PROPAGATION = {
    "training": 64,
    "inference": 96,
    "backward": 128,
    "backward_data": 160,
    "backward_weights": 192,
}
DIRECTIONS = {"left2right": 1, "right2left": 2, "concat": 3, "sum": 4}
NORMALIZATION_FLAGS = {"global_stats": 1, "scale": 2, "shift": 4, "relu": 8, "rms": 32}
FPMATH = {"strict": 0, "bf16": 1, "f16": 2, "any": 3, "tf32": 4}

ELTWISE = {
    "relu": 0x20,
    "tanh": 0x21,
    "elu": 0x22,
    "square": 0x23,
    "abs": 0x24,
    "sqrt": 0x25,
    "linear": 0x26,
    "soft_relu": 0x27,
    "hardsigmoid": 0x28,
    "logistic": 0x29,
    "exp": 0x2A,
    "gelu_tanh": 0x2B,
    "swish": 0x2C,
    "log": 0x2D,
    "clip": 0x2E,
    "clip_v2": 0x2F,
    "pow": 0x30,
    "gelu_erf": 0x31,
    "round": 0x32,
    "mish": 0x33,
    "hardswish": 0x34,
    "relu_dst": 0x100,
    "tanh_dst": 0x101,
    "elu_dst": 0x102,
    "sqrt_dst": 0x103,
    "logistic_dst": 0x104,
    "exp_dst": 0x105,
    "clip_v2_dst": 0x106,
}
BINARY = {
    name: 0x1FFF0 + index
    for index, name in enumerate(
        ("add", "mul", "max", "min", "div", "sub", "ge", "gt", "le", "lt", "eq", "ne", "select")
    )
}
REDUCTION = {
    name: 0x2FFF2 + index
    for index, name in enumerate(
        (
            "max",
            "min",
            "sum",
            "mul",
            "mean",
            "norm_lp_max",
            "norm_lp_sum",
            "norm_lp_power_p_max",
            "norm_lp_power_p_sum",
        )
    )
}
POOLING = {"max": 0x1FF, "avg_include": 0x2FF, "avg_exclude": 0x3FF}
RESAMPLING = {"nearest": 0x2FFF0, "linear": 0x2FFF1}
SOFTMAX = {"accurate": 0x30000, "log": 0x30001}
LRN = {"across": 0xAFF, "within": 0xBFF}
CONVOLUTION_DIRECT = 1
DECONVOLUTION_DIRECT = 0xA

TAG_ANY = 1
# Blocked layouts: one for each rank from 3 to 5, and those of weights.
BLOCKED_TAGS = {
    "aBc4b": 60,
    "aBc8b": 69,
    "aBc16b": 56,
    "aBcd4b": 84,
    "aBcd8b": 102,
    "aBcd16b": 78,
    "aBcde4b": 128,
    "aBcde8b": 142,
    "aBcde16b": 121,
    "ABc16b16a": 57,
    "ABcd8b8a": 107,
    "ABcd16b16a": 79,
}

ARGUMENTS = {
    "src": 1,
    "src_1": 2,
    "src_2": 3,
    "dst": 17,
    "dst_1": 18,
    "dst_2": 19,
    "weights": 33,
    "weights_1": 34,
    "weights_2": 35,
    "weights_3": 36,
    "bias": 41,
    "mean": 49,
    "variance": 50,
    "scale": 51,
    "shift": 52,
    "workspace": 64,
    "scratchpad": 80,
    "diff_src": 129,
    "diff_src_1": 130,
    "diff_src_2": 131,
    "diff_dst": 145,
    "diff_dst_1": 146,
    "diff_dst_2": 147,
    "diff_weights": 161,
    "diff_weights_1": 162,
    "diff_weights_2": 163,
    "diff_weights_3": 164,
    "diff_bias": 169,
    "diff_scale": 255,
    "diff_shift": 256,
}
MULTIPLE_SRC = 1024
ATTR_SCALES = 4096
ATTR_ZERO_POINTS = 8192
ATTR_POST_OP = 32768


def argument(name: str) -> int:
    """The number of an argument by its short name; `multiple_3` is the fourth of many sources."""
    if name.startswith("multiple_"):
        return MULTIPLE_SRC + int(name.removeprefix("multiple_"))
    return ARGUMENTS[name]


QUERY_EXEC_ARG_MD = 255
QUERY_WORKSPACE_MD = 135
QUERY_SCRATCHPAD_MD = 136
QUERY_NDIMS = 256
QUERY_DIMS = 257
QUERY_DATA_TYPE = 258
QUERY_OFFSET = 259
QUERY_PADDED_DIMS = 260
QUERY_FORMAT_KIND = 262
QUERY_INNER_COUNT = 263
QUERY_INNER_BLOCKS = 264
QUERY_INNER_INDICES = 265
QUERY_STRIDES = 14
FORMAT_BLOCKED = 2
SCRATCHPAD_USER = 1
MAX_NDIMS = 12
RUNTIME_DIM = -(2**63)
MEMORY_ALLOCATE = 2**64 - 1
