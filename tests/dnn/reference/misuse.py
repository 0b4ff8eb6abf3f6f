"""Calls with arguments that are wrong on their own: null pointers, unknown values, bad sizes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from typing import Any

from tests.dnn.reference import facts
from tests.dnn.reference.client import Run, Session
from tests.dnn.reference.layouts import Dims
from tests.dnn.reference.problem import ANY, Problem, Tensor

NULL = ctypes.c_void_p()
F32, ABCD = facts.DATA_TYPES["f32"], 5
Case = Callable[["Bench"], int]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    """Adds a case under the name of its function."""
    CASES[function.__name__] = function
    return function


class Bench:
    """A session, and what a case makes on the way."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.run = Run(session, Problem("", {}, ()))

    def __call__(self, name: str, *arguments: Any) -> int:
        return int(getattr(self.session.functions, f"dnnl_{name}")(*arguments))

    def out(self) -> Any:
        """Where a new handle goes."""
        return ctypes.byref(ctypes.c_void_p())

    def md(self, *dims: int, dtype: str = "f32") -> ctypes.c_void_p:
        return self.run.descriptor(Tensor(dims, dtype))

    def attr(self) -> ctypes.c_void_p:
        return self.run.make("dnnl_primitive_attr_destroy", "dnnl_primitive_attr_create")

    def post_ops(self) -> ctypes.c_void_p:
        return self.run.make("dnnl_post_ops_destroy", "dnnl_post_ops_create")

    def tagged(self, ndims: int, dims: list[int], dtype: int, tag: int) -> int:
        where = Dims(*dims) if dims else None
        made = ctypes.c_void_p()
        status = self(
            "memory_desc_create_with_tag",
            ctypes.byref(made),
            *(ctypes.c_int(ndims), where, ctypes.c_int(dtype), ctypes.c_int(tag)),
        )
        if status == facts.SUCCESS:
            self("memory_desc_destroy", made)
        return status


def status(session: Session, name: str) -> int:
    """What a library answers in a case."""
    bench = Bench(session)
    try:
        return CASES[name](bench)
    finally:
        bench.run.close()


def statuses(session: Session, names: list[str]) -> list[int]:
    """What a library answers in several cases."""
    return [status(session, name) for name in names]


def descriptor_statuses(session: Session, problems: list[Problem]) -> list[int]:
    """What a library answers when descriptors of problems are created."""
    return [session.run(problem).status for problem in problems]


# --- Memory descriptors -----------------------------------------------------------------------

TAGGED: dict[str, tuple[int, list[int], int, int]] = {
    "negative_dim": (4, [2, -3, 4, 5], F32, ABCD),
    "runtime_dim": (4, [2, -(2**63), 4, 5], F32, ABCD),
    "negative_rank": (-1, [2], F32, 2),
    "rank_zero": (0, [2], F32, 2),
    "rank_too_high": (13, [1] * 12, F32, 2),
    "undefined_type": (4, [2, 3, 4, 5], 0, ABCD),
    "unknown_type": (4, [2, 3, 4, 5], 99, ABCD),
    "undefined_tag": (4, [2, 3, 4, 5], F32, 0),
    "unknown_tag": (4, [2, 3, 4, 5], F32, 30000),
    "tag_of_another_rank": (2, [2, 3], F32, ABCD),
    "tag_of_a_lower_rank": (5, [2, 3, 4, 5, 6], F32, ABCD),
    "no_dims": (4, [], F32, ABCD),
    "zero_dim": (4, [2, 0, 4, 5], F32, ABCD),
    "any": (4, [2, 3, 4, 5], F32, facts.TAG_ANY),
    "any_without_type": (4, [2, 3, 4, 5], 0, facts.TAG_ANY),
    "blocked": (4, [2, 3, 4, 5], F32, facts.BLOCKED_TAGS["aBcd16b"]),
    "huge_dim": (4, [2**31, 2**31, 2**20, 2], F32, ABCD),
}
for _label, _values in TAGGED.items():
    CASES[f"descriptor_{_label}"] = lambda bench, values=_values: bench.tagged(*values)  # type: ignore[misc]


def strided(bench: Bench, dims: list[int], strides: list[int] | None) -> int:
    made = ctypes.c_void_p()
    answer = bench(
        "memory_desc_create_with_strides",
        ctypes.byref(made),
        *(ctypes.c_int(len(dims)), Dims(*dims), ctypes.c_int(F32)),
        None if strides is None else Dims(*strides),
    )
    if answer == facts.SUCCESS:
        bench("memory_desc_destroy", made)
    return answer


STRIDED: dict[str, tuple[list[int], list[int] | None]] = {
    "none": ([2, 3], None),
    "negative": ([2, 3], [-3, 1]),
    "zero": ([2, 3], [0, 1]),
    "overlapping": ([4, 3], [2, 1]),
    "equal": ([4, 3], [1, 1]),
    "with_gaps": ([4, 3], [7, 2]),
    "of_a_size_of_one": ([1, 3], [1, 1]),
}
for _name, _parts in STRIDED.items():
    CASES[f"strides_{_name}"] = lambda bench, parts=_parts: strided(bench, *parts)  # type: ignore[misc]


