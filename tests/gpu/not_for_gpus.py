"""Tests of other suites that say nothing of a GPU, and why."""

from __future__ import annotations

from collections.abc import Container
from fnmatch import fnmatchcase

OF_THE_CPU = "it is about the CPU as a device"
TOUCHES = "the host touches device memory"
FAULTS = "a fault of a GPU is told in other words, and takes the GPU from its process"
AT_ONCE = "it expects work to be done when a call returns, or soon after"
NOT_THERE = "a GPU has no native binaries or function pointers like those of the CPU"
FILES = "files, DMA buffers and what is small are no device memory of a GPU, and it is in no file"
PAGES = "it expects pages of 4 KiB, or alignments that NVIDIA's driver does not have"
ALL_MEMORY = "it takes nearly all memory of the device, which other processes use, too"
SYSTEM_MEMORY = "its kernels use memory of the program that no allocation is"
FAKE_COMPILER = "its kernels are the machine code of a fake compiler"

NOT_FOR_GPUS: dict[str, tuple[str, ...]] = {
    OF_THE_CPU: (
        "tests/driver/sysman/",
        "tests/driver/devices/",
        "tests/driver/memory/test_topology_memory.py",
        "tests/driver/lists/test_queues_devices.py",
        "tests/driver/lists/test_queues_priorities.py",
        "tests/driver/errors/test_exhaustion_threads.py",
        "tests/driver/graphs/test_graphs_devices.py",
        "tests/driver/launches/test_kernels_compiled.py::test_properties_are_true",
        "tests/driver/images/test_images.py::test_an_image_is_device_memory",
        "tests/driver/memory/test_copies.py::test_prefetch_brings_in_untouched_pages",
        "tests/driver/memory/test_memory_virtual.py::test_page_sizes",
        "tests/core/test_sysman*",
        "tests/core/test_topology.py",
        "tests/core/test_drivers.py::test_sub_devices_know_their_root",
        "tests/core/test_drivers.py::test_devices_are_told_apart_by_what_they_show",
        "tests/core/test_defaults.py::test_forked_process_has_own_default_context",
        "tests/core/test_public.py",
    ),
    FAULTS: (
        "tests/driver/launches/test_faults*",
        "tests/core/test_errors.py::test_kernel_fault_loses_only_its_own_context",
        "tests/core/test_errors.py::test_launch_describes_kernel_compile_failure",
    ),
    AT_ONCE: (
        "tests/driver/lists/test_queues.py::test_short_list*",
        "tests/driver/graphs/test_graphs_events.py::test_event_reset_in_graph_waits_for_outside",
        "tests/core/test_command_list.py::test_what_was_used_is_let_go_without_waiting",
    ),
    NOT_THERE: (
        "tests/driver/modules/test_native_binaries.py",
        "tests/driver/launches/test_kernels_compiled.py::test_a_native_binary*",
        "tests/driver/launches/test_kernels_compiled.py::test_damaged_native_binary*",
        "tests/driver/launches/test_kernels_compiled.py::test_specialization_constant_replaces*",
        "tests/core/test_defaults.py::test_a_kernel_shows_its_signature",
        "tests/core/test_launch_arguments.py::test_native_module*",
        "tests/driver/errors/test_locks.py::test_ipc_share_during_kernel_blocks_nobody",
    ),
    FILES: (
        "tests/core/test_sharing.py::test_a_kernel_works_on_a_file?1-False",
        "tests/core/test_sharing.py::test_a_kernel_works_on_a_file?2-False",
        "tests/core/test_sharing.py::test_an_image_goes_out_and_comes_in",
        "tests/core/test_sharing.py::test_exported_memory_outlives_the_allocation",
        "tests/core/test_sharing.py::test_memory_says_as_what_it_will_be_exported",
        "tests/driver/events/test_external_semaphores.py::test_a_lost_context_waits_no_longer",
        "tests/driver/images/test_external_images.py",
        "tests/driver/memory/test_external_memory.py::test_a_file_becomes_memory?0-device",
        "tests/driver/memory/test_external_memory.py::test_a_file_becomes_memory?1-device",
        "tests/driver/memory/test_external_memory.py::test_a_file_becomes_memory?2-device",
        "tests/driver/memory/test_external_memory.py::test_an_import_is_aligned_as_asked_for",
        "tests/driver/memory/test_external_memory.py::test_files_that_are_too_small_are_refused",
        "tests/driver/memory/test_external_memory.py::test_import_behaves_as_ordinary_allocation",
        "tests/driver/memory/test_external_memory.py::test_import_of_non_memory_descriptor_refused",
        "tests/driver/memory/test_external_memory.py::test_physical_memory_from_a_file",
        "tests/driver/memory/test_external_memory.py::test_shrunk_imported_file_loses_its_context",
        "tests/driver/memory/test_external_memory.py::test_what_goes_out_comes_back_in",
        "tests/driver/memory/test_external_memory.py::test_what_the_device_says_it_can",
        "tests/driver/memory/test_memory_ipc.py::test_handles_and_file_descriptors",
        "tests/driver/memory/test_memory_ipc_processes.py::test_handle_types",
        "tests/driver/memory/test_memory_ipc_processes.py::test_memory_that_was_opened_is_passed_on",
        "tests/driver/memory/test_memory_ipc_processes.py::test_other_process_opens_physical_memory",
    ),
    PAGES: (
        "tests/core/test_virtual_memory.py",
        "tests/driver/errors/test_bad_input_in_use.py::test_destroyed_physical_memory_stays_mapped",
        "tests/driver/errors/test_bad_input_structs.py::test_create_ignores_looping_or_unknown_chain",
        "tests/driver/memory/test_memory.py::test_alignment?host-2",
        "tests/driver/memory/test_memory.py::test_alignment?local-2",
        "tests/driver/memory/test_memory.py::test_alignment?shared-2",
        "tests/driver/memory/test_memory.py::test_reused_block_of_large_alignment_is_whole",
    ),
    ALL_MEMORY: (
        "tests/driver/memory/test_memory_free.py::test_freed_memory_returns_to_device",
        "tests/driver/memory/test_memory_free.py::test_a_context_takes_its_memory_with_it",
    ),
    SYSTEM_MEMORY: (
        "tests/core/test_launch_arguments.py::test_arrays_are_memory_too",
        "tests/core/test_types.py::test_memory_of_records",
        "tests/core/test_types.py::test_bfloat16_of_ml_dtypes",
    ),
    TOUCHES: (
        "tests/driver/launches/test_kernels_compiled.py::test_variables_of_a_module",
        "tests/driver/memory/test_memory_virtual.py::test_mapped_memory_works_for_host_and_device",
        "tests/driver/memory/test_memory_virtual.py::test_unmapped_physical_memory_keeps_contents",
        "tests/driver/memory/test_memory_virtual.py::test_one_physical_memory_at_two_addresses",
        "tests/driver/memory/test_memory_virtual.py::test_a_sparse_reservation",
        "tests/driver/memory/test_memory_virtual.py::test_a_mapping_grows_page_by_page",
        "tests/driver/memory/test_memory_virtual.py::test_reservation_grows_at_following_address",
        "tests/driver/memory/test_memory_virtual.py::test_access_is_enforced",
        "tests/driver/memory/test_memory_virtual.py::test_mapping_what_is_mapped_is_refused",
        "tests/driver/memory/test_memory_virtual.py::test_mem_free_of_mapped_memory_is_refused",
        "tests/driver/images/test_external_images.py::test_exports_of_images_that_are_refused",
        "tests/driver/images/test_images.py::test_an_image_outlives_its_context",
        "tests/driver/images/test_images.py::test_extents_and_pitches",
        "tests/driver/images/test_images.py::test_image_may_be_destroyed_while_copy_waits",
        "tests/driver/images/test_images.py::test_kinds_of_texels",
        "tests/driver/images/test_images.py::test_numbers_that_opencl_has_for_formats",
        "tests/driver/images/test_images.py::test_one_plane_media_ignores_type_and_swizzle",
        "tests/driver/images/test_images.py::test_swizzle_maps_components_to_channels",
        "tests/driver/images/test_images.py::test_texels_stay_put_while_other_commands_run",
        "tests/driver/images/test_images.py::test_unneeded_image_leaves_an_empty_view",
        "tests/driver/images/test_images.py::test_where_the_channels_of_a_texel_are",
        "tests/driver/images/test_images_arguments.py::test_waiting_launch_keeps_destroyed_image",
        "tests/driver/images/test_images_views.py::test_a_buffer_image_over_memory",
        "tests/driver/images/test_images_views.py::test_a_view_of_a_part_keeps_the_pitches",
        "tests/driver/images/test_images_views.py::test_a_view_of_a_view",
        "tests/driver/images/test_images_views.py::test_a_view_outlives_its_image",
        "tests/driver/images/test_images_views.py::test_an_image_in_memory_of_the_program",
        "tests/driver/images/test_images_views.py::test_an_srgb_view_of_a_linear_image",
        "tests/driver/images/test_images_views.py::test_nv12_has_luma_plane_then_chroma_plane",
        "tests/driver/images/test_images_views.py::test_pitches_that_the_program_chooses",
        "tests/driver/images/test_images_views.py::test_planes_hold_their_own_texels",
        "tests/driver/images/test_images_views.py::test_sampled_bindless_image_has_its_sampler",
        "tests/driver/images/test_images_views.py::test_srgb",
        "tests/driver/images/test_images_views.py::test_the_older_function_does_the_same",
        "tests/driver/images/test_images_views.py::test_the_only_plane_of_an_image_is_the_image",
        "tests/driver/images/test_images_views.py::test_view_shows_same_texels_in_other_format",
        "tests/driver/memory/test_external_memory.py::test_exported_memory_maps_without_driver",
        "tests/driver/memory/test_memory.py::test_memory_can_be_written_to_its_last_byte",
        "tests/driver/memory/test_memory_free.py::test_freed_memory_in_use_is_not_handed_out",
        "tests/driver/memory/test_memory_free.py::test_memory_behind_allocation_is_readable",
        "tests/driver/memory/test_memory_ipc.py::test_two_processes_share_memory",
        "tests/driver/memory/test_memory_ipc_processes.py::test_importer_goes_on_whatever",
        "tests/driver/memory/test_memory_ipc_processes.py::test_processes_leave_no_files",
        "tests/driver/memory/test_memory_ipc_processes.py::test_put_close_and_free_in_any_order",
        "tests/driver/memory/test_memory_ipc_processes.py::test_sharing_costs_only_written_pages",
        "tests/driver/memory/test_memory_ipc_processes.py::test_the_bytes_of_a_handle_are_enough",
    ),
}
"""The beginnings of pytest's ids, with wildcards, by reason."""

FIXTURES = {"kernels": FAKE_COMPILER, "machines": OF_THE_CPU}


def reason_against(test: str, fixtures: Container[str] = ()) -> str:
    """Why a test is left out; empty if it runs."""
    for name, reason in FIXTURES.items():
        if name in fixtures:
            return reason
    for reason, patterns in NOT_FOR_GPUS.items():
        if any(fnmatchcase(test, f"{pattern}*") for pattern in patterns):
            return reason
    return ""
