/* From an address of a kernel's code to a place in its source. */
#ifndef GS_FAULTS_SOURCE_LINES_H
#define GS_FAULTS_SOURCE_LINES_H

#include <stddef.h>
#include <stdint.h>

#include "generated/shared.h"

/* The number of the location, from 1 on, that the code at an address comes from; 0 if that is not known. */
uint32_t gs_location_at(const gs_source_lines *lines, uintptr_t address);

#endif
