/* Copies of memory that the device writes again and again.
 *
 * To be told of a written page costs a page fault, each time. Where most pages of an allocation are written by each
 * submission, it is faster not to be told and to compare all of it with a copy. Only for memory that this process alone
 * writes. */
#ifndef GC_MEMORY_SHADOWS_H
#define GC_MEMORY_SHADOWS_H

#include "capture/memory/ranges.h"

bool gc_shadow_any(void);
/* Some pages of a range were written by a submission: whether that happens so often that the range should have a shadow. */
bool gc_shadow_is_due(gc_range *range, size_t pages);
/* The range has a shadow from now on, and is not watched; tells of the pages that were written since the last look. */
void gc_shadow_begin(gc_range *range, gc_pages_found found);
/* Tells of all pages that differ from the shadow, which then has them. */
void gc_shadow_compare(gc_range *range, gc_pages_found found);
/* After a submission: whether little of the range was written for some time. */
bool gc_shadow_is_calm(gc_range *range, size_t pages);
/* The range is watched again at once; tells of the pages that differ from the shadow by now. */
void gc_shadow_end(gc_range *range, gc_pages_found found);
/* Gives the copy back. */
void gc_shadow_drop(gc_range *range);

#endif
