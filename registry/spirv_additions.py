"""What newer SPIR-V extensions added to the grammar that Debian's `spirv-headers` carries.

The rows have the form of the generated tables (see `registry.generators.spirv`).
"""

from __future__ import annotations

INSTRUCTIONS = """
4417 TypeUntypedPointerKHR result StorageClass
4418 UntypedVariableKHR type result StorageClass id? id?
4419 UntypedAccessChainKHR type result id id id*
4420 UntypedInBoundsAccessChainKHR type result id id id*
4423 UntypedPtrAccessChainKHR type result id id id id*
4424 UntypedInBoundsPtrAccessChainKHR type result id id id id*
4425 UntypedArrayLengthKHR type result id id integer
4426 UntypedPrefetchKHR id id id? id? id?
4427 FmaKHR type result id id id
4433 ExtInstWithForwardRefsKHR type result id extension_instruction id*
4434 UntypedGroupAsyncCopyKHR type result id id id id id id id MemoryAccess? MemoryAccess?
4461 ConstantCompositeReplicateEXT type result id
4462 SpecConstantCompositeReplicateEXT type result id
4463 CompositeConstructReplicateEXT type result id
5110 GroupNonUniformQuadAllKHR type result id
5111 GroupNonUniformQuadAnyKHR type result id
5121 AbortKHR id id
5158 PoisonKHR type result
5159 FreezeKHR type result id
6096 CompositeConstructContinuedINTEL id*
6116 ConvertFToBF16INTEL type result id
6117 ConvertBF16ToFINTEL type result id
6145 ArithmeticFenceEXT type result id
6221 SubgroupBlockPrefetchINTEL id id MemoryAccess?
6242 BitwiseFunctionINTEL type result id id id id
6244 UntypedVariableLengthArrayINTEL type result id id
6258 PredicatedLoadINTEL type result id id id MemoryAccess?
6259 PredicatedStoreINTEL id id id MemoryAccess?
6426 RoundFToTF32INTEL type result id
6428 MaskedGatherINTEL type result id integer id id
6429 MaskedScatterINTEL id id integer id
6529 ConvertHandleToImageINTEL type result id
6530 ConvertHandleToSamplerINTEL type result id
6531 ConvertHandleToSampledImageINTEL type result id
"""
"""Instructions by number."""

REPLACED = """
22 TypeFloat result integer FPEncoding?
5609 AsmTargetINTEL result string
"""
"""Instructions whose operands changed since."""

ENUMERANTS = {
    "Capability": """
        4473 UntypedPointersKHR
        5087 QuadControlKHR
        5112 Int4TypeINTEL
        5116 BFloat16TypeKHR
        5117 BFloat16DotProductKHR
        5120 AbortKHR
        5156 PoisonFreezeKHR
        6024 ReplicatedCompositesEXT
        6029 FloatControls2
        6030 FMAKHR
        6115 BFloat16ConversionINTEL
        6144 ArithmeticFenceEXT
        6169 FPMaxErrorINTEL
        6187 GlobalVariableHostAccessINTEL
        6220 SubgroupBufferPrefetchINTEL
        6241 TernaryBitwiseFunctionINTEL
        6243 UntypedVariableLengthArrayINTEL
        6257 PredicatedIOINTEL
        6265 RoundedDivideSqrtINTEL
        6425 TensorFloat32RoundingINTEL
        6427 MaskedGatherScatterINTEL
        6441 CacheControlsINTEL
        6460 RegisterLimitsINTEL
        6528 BindlessImagesINTEL
    """,
    "Decoration": """
        6170 FPMaxErrorDecorationINTEL float
        6188 HostAccessINTEL HostAccessQualifier string
        6442 CacheControlLoadINTEL integer LoadCacheControl
        6443 CacheControlStoreINTEL integer StoreCacheControl
    """,
    "ExecutionMode": """
        5157 ArithmeticPoisonKHR
        6023 MaximallyReconvergesKHR
        6028 FPFastMathDefault id id
        6461 MaximumRegistersINTEL integer
        6462 MaximumRegistersIdINTEL id
        6463 NamedMaximumRegistersINTEL NamedMaximumNumberOfRegisters
    """,
    "FPEncoding": """
        0 BFloat16KHR
        4214 Float8E4M3EXT
        4215 Float8E5M2EXT
    """,
    "FPFastMathMode": """
        0x40000 AllowTransform
    """,
    "HostAccessQualifier": """
        0 NoneINTEL
        1 ReadINTEL
        2 WriteINTEL
        3 ReadWriteINTEL
    """,
    "LinkageType": """
        3 WeakAMD
    """,
    "LoadCacheControl": """
        0 UncachedINTEL
        1 CachedINTEL
        2 StreamingINTEL
        3 InvalidateAfterReadINTEL
        4 ConstCachedINTEL
    """,
    "NamedMaximumNumberOfRegisters": """
        0 AutoINTEL
    """,
    "SourceLanguage": """
        8 HERO_C
        9 NZSL
        10 WGSL
        11 Slang
        12 Zig
        13 Rust
    """,
    "StoreCacheControl": """
        0 UncachedINTEL
        1 WriteThroughINTEL
        2 WriteBackINTEL
        3 StreamingINTEL
    """,
}
"""Values of enumerations, those of whole new enumerations among them."""
