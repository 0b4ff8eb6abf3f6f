"""What the driver's C and Python halves and compiled kernels all know, stated once.

`registry.generators.shared_structs` prints `native/generated/shared.h` and
`src/groundstate/native_layouts.py` from this file.
"""

from __future__ import annotations

from registry.layout import Constant, Field, Function, Layouts, Numbers, Struct

CONSTANTS = (
    Constant(
        "GS_LOCAL_ALIGNMENT",
        128,
        "local memory and each local argument begin at multiples of this",
    ),
    Constant("GS_COUNTER_MAX", (1 << 42) - 1, "the largest number that a counter can reach"),
    Constant(
        "GS_QUEUE_GROUPS", 2, "of a device: compute and copy, then copy only; ordinals are below"
    ),
    Constant("GS_IMAGE_MAX_1D", 32768, "texels"),
    Constant("GS_IMAGE_MAX_2D", 32768, "texels in each direction"),
    Constant("GS_IMAGE_MAX_3D", 4096, "texels in each direction"),
    Constant("GS_IMAGE_MAX_LAYERS", 4096, "of an array"),
    Constant("GS_IMAGE_MAX_BUFFER", 1 << 31, "bytes"),
    Constant("GS_IMAGE_PITCH_ALIGNMENT", 16, "of the pitches that a program may choose"),
    Constant("GS_ACTIVITY_MAGIC", 0x3154434147535A, "an activity page begins with this: ZSGACT1"),
    Constant(
        "GS_ACTIVITY_RUNNING",
        1 << 60,
        "added to a word of a meter while it runs, with the time at which it began taken away",
    ),
    *(
        Constant(f"GS_ACCESS_{name}", 1 << bit, about)
        for bit, (name, about) in enumerate(
            (
                ("WRITES", "an access, as a kernel tells it: it writes"),
                ("ATOMIC", "it is an atomic operation"),
                ("ACQUIRES", "with this order"),
                ("RELEASES", "or this"),
                ("NARROW", "its scope is the work-group, or less"),
                ("LOCAL", "it is one of local memory"),
                ("GENERIC", "the address tells of which memory it is"),
                ("ONE_VALUE", "all lanes store the same value"),
                ("SCATTERED", "each lane has an address of its own"),
                ("WATCHED", "work-items of the launch may meet there"),
                ("FENCED", "it is relaxed: what it releases is what a fence has released"),
            ),
            start=48,
        )
    ),
    Constant("GS_ACTIVITY_LINE", 64, "bytes; the records of devices begin at multiples of this"),
)

NUMBERS = (
    Numbers(
        "gs_argument_kind",
        "GS_ARGUMENT_",
        ("VALUE", "POINTER", "LOCAL", "IMAGE", "SAMPLER"),
        "What an argument of a kernel is.",
    ),
    Numbers(
        "gs_group_report",
        "GS_",
        (
            "RACE_READ_AFTER_WRITE",
            "RACE_WRITE_AFTER_READ",
            "RACE_WRITE_AFTER_WRITE",
            "DIVERGENT_BARRIER",
            "DIVERGENT_OPERATION",
            "INACTIVE_SOURCE",
            "DIVERGENT_COPY",
            "UNAWAITED_COPY",
        ),
        "What checkers report of the work-items of a group.",
    ),
    Numbers(
        "gs_texel_kind",
        "GS_TEXEL_",
        ("UINT", "SINT", "UNORM", "SNORM", "HALF", "FLOAT", "SMALL_FLOAT"),
        "How the bits of a channel are to be taken. SMALL_FLOAT has 11 or 10 bits, 5 of them "
        "exponent, and no sign; a channel of 2 bits with them is UNORM.",
    ),
    Numbers(
        "gs_channel_source",
        "GS_FROM_",
        ("TEXEL", "ZERO", "ONE"),
        "Where a channel comes from when a kernel reads.",
    ),
    Numbers(
        "gs_checker",
        "GS_CHECK_",
        ("MEMORY", "UNINIT", "RACES", "SYNC", "ARITHMETIC", "HOST", "PORTABILITY"),
        "What checked mode looks for (docs/internals/checking.md). The bit of one is 1 << number.",
    ),
)

