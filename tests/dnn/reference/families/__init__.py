"""The families of primitives: how their problems are drawn, and what is tolerated."""

from __future__ import annotations

from tests.dnn.reference.families.base import Family
from tests.dnn.reference.families.elementwise import BINARY, ELTWISE, PRELU
from tests.dnn.reference.families.movement import CONCAT, REORDER, SHUFFLE, SUM
from tests.dnn.reference.families.norms import (
    BATCH_NORMALIZATION,
    GROUP_NORMALIZATION,
    LAYER_NORMALIZATION,
    LRN,
    SOFTMAX,
)
from tests.dnn.reference.families.products import (
    CONVOLUTION,
    DECONVOLUTION,
    INNER_PRODUCT,
    MATMUL,
)
from tests.dnn.reference.families.recurrent import GRU, LBR_GRU, LSTM, VANILLA_RNN
from tests.dnn.reference.families.windows import POOLING, REDUCTION, RESAMPLING

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        MATMUL,
        INNER_PRODUCT,
        CONVOLUTION,
        DECONVOLUTION,
        ELTWISE,
        BINARY,
        SOFTMAX,
        LAYER_NORMALIZATION,
        BATCH_NORMALIZATION,
        GROUP_NORMALIZATION,
        POOLING,
        REDUCTION,
        RESAMPLING,
        PRELU,
        CONCAT,
        SUM,
        REORDER,
        SHUFFLE,
        LRN,
        VANILLA_RNN,
        LSTM,
        GRU,
        LBR_GRU,
    )
}
