"""The programs are plain SPIR-V for OpenCL, which any device with sub-groups takes."""

from __future__ import annotations

import re

from groundstate import dnn
from groundstate.dnn import Algorithm, Descriptor, PropKind
from groundstate.dnn.programs import spirv_of
from tests.compiler.opencl.frontend_support import disassemble, imports, validate

CAPABILITIES = {
    *("Addresses", "Kernel", "Linkage", "Int8", "Int16", "Int64", "GenericPointer"),
    *("Float16", "Float16Buffer", "Float64", "Groups", "SubgroupDispatch", "Vector16"),
}
"""What GPUs that Level Zero is for have."""

EXTENSIONS = {"SPV_KHR_no_integer_wrap_decoration"}

INFERENCE = PropKind.forward_inference


def _operations(engine: dnn.Engine) -> dict[str, dnn.PrimitiveDescriptor]:
    image, half = Descriptor.plain((4, 30, 8, 8)), Descriptor.plain((4, 30, 8, 8), "f16")
    double, matrix = Descriptor.plain((4, 30), "f64"), Descriptor.plain((64, 64))
    blocked = Descriptor.tagged(image.dims, "bf16", "nChw16c")
    softmax, exp = Algorithm.softmax_accurate, Algorithm.eltwise_exp
    one = Descriptor.plain((1, 1))
    return {
        "eltwise": dnn.create("eltwise_forward", engine, INFERENCE, exp, half, half),
        "double": dnn.create("eltwise_forward", engine, INFERENCE, exp, double, double),
        "binary": dnn.create("binary", engine, Algorithm.binary_add, image, image, image),
        "reorder": dnn.create("reorder", image, engine, blocked, engine),
        "rows": dnn.create("softmax_forward", engine, INFERENCE, softmax, matrix, matrix, 1),
        "columns": dnn.create("softmax_forward", engine, INFERENCE, softmax, matrix, matrix, 0),
        "reduction": dnn.create(
            "reduction", engine, Algorithm.reduction_sum, Descriptor.plain((256, 300)), one
        ),
        "concat": dnn.create("concat", engine, None, 2, 1, (half, half)),
        "matmul": dnn.create("matmul", engine, matrix, matrix, None, matrix),
    }


def test_programs_are_valid_for_other_devices() -> None:
    for name, described in _operations(dnn.Engine.create()).items():
        for launch in described.plan.launches:
            spirv = spirv_of(launch.source, launch.options)
            validate(spirv)
            text = disassemble(spirv)
            assert imports(text) == [], name
            assert set(re.findall(r"OpCapability (\w+)", text)) <= CAPABILITIES, name
            assert set(re.findall(r'OpExtension "(\w+)"', text)) <= EXTENSIONS, name
