/* Functions of the Intel extensions that clang does not declare by itself: sub-group shuffles and
 * block access, the two halves of a work-group barrier, and bfloat16 conversions.
 */
#ifndef GROUNDSTATE_SUBGROUPS_H
#define GROUNDSTATE_SUBGROUPS_H

#if __OPENCL_C_VERSION__ >= 120 || defined(__OPENCL_CPP_VERSION__)

#define GS_FUNCTION __attribute__((overloadable, convergent))

/* --- Shuffles ---------------------------------------------------------------------------------- */

#define GS_SHUFFLES(type) \
    type GS_FUNCTION intel_sub_group_shuffle(type value, uint lane); \
    type GS_FUNCTION intel_sub_group_shuffle_down(type current, type next, uint delta); \
    type GS_FUNCTION intel_sub_group_shuffle_up(type previous, type current, uint delta); \
    type GS_FUNCTION intel_sub_group_shuffle_xor(type value, uint mask);
#define GS_VECTOR_SHUFFLES(type) \
    GS_SHUFFLES(type) GS_SHUFFLES(type##2) GS_SHUFFLES(type##3) GS_SHUFFLES(type##4) \
    GS_SHUFFLES(type##8) GS_SHUFFLES(type##16)

GS_VECTOR_SHUFFLES(char)
GS_VECTOR_SHUFFLES(uchar)
GS_VECTOR_SHUFFLES(short)
GS_VECTOR_SHUFFLES(ushort)
GS_VECTOR_SHUFFLES(int)
GS_VECTOR_SHUFFLES(uint)
GS_VECTOR_SHUFFLES(float)
GS_SHUFFLES(long)
GS_SHUFFLES(ulong)
#if defined(cl_khr_fp16)
GS_SHUFFLES(half)
#endif
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
GS_SHUFFLES(double)
#endif

/* --- Block reads and writes: each lane gets every nth element ----------------------------------- */

#define GS_BLOCK(space, suffix, element, n) \
    element##n GS_FUNCTION intel_sub_group_block_read##suffix##n(const space element *from); \
    void GS_FUNCTION intel_sub_group_block_write##suffix##n(space element *to, element##n value);
#define GS_BLOCKS(space, suffix, element) \
    GS_BLOCK(space, suffix, element, ) GS_BLOCK(space, suffix, element, 2) \
    GS_BLOCK(space, suffix, element, 4) GS_BLOCK(space, suffix, element, 8)
#define GS_ALL_BLOCKS(space) \
    GS_BLOCKS(space, , uint) GS_BLOCKS(space, _ui, uint) GS_BLOCKS(space, _us, ushort) \
    GS_BLOCKS(space, _uc, uchar) GS_BLOCK(space, _uc, uchar, 16) GS_BLOCKS(space, _ul, ulong)

GS_ALL_BLOCKS(__global)
GS_ALL_BLOCKS(__local)

/* --- The two halves of a barrier ---------------------------------------------------------------- */

#define cl_intel_split_work_group_barrier 1

void GS_FUNCTION intel_work_group_barrier_arrive(cl_mem_fence_flags flags);
void GS_FUNCTION intel_work_group_barrier_wait(cl_mem_fence_flags flags);
void GS_FUNCTION intel_work_group_barrier_arrive(cl_mem_fence_flags flags, memory_scope scope);
void GS_FUNCTION intel_work_group_barrier_wait(cl_mem_fence_flags flags, memory_scope scope);

/* --- bfloat16 ----------------------------------------------------------------------------------- */

#define GS_PURE __attribute__((overloadable, const))
#define GS_BFLOAT16(n) \
    ushort##n GS_PURE intel_convert_bfloat16##n##_as_ushort##n(float##n value); \
    float##n GS_PURE intel_convert_as_bfloat16##n##_float##n(ushort##n value);

GS_BFLOAT16()
GS_BFLOAT16(2)
GS_BFLOAT16(3)
GS_BFLOAT16(4)
GS_BFLOAT16(8)
GS_BFLOAT16(16)

#undef GS_BFLOAT16
#undef GS_PURE
#undef GS_ALL_BLOCKS
#undef GS_BLOCKS
#undef GS_BLOCK
#undef GS_VECTOR_SHUFFLES
#undef GS_SHUFFLES
#undef GS_FUNCTION

#endif

#endif
