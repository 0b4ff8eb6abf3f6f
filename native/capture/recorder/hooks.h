/* What recorders do besides recording, so that the stream has the memory that work reads. registry/capture_hooks.py says
 * which recorder calls what: before the call is passed on, or when its record is in the stream. */
#ifndef GC_RECORDER_HOOKS_H
#define GC_RECORDER_HOOKS_H

#include "capture/memory/tracking.h"
#include "capture/recorder/record.h"

/* Memory; `found` is what the call answered. */
void gc_allocated(ze_result_t result, void *const *found, size_t size, const void *desc);
void gc_allocated_device(ze_result_t result, void *const *found, size_t size);
void gc_opened(ze_result_t result, ze_context_handle_t context, void *const *found);
void gc_exported(ze_result_t result, const void *at);
void gc_asked_about(ze_result_t result, const void *at, const ze_memory_allocation_properties_t *properties);
void gc_made_physical(ze_result_t result, const ze_physical_mem_desc_t *desc, const ze_physical_mem_handle_t *found);
void gc_unmade_physical(ze_result_t result, ze_physical_mem_handle_t memory);
void gc_mapped(ze_result_t result, const void *at, size_t size, ze_physical_mem_handle_t memory);

/* What copies read and write; kept with the call until it is appended. */
void gc_copies(gc_call *call, void *to, const void *from, size_t size);
void gc_copies_region(gc_call *call, void *to, const ze_copy_region_t *to_region, uint32_t to_pitch, uint32_t to_slice,
                      const void *from, const ze_copy_region_t *from_region, uint32_t from_pitch, uint32_t from_slice);
void gc_reads_texels(gc_call *call, ze_image_handle_t image, const void *from, const ze_image_region_t *region,
                     uint32_t pitch, uint32_t slice);
void gc_writes_texels(gc_call *call, ze_image_handle_t image, void *to, const ze_image_region_t *region, uint32_t pitch,
                      uint32_t slice);
void gc_made_image(ze_result_t result, const ze_image_desc_t *desc, const ze_image_handle_t *found);
void gc_unmade_image(ze_result_t result, ze_image_handle_t image);

/* Modules and kernels; what all arguments of a kernel are, where a call does not say how large they are. */
void gc_made_module(ze_result_t result, const ze_module_desc_t *desc, const ze_module_handle_t *found);
void gc_unmade_module(ze_result_t result, ze_module_handle_t module);
void gc_made_kernel(ze_result_t result, ze_module_handle_t module, const ze_kernel_desc_t *desc,
                    const ze_kernel_handle_t *found);
void gc_unmade_kernel(ze_result_t result, ze_kernel_handle_t kernel);
void gc_passes_arguments(gc_call *call, ze_kernel_handle_t kernel, void *const *values);

/* Lists and queues. */
void gc_made_list(ze_result_t result, const ze_command_list_handle_t *found, bool immediate);
void gc_cloned_list(ze_result_t result, ze_command_list_handle_t list, const ze_command_list_handle_t *found);
void gc_emptied_list(ze_result_t result, ze_command_list_handle_t list);
void gc_unmaking(const void *list_or_queue);
void gc_unmade_list(ze_result_t result, ze_command_list_handle_t list);
void gc_captures_graph(void);

/* A command on a list; on an immediate one it is submitted. */
void gc_appending(gc_call *call, ze_command_list_handle_t list, unsigned traits);
void gc_appended(gc_call *call, ze_result_t result, ze_command_list_handle_t list);
/* Work that was recorded before, on lists or in graphs: what its copies read and write. */
void gc_gathers(gc_call *call, uint32_t count, const ze_command_list_handle_t *lists);
void gc_gathers_graphs(gc_call *call);
void gc_executing(gc_call *call);
void gc_executed(gc_call *call, ze_result_t result, ze_command_queue_handle_t queue);
/* The host signals an event, which may be what submitted work waits for. */
void gc_signalling(gc_call *call);
void gc_signalled(gc_call *call, ze_result_t result);

#endif
