/* The macros that say which extensions and optional features there are.
 *
 * From version 22 on clang defines them for SPIR-V by itself; an older one leaves most of them to this
 * header, and declares the functions that they stand for where it finds them defined.
 */
#ifndef GROUNDSTATE_FEATURES_H
#define GROUNDSTATE_FEATURES_H

#if __clang_major__ < 22

#define cl_intel_bfloat16_conversions 1

#if __OPENCL_C_VERSION__ >= 120 || defined(__OPENCL_CPP_VERSION__)
#define cl_intel_subgroup_buffer_prefetch 1
#define cl_intel_subgroup_local_block_io 1
#define cl_intel_subgroups_char 1
#define cl_intel_subgroups_long 1
#endif

#if __OPENCL_C_VERSION__ >= 200 || defined(__OPENCL_CPP_VERSION__)

/* --- Features of OpenCL C 2.0, which 3.0 made optional ------------------------------------------ */

#define __opencl_c_atomic_order_acq_rel 1
#define __opencl_c_atomic_order_seq_cst 1
#define __opencl_c_atomic_scope_all_devices 1
#define __opencl_c_atomic_scope_device 1
#define __opencl_c_generic_address_space 1
#define __opencl_c_images 1
#define __opencl_c_program_scope_global_variables 1
#define __opencl_c_read_write_images 1
#define __opencl_c_work_group_collective_functions 1

/* --- Extensions --------------------------------------------------------------------------------- */

#define cl_ext_float_atomics 1
#define __opencl_c_ext_fp16_global_atomic_add 1
#define __opencl_c_ext_fp16_global_atomic_load_store 1
#define __opencl_c_ext_fp16_global_atomic_min_max 1
#define __opencl_c_ext_fp16_local_atomic_add 1
#define __opencl_c_ext_fp16_local_atomic_load_store 1
#define __opencl_c_ext_fp16_local_atomic_min_max 1
#define __opencl_c_ext_fp32_global_atomic_add 1
#define __opencl_c_ext_fp32_global_atomic_min_max 1
#define __opencl_c_ext_fp32_local_atomic_add 1
#define __opencl_c_ext_fp32_local_atomic_min_max 1
#define __opencl_c_ext_fp64_global_atomic_add 1
#define __opencl_c_ext_fp64_global_atomic_min_max 1
#define __opencl_c_ext_fp64_local_atomic_add 1
#define __opencl_c_ext_fp64_local_atomic_min_max 1

#define __opencl_c_ext_image_raw10_raw12 1
#define __opencl_c_ext_image_unorm_int_2_101010 1
#define __opencl_c_ext_image_unsigned_10x6_12x4_14x2 1

#define cl_khr_extended_bit_ops 1

#define cl_khr_integer_dot_product 1
#define __opencl_c_integer_dot_product_input_4x8bit 1
#define __opencl_c_integer_dot_product_input_4x8bit_packed 1

#define cl_khr_kernel_clock 1
#define __opencl_c_kernel_clock_scope_device 1
#define __opencl_c_kernel_clock_scope_sub_group 1
#define __opencl_c_kernel_clock_scope_work_group 1

#define cl_intel_required_subgroup_size 1
#define cl_khr_subgroup_ballot 1
#define cl_khr_subgroup_clustered_reduce 1
#define cl_khr_subgroup_extended_types 1
#define cl_khr_subgroup_non_uniform_arithmetic 1
#define cl_khr_subgroup_non_uniform_vote 1
#define cl_khr_subgroup_rotate 1
#define cl_khr_subgroup_shuffle 1
#define cl_khr_subgroup_shuffle_relative 1

#endif

#endif

#endif