@case
def descriptor_nowhere(bench: Bench) -> int:
    return bench(
        "memory_desc_create_with_tag",
        *(None, ctypes.c_int(2), Dims(2, 3), ctypes.c_int(F32), ctypes.c_int(3)),
    )


def part(bench: Bench, dims: list[int], offsets: list[int]) -> int:
    made = ctypes.c_void_p()
    answer = bench(
        "memory_desc_create_submemory",
        *(ctypes.byref(made), bench.md(4, 6), Dims(*dims), Dims(*offsets)),
    )
    if answer == facts.SUCCESS:
        bench("memory_desc_destroy", made)
    return answer


PARTS = {
    "inside": ([2, 3], [1, 2]),
    "outside": ([4, 6], [1, 0]),
    "negative_offset": ([2, 3], [-1, 0]),
    "negative_size": ([-2, 3], [0, 0]),
    "empty": ([0, 3], [0, 0]),
}
for _name, _sizes in PARTS.items():
    CASES[f"submemory_{_name}"] = lambda bench, sizes=_sizes: part(bench, *sizes)  # type: ignore[misc]


def reshaped(bench: Bench, dims: list[int]) -> int:
    made = ctypes.c_void_p()
    answer = bench(
        "memory_desc_reshape",
        *(ctypes.byref(made), bench.md(4, 6), ctypes.c_int(len(dims)), Dims(*dims)),
    )
    if answer == facts.SUCCESS:
        bench("memory_desc_destroy", made)
    return answer


for _name, _dims in {
    "split": [4, 2, 3],
    "joined": [24],
    "another_size": [4, 5],
    "negative": [-4, -6],
    "with_ones": [1, 4, 6, 1],
}.items():
    CASES[f"reshape_{_name}"] = lambda bench, dims=_dims: reshaped(bench, dims)  # type: ignore[misc]


def permuted(bench: Bench, order: list[int]) -> int:
    made = ctypes.c_void_p()
    numbers = (ctypes.c_int * len(order))(*order)
    answer = bench("memory_desc_permute_axes", ctypes.byref(made), bench.md(4, 6, 2), numbers)
    if answer == facts.SUCCESS:
        bench("memory_desc_destroy", made)
    return answer


for _name, _order in {
    "turned": [2, 0, 1],
    "twice_the_same": [0, 0, 1],
    "out_of_range": [0, 1, 3],
    "negative": [0, -1, 1],
}.items():
    CASES[f"permute_{_name}"] = lambda bench, order=_order: permuted(bench, order)  # type: ignore[misc]


@case
def query_unknown(bench: Bench) -> int:
    return bench("memory_desc_query", bench.md(2, 3), ctypes.c_int(9999), bench.out())


@case
def query_nowhere(bench: Bench) -> int:
    return bench("memory_desc_query", bench.md(2, 3), ctypes.c_int(facts.QUERY_NDIMS), None)


# --- Engines, streams and memory --------------------------------------------------------------


@case
def engine_nowhere(bench: Bench) -> int:
    return bench("engine_create", None, ctypes.c_int(1), ctypes.c_size_t(0))


@case
def engine_of_no_kind(bench: Bench) -> int:
    return bench("engine_create", bench.out(), ctypes.c_int(99), ctypes.c_size_t(0))


@case
def engine_beyond_the_last(bench: Bench) -> int:
    return bench("engine_create", bench.out(), ctypes.c_int(2), ctypes.c_size_t(1000))


@case
def engine_kind_of_none(bench: Bench) -> int:
    return bench("engine_get_kind", None, ctypes.byref(ctypes.c_int()))


@case
def engine_destroy_none(bench: Bench) -> int:
    return bench("engine_destroy", None)


@case
def stream_without_engine(bench: Bench) -> int:
    return bench("stream_create", bench.out(), None, ctypes.c_uint(1))


@case
def stream_nowhere(bench: Bench) -> int:
    return bench("stream_create", None, bench.session.engine, ctypes.c_uint(1))


@case
def stream_wait_for_none(bench: Bench) -> int:
    return bench("stream_wait", None)


@case
def stream_destroy_none(bench: Bench) -> int:
    return bench("stream_destroy", None)


@case
def memory_without_descriptor(bench: Bench) -> int:
    where = ctypes.c_void_p(facts.MEMORY_ALLOCATE)
    return bench("memory_create", bench.out(), None, bench.session.engine, where)


@case
def memory_without_engine(bench: Bench) -> int:
    where = ctypes.c_void_p(facts.MEMORY_ALLOCATE)
    return bench("memory_create", bench.out(), bench.md(2, 3), None, where)


@case
def memory_nowhere(bench: Bench) -> int:
    return bench("memory_create", None, bench.md(2, 3), bench.session.engine, NULL)


@case
def memory_of_any_layout(bench: Bench) -> int:
    wanted = bench.run.descriptor(Tensor((2, 3), "f32", ANY))
    return bench("memory_create", bench.out(), wanted, bench.session.engine, NULL)