STRUCTS = (
    Struct(
        "gs_bounds",
        "The memory that a pointer may lead to. Nothing: the first is not below the second.",
        (Field("lower", "uint64_t"), Field("upper", "uint64_t", "behind the last byte")),
    ),
    Struct(
        "gs_report_record",
        "What one work-item did that a checker reports.",
        (
            Field("work_item", "uint64_t", "its global id", count=3),
            Field("words", "uint64_t", "as the site has them", count=4),
        ),
    ),
    Struct(
        "gs_site_reports",
        "What happened at one site of a kernel in a launch: the first records, and how many.",
        (
            Field("count", "uint64_t"),
            Field("records", "gs_report_record", count=8),
        ),
    ),
    Struct(
        "gs_group_checks",
        "What a kernel tells the checkers of races and barriers by (native/check/group_checks.h).",
        (
            Field("begin_group", "const void *", "functions"),
            Field("arrive", "const void *"),
            Field("pass_barrier", "const void *"),
            Field("subgroup_barrier", "const void *"),
            Field("fence", "const void *"),
            Field("access", "const void *"),
            Field("begin_copy", "const void *"),
            Field("copy", "const void *"),
            Field("wait", "const void *"),
            Field("together", "const void *"),
            Field("first_run", "uint32_t", "the number of the first group among all"),
            Field("run_count", "uint32_t"),
            Field("told", "uint64_t", "a bit for each argument whose accesses are to be told"),
            Field("watched", "uint64_t", "and for each where work-items of the launch may meet"),
            Field("footprint", "void *", "a gs_footprint: what the launch accesses; or NULL"),
        ),
    ),
    Struct(
        "gs_shared_accesses",
        "What a kernel accesses that is checked for races: a bit for each argument, 63 for others.",
        (
            Field("read", "uint64_t"),
            Field("written", "uint64_t"),
            Field("shared", "uint64_t", "not just at the number of the work-item"),
            Field("rows", "uint64_t", "only at its number in rows, as long as an argument says"),
            Field("row_argument", "uint64_t", "which argument that is"),
        ),
    ),
    Struct(
        "gs_shadow_accesses",
        "What a kernel accesses that may be uninitialised: a bit for each argument, 63 for others.",
        (Field("read", "uint64_t"), Field("written", "uint64_t")),
    ),
    Struct(
        "gs_shadow_checks",
        "Where the shadow of memory lies that says which bits are uninitialised, and what kernels "
        "call where some are (native/check/uninitialised.h).",
        (
            Field("lower", "uint64_t", "the first address of the window that has a shadow"),
            Field("size", "uint64_t", "of the window"),
            Field("distance", "uint64_t", "from an address to its shadow"),
            Field("zeros", "uint64_t", "where other addresses find that all is initialised"),
            Field("unread", "uint64_t", "where their shadow is stored"),
            Field("inputs_are_written", "uint64_t", "all of what the launch may read"),
            Field("outputs_are_written", "uint64_t", "all of what it may write"),
            Field("begin_group", "const void *", "functions"),
            Field("look_again", "const void *"),
            Field("is_read_by_host", "const void *"),
            Field("copy", "const void *"),
        ),
    ),
    Struct(
        "gs_dispatch",
        "A launch, as compiled code reads it (docs/internals/compiler.md).",
        (
            Field("arguments", "const char *", "the packed argument block"),
            Field("global_offset", "uint64_t", count=3),
            Field("group_counts", "uint64_t", count=3),
            Field("group_size", "uint32_t", count=3),
            Field("work_dimensions", "uint32_t"),
            Field("print_buffer", "void *", "where printf writes"),
            Field("globals", "char *", "the module's program-scope variables"),
            Field("local_bytes", "uint64_t", "static and dynamic local memory, rounded up"),
            Field("streams", "uint64_t", "not 0 if results will not fit into the cache"),
            Field("reports", "gs_site_reports *", "checked mode: one for each site; or NULL"),
            Field("bounds", "const gs_bounds *", "checked mode: of each argument; or NULL"),
            Field("memory", "const void *", "checked mode: all of it, for `allows`; or NULL"),
            Field("allows", "const void *", "checked mode: a gs_allows_access; or NULL"),
            Field("group_checks", "const gs_group_checks *", "checked mode; or NULL"),
            Field("shadow", "const gs_shadow_checks *", "checked mode; or NULL"),
        ),
    ),
    Struct(
        "gs_launch_reports",
        "What checkers found in a launch, for Python.",
        (
            Field("sites", "const gs_site_reports *"),
            Field("site_count", "uint64_t"),
            Field("dispatch", "const gs_dispatch *"),
        ),
    ),
    Struct(
        "gs_race_party",
        "One of two commands that are in a race, for Python.",
        (
            Field("what", "const char *", "in words"),
            Field("function", "const char *", "that appended it"),
            Field("stack", "const void *", "of that call; or NULL"),
            Field("entry_point", "const void *", "of a launch; else NULL"),
            Field("dispatch", "const gs_dispatch *", "how large it was"),
            Field("site", "uint64_t"),
            Field("group", "uint64_t", "its number"),
            Field("item", "uint64_t", "its number in the group"),
            Field("access", "uint32_t", "0: reads, 1: writes, 2: an atomic operation"),
            Field("is_exact", "uint32_t", "0: the work-item accessed bytes beside these"),
        ),
    ),
    Struct(
        "gs_command_race",
        "Two commands that nothing orders, and what both access, for Python.",
        (
            Field("parties", "gs_race_party", count=2),
            Field("address", "uint64_t"),
            Field("bytes", "uint64_t"),
        ),
    ),
    Struct(
        "gs_memory_header",
        "Lies right before local memory (docs/internals/compiler.md).",
        (
            Field("saved", "char *", "what sub-groups keep at barriers, shared cells, tables"),
            Field("private", "char *", "the private variables of all work-items"),
            Field("group", "uint64_t", "written by the code: the group that it is at"),
        ),
    ),
    Struct(
        "gs_texel_channel",
        "Where a channel lies in a texel.",
        (
            Field("word", "uint8_t", "the number of a 32-bit word of the texel"),
            Field("shift", "uint8_t", "the first bit in that word"),
            Field("bits", "uint8_t"),
            Field("source", "uint8_t", "reading: gs_channel_source; writing: 0 to 3 for r g b a"),
        ),
    ),
    Struct(
        "gs_image_view",
        "An image, as compiled code reads it (docs/reference/images.md).",
        (
            Field("texels", "char *"),
            Field("width", "uint32_t", "in texels, as are the others; 1: there is no such axis"),
            Field("height", "uint32_t"),
            Field("depth", "uint32_t"),
            Field("layers", "uint32_t", "of an array; 0: it is none"),
            Field("row_pitch", "uint64_t", "bytes from row to row"),
            Field("slice_pitch", "uint64_t", "bytes from slice to slice, or from layer to layer"),
            Field("texel_bytes", "uint32_t"),
            Field("kind", "uint32_t", "gs_texel_kind"),
            Field("reading", "gs_texel_channel", "where r, g, b and a come from", count=4),
            Field("writing", "gs_texel_channel", "what goes into each channel", count=4),
            Field("channel_type", "uint32_t", "OpenCL's number; 0: it has none"),
            Field("channel_order", "uint32_t", "OpenCL's number"),
            Field("is_srgb", "uint32_t", "r, g and b are stored with the sRGB curve"),
            Field("samples", "uint32_t", "1"),
            Field("sampler", "uint64_t", "of a bindless sampled image: the sampler's flags"),
        ),
    ),
    Struct(
        "gs_argument",
        "An argument of a kernel.",
        (
            Field("kind", "uint32_t", "gs_argument_kind"),
            Field("size", "uint32_t", "bytes that a caller passes"),
            Field("offset", "uint32_t", "in the argument block"),
        ),
    ),
    Struct(
        "gs_entry_point_description",
        "A kernel of a module, as Python makes it known.",
        (
            Field("arguments", "const gs_argument *"),
            Field("argument_count", "uint32_t"),
            Field("block_bytes", "uint32_t"),
            Field("default_size", "uint32_t", "of a group, unless the program sets one", count=3),
            Field("size_is_required", "uint32_t", "the default is the only one allowed"),
            Field("most_items", "uint32_t", "in a group"),
            Field("most_local_bytes", "uint32_t"),
            Field("subgroup_size", "uint32_t"),
            Field("name", "const char *", is_text=True),
        ),
    ),
    Struct(
        "gs_source_lines",
        "Where in the source the code of a kernel comes from. Python keeps it as long as the code.",
        (
            Field("table", "const char *", "the DWARF line table, with addresses in memory"),
            Field("table_bytes", "uint64_t"),
            Field("sentences", "const char *const *", "of each location: for a sentence"),
            Field("excerpts", "const char *const *", "likewise, for a terminal; NULL: none"),
            Field("location_count", "uint64_t"),
        ),
    ),
    Struct(
        "gs_parameter",
        "Where an argument goes in the parameters of a GPU's kernel.",
        (
            Field("source", "uint32_t", "in the argument block"),
            Field("destination", "uint32_t", "in the parameters"),
            Field("size", "uint32_t"),
            Field("is_local", "uint32_t", "it is a place in local memory, counted behind static"),
        ),
    ),
    Struct(
        "gs_gpu_code",
        "A kernel as a GPU runs it. Offsets are those of implicit parameters, -1 if it has none.",
        (
            Field("function", "uint64_t", "a CUfunction"),
            Field("generation", "uint32_t", "of the CUDA context that it is of"),
            Field("parameter_bytes", "uint32_t"),
            Field("parameters", "const gs_parameter *"),
            Field("parameter_count", "uint32_t"),
            Field("global_offset", "int32_t"),
            Field("global_size", "int32_t"),
            Field("work_dim", "int32_t"),
            Field("enqueued_local_size", "int32_t"),
            Field("print_buffer", "int32_t"),
        ),
    ),
    Struct(
        "gs_code_description",
        "A kernel compiled for one group size, or another variant of it, as Python makes it known.",
        (
            Field("run", "gs_run_groups"),
            Field("local_bytes", "uint64_t"),
            Field("private_bytes", "uint64_t"),
            Field("saved_bytes", "uint64_t"),
            Field("formats", "const char *const *", "of its printf calls"),
            Field("format_count", "uint32_t"),
            Field("has_loops", "uint32_t"),
            Field("may_wait", "uint32_t"),
            Field(
                "writes_back", "uint32_t", "whether each part ends with costly atomic operations"
            ),
            Field("refills", "uint32_t", "whether free lanes take the next work-items of a part"),
            Field("variants_to_come", "uint32_t", "how many others can be compiled"),
            Field("variants_are_cached", "uint32_t", "then they only have to be loaded"),
            Field("group_size", "uint32_t", count=3),
            Field("lines", "const gs_source_lines *", "NULL: they are not known"),
            Field("site_count", "uint32_t", "where checkers may report something"),
            Field("needs_memory", "uint32_t", "whether it asks `allows`"),
            Field("accesses", "gs_shared_accesses", "what it tells the race checker"),
            Field("shadow_accesses", "gs_shadow_accesses", "whose shadow it needs"),
            Field("gpu", "const gs_gpu_code *", "NULL: it is code of the CPU"),
        ),
    ),
    Struct(
        "gs_allocation_facts",
        "What Python may know of an allocation.",
        (
            Field("base", "uint64_t"),
            Field("size", "uint64_t"),
            Field("device", "uint64_t"),
            Field("type", "uint64_t"),
            Field("id", "uint64_t"),
            Field("fd", "int64_t"),
            Field("imported", "uint64_t"),
            Field("of_kind", "uint64_t", "made by a device that is not the CPU"),
        ),
    ),
    Struct(
        "gs_memory_facts",
        "What checked mode knows of the memory at an address.",
        (
            Field("base", "uint64_t"),
            Field("size", "uint64_t"),
            Field("type", "uint64_t", "ze_memory_type_t"),
            Field("is_freed", "uint64_t"),
            Field("allocated_by", "uint64_t", "a gs_host_stack, or 0"),
            Field("freed_by", "uint64_t", "likewise"),
        ),
    ),
    Struct(
        "gs_speed",
        "How fast a device gets at memory: bytes in a second, and nanoseconds.",
        (
            Field("copy", "uint64_t"),
            Field("read", "uint64_t"),
            Field("write", "uint64_t"),
            Field("latency", "uint64_t"),
        ),
    ),
    Struct(
        "gs_activity_head",
        "What a process does on its devices: the head of the page that others read.",
        (
            Field("magic", "uint64_t", "GS_ACTIVITY_MAGIC"),
            Field("pid", "uint64_t"),
            Field("start_time", "uint64_t", "of the process, in the kernel's ticks"),
            Field("origin", "uint64_t", "CLOCK_MONOTONIC from which times are counted"),
            Field("used", "uint64_t", "bytes of the page that have records", is_atomic=True),
        ),
    ),
    Struct(
        "gs_device_activity",
        "One device in that page.",
        (
            Field("size", "uint32_t", "bytes up to the next record"),
            Field("workers", "uint32_t"),
            Field("device", "uint32_t", "its number on the machine"),
            Field("subdevice", "int32_t", "its number in the device, or -1"),
            Field("memory_bytes", "uint64_t"),
            Field("memory_used", "uint64_t", "with that of sub-devices", is_atomic=True),
            Field("memory_shared", "uint64_t", is_atomic=True),
            Field("all_offset", "uint32_t", "of the meter of all work, from the record's start"),
            Field("copies_offset", "uint32_t", "of the meter of queues that only copy"),
        ),
    ),
    Struct(
        "gs_meter",
        "How many threads work, and for how long the words of each have run.",
        (
            Field("level", "uint32_t", is_atomic=True),
            Field("unused", "uint32_t"),
            Field("words", "uint64_t", count=0, is_atomic=True),
        ),
    ),
)

RUN_GROUPS = Function(
    "gs_run_groups",
    "Compiled code: runs groups of a launch, numbered from 0, x fastest.",
    (
        ("const gs_dispatch *", "dispatch"),
        ("uint64_t", "first"),
        ("uint64_t", "count"),
        ("char *", "local"),
    ),
)

LAYOUTS = Layouts(STRUCTS)
