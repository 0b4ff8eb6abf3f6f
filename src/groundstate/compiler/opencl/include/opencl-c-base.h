/* What every OpenCL C source sees: types, constants and macros of the language.
 *
 * clang includes this file by this name before a source and declares the built-in functions by
 * itself; what it leaves to the header is here and in the files below.
 */
#ifndef GROUNDSTATE_OPENCL_C_BASE_H
#define GROUNDSTATE_OPENCL_C_BASE_H

#include "groundstate-features.h"

/* --- Switches of clang's own table of functions ------------------------------------------------ */

#if defined(cl_khr_subgroups) || defined(__opencl_c_subgroups)
#define __opencl_subgroup_builtins 1
#endif
#if !defined(__opencl_c_generic_address_space)
#define __opencl_c_named_address_space_builtins 1
#endif

/* --- Types ------------------------------------------------------------------------------------- */

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;
typedef __INTPTR_TYPE__ intptr_t;
typedef __UINTPTR_TYPE__ uintptr_t;

#define GS_VECTOR(type, n) typedef type type##n __attribute__((ext_vector_type(n)));
#define GS_VECTORS(type) \
    GS_VECTOR(type, 2) GS_VECTOR(type, 3) GS_VECTOR(type, 4) GS_VECTOR(type, 8) GS_VECTOR(type, 16)

GS_VECTORS(char)
GS_VECTORS(uchar)
GS_VECTORS(short)
GS_VECTORS(ushort)
GS_VECTORS(int)
GS_VECTORS(uint)
GS_VECTORS(long)
GS_VECTORS(ulong)
GS_VECTORS(float)
#if defined(cl_khr_fp64) || defined(__opencl_c_fp64)
#if __OPENCL_C_VERSION__ < 120
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
GS_VECTORS(double)
#endif
#if defined(cl_khr_fp16)
#pragma OPENCL EXTENSION cl_khr_fp16 : enable
GS_VECTORS(half)
#endif

#undef GS_VECTORS
#undef GS_VECTOR

#define NULL ((void *)0)

#include "groundstate-limits.h"
#include "groundstate-as-type.h"

/* --- Synchronisation --------------------------------------------------------------------------- */

typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE 0x01
#define CLK_GLOBAL_MEM_FENCE 0x02
#define CLK_IMAGE_MEM_FENCE 0x04

typedef enum memory_scope {
    memory_scope_work_item = __OPENCL_MEMORY_SCOPE_WORK_ITEM,
    memory_scope_work_group = __OPENCL_MEMORY_SCOPE_WORK_GROUP,
    memory_scope_device = __OPENCL_MEMORY_SCOPE_DEVICE,
    memory_scope_all_svm_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
    memory_scope_all_devices = __OPENCL_MEMORY_SCOPE_ALL_SVM_DEVICES,
    memory_scope_sub_group = __OPENCL_MEMORY_SCOPE_SUB_GROUP
} memory_scope;

typedef enum memory_order {
    memory_order_relaxed = __ATOMIC_RELAXED,
    memory_order_acquire = __ATOMIC_ACQUIRE,
    memory_order_release = __ATOMIC_RELEASE,
    memory_order_acq_rel = __ATOMIC_ACQ_REL,
    memory_order_seq_cst = __ATOMIC_SEQ_CST
} memory_order;

#define ATOMIC_FLAG_INIT 0
#define ATOMIC_VAR_INIT(value) (value)

/* --- Output ------------------------------------------------------------------------------------ */

#if __OPENCL_C_VERSION__ >= 120 || defined(__OPENCL_CPP_VERSION__)
int printf(__constant const char *format, ...) __attribute__((format(printf, 1, 2)));
#endif

#include "groundstate-images.h"
#include "groundstate-subgroups.h"

#endif