@case
def memory_map_none(bench: Bench) -> int:
    return bench("memory_map_data", None, bench.out())


@case
def memory_handle_of_none(bench: Bench) -> int:
    return bench("memory_get_data_handle", None, bench.out())


@case
def memory_destroy_none(bench: Bench) -> int:
    return bench("memory_destroy", None)


# --- Attributes -------------------------------------------------------------------------------


@case
def attr_nowhere(bench: Bench) -> int:
    return bench("primitive_attr_create", None)


def scales(bench: Bench, argument: int, mask: int) -> int:
    numbers = ctypes.c_int(argument), ctypes.c_int(mask)
    return bench("primitive_attr_set_scales_mask", bench.attr(), *numbers)


for _name, _pair in {
    "of_source": (1, 0),
    "of_bias": (41, 0),
    "of_mean": (49, 0),
    "negative_mask": (1, -1),
    "huge_mask": (1, 1 << 20),
    "of_nothing": (0, 0),
}.items():
    CASES[f"scales_{_name}"] = lambda bench, pair=_pair: scales(bench, *pair)  # type: ignore[misc]


def points(bench: Bench, argument: int, mask: int) -> int:
    numbers = ctypes.c_int(argument), ctypes.c_int(mask)
    return bench("primitive_attr_set_zero_points_mask", bench.attr(), *numbers)


for _name, _pair in {
    "of_source": (1, 0),
    "of_bias": (41, 0),
    "negative_mask": (1, -1),
    "of_nothing": (0, 0),
}.items():
    CASES[f"zero_points_{_name}"] = lambda bench, pair=_pair: points(bench, *pair)  # type: ignore[misc]


@case
def scales_without_attr(bench: Bench) -> int:
    return bench("primitive_attr_set_scales_mask", None, ctypes.c_int(1), ctypes.c_int(0))


@case
def fpmath_unknown(bench: Bench) -> int:
    return bench("primitive_attr_set_fpmath_mode", bench.attr(), ctypes.c_int(99))


@case
def scratchpad_unknown(bench: Bench) -> int:
    return bench("primitive_attr_set_scratchpad_mode", bench.attr(), ctypes.c_int(99))


@case
def accumulation_unknown(bench: Bench) -> int:
    return bench("primitive_attr_set_accumulation_mode", bench.attr(), ctypes.c_int(99))


def eltwise(bench: Bench, algorithm: int, alpha: float = 0.0, beta: float = 0.0) -> int:
    numbers = ctypes.c_int(algorithm), ctypes.c_float(alpha), ctypes.c_float(beta)
    return bench("post_ops_append_eltwise", bench.post_ops(), *numbers)


for _name, _algorithm in {
    "relu": facts.ELTWISE["relu"],
    "binary_algorithm": facts.BINARY["add"],
    "unknown_algorithm": 5,
    "of_destination": facts.ELTWISE["relu_dst"],
}.items():
    CASES[f"post_op_eltwise_{_name}"] = lambda bench, number=_algorithm: eltwise(bench, number)  # type: ignore[misc]


@case
def post_op_clip_upside_down(bench: Bench) -> int:
    return eltwise(bench, facts.ELTWISE["clip"], 2.0, 1.0)


@case
def post_op_eltwise_to_none(bench: Bench) -> int:
    numbers = ctypes.c_int(facts.ELTWISE["relu"]), ctypes.c_float(0), ctypes.c_float(0)
    return bench("post_ops_append_eltwise", None, *numbers)


@case
def post_op_binary_of_eltwise(bench: Bench) -> int:
    number = ctypes.c_int(facts.ELTWISE["relu"])
    return bench("post_ops_append_binary", bench.post_ops(), number, bench.md(1, 1))


@case
def post_op_binary_without_descriptor(bench: Bench) -> int:
    number = ctypes.c_int(facts.BINARY["add"])
    return bench("post_ops_append_binary", bench.post_ops(), number, None)


@case
def post_ops_too_many(bench: Bench) -> int:
    chain = bench.post_ops()
    for _ in range(40):
        numbers = ctypes.c_int(facts.ELTWISE["relu"]), ctypes.c_float(0), ctypes.c_float(0)
        answer = bench("post_ops_append_eltwise", chain, *numbers)
    return answer


@case
def post_op_sum_of_an_unknown_type(bench: Bench) -> int:
    numbers = ctypes.c_float(1), ctypes.c_int32(0), ctypes.c_int(99)
    return bench("post_ops_append_sum", bench.post_ops(), *numbers)


@case
def post_op_prelu_negative_mask(bench: Bench) -> int:
    return bench("post_ops_append_prelu", bench.post_ops(), ctypes.c_int(-1))


# --- Primitives -------------------------------------------------------------------------------


@case
def primitive_without_descriptor(bench: Bench) -> int:
    return bench("primitive_create", bench.out(), None)


@case
def primitive_destroy_none(bench: Bench) -> int:
    return bench("primitive_destroy", None)


@case
def primitive_desc_destroy_none(bench: Bench) -> int:
    return bench("primitive_desc_destroy", None)
