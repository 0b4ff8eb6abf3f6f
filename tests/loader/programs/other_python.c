/* Brings a libpython of another version into the process, then asks for the driver. Prints the result.
 * With a second argument, the driver is asked to use that libpython. */
#include <dlfcn.h>

#include "common.h"

int main(int count, char **arguments) {
    REQUIRE(count >= 2);
    if (dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    void (*share)(void) = NULL;
    *(void **)&share = dlsym(RTLD_DEFAULT, "gs_share_python");
    if (count > 2 && share != NULL)
        share();
    printf("zeInit 0x%x\n", (unsigned)zeInit(0));
    return 0;
}
