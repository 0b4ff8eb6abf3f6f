/* What Intel's driver has besides the specification, as far as programs ask for it. */
#ifndef GS_INTEL_INTEL_H
#define GS_INTEL_INTEL_H

#include "abi/abi.h"

/* Whether OpenXLA's plugin for Intel's GPUs is loaded; from then on it takes memory of our devices for that of a GPU. */
GS_EXPORT bool gs_openxla_adjust(void);

/* Types of structs in a chain. Their layouts are those that the specification gave them later. */
#define ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_SYNC_ALLOC_PROPERTIES ((ze_structure_type_t)0x3001d)
#define ZEX_STRUCTURE_COUNTER_BASED_EVENT_EXTERNAL_STORAGE_ALLOC_PROPERTIES ((ze_structure_type_t)0x30027)
#define ZEX_STRUCTURE_TYPE_RECORD_REPLAY_GRAPH_EXP_DUMP_DESC ((ze_structure_type_t)0x30031)

#endif
