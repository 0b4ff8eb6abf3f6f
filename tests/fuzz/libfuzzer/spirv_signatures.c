/* The recorder's reader of SPIR-V modules, native/capture/recorder/spirv.c. */
#include <stdlib.h>

#include "capture/recorder/spirv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    gc_signature *each = gc_spirv_signatures(data, size);
    while (each != NULL) {
        gc_signature *next = each->next;
        uint64_t all = 0;
        for (uint32_t place = 0; place < each->count; place++)
            all += each->sizes[place];
        free(each->name);
        free(each);
        if (all == UINT64_MAX)
            abort();
        each = next;
    }
    return 0;
}
