"""Neural-network primitives on any Level Zero device, with the names and rules of oneDNN.

>>> import groundstate.dnn as dnn
>>> engine = dnn.Engine.create()
>>> relu = dnn.Primitive(
...     dnn.create(
...         "eltwise_forward",
...         engine,
...         dnn.PropKind.forward_inference,
...         dnn.Algorithm.eltwise_relu,
...         dnn.Descriptor.plain((2, 3)),
...         dnn.Descriptor.plain((2, 3)),
...     )
... )
>>> source, target = (dnn.Memory(engine, dnn.Descriptor.plain((2, 3))) for _ in range(2))
>>> with dnn.Stream(engine) as stream:
...     _ = relu.execute(stream, {dnn.Arg.SRC: source, dnn.Arg.DST: target})
"""

from groundstate.dnn.arrays import array_of, descriptor_of, fill, memory_of, run
from groundstate.dnn.attributes import Attributes
from groundstate.dnn.descriptor import Descriptor
from groundstate.dnn.engine import Engine
from groundstate.dnn.errors import DnnError
from groundstate.dnn.layers import Network
from groundstate.dnn.memory import HostScalar, Memory
from groundstate.dnn.network import Time
from groundstate.dnn.post_ops import PostOps
from groundstate.dnn.primitive import Primitive, PrimitiveDescriptor, create
from groundstate.dnn.stream import Stream
from groundstate.dnn.types import (
    AccumulationMode,
    Algorithm,
    Arg,
    DataType,
    EngineKind,
    FormatKind,
    FpmathMode,
    NormalizationFlags,
    PrimitiveKind,
    ProfilingDataKind,
    PropKind,
    Query,
    RnnDirection,
    ScratchpadMode,
    SparseEncoding,
    Status,
    StreamFlags,
)

__all__ = [
    "AccumulationMode",
    "Algorithm",
    "Arg",
    "Attributes",
    "DataType",
    "Descriptor",
    "DnnError",
    "Engine",
    "EngineKind",
    "FormatKind",
    "FpmathMode",
    "HostScalar",
    "Memory",
    "Network",
    "NormalizationFlags",
    "PostOps",
    "Primitive",
    "PrimitiveDescriptor",
    "PrimitiveKind",
    "ProfilingDataKind",
    "PropKind",
    "Query",
    "RnnDirection",
    "ScratchpadMode",
    "SparseEncoding",
    "Status",
    "Stream",
    "StreamFlags",
    "Time",
    "array_of",
    "create",
    "descriptor_of",
    "fill",
    "memory_of",
    "run",
]
