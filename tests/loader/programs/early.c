/* A profiler that is loaded before the program (LD_PRELOAD) and starts the driver before the program's main. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

__attribute__((constructor)) static void start_early(void) {
    uint32_t (*init)(uint32_t) = NULL;
    void *loader = dlopen("libze_loader.so.1", RTLD_LAZY);
    if (loader != NULL)
        *(void **)&init = dlsym(loader, "zeInit");
    printf("early zeInit 0x%x\n", init != NULL ? (unsigned)init(0) : 1u);
    fflush(stdout);
}
