/* Brings a libpython of another version into the process, then asks for the driver. Prints the result. */
#include <dlfcn.h>

#include "common.h"

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    if (dlopen(arguments[1], RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    printf("zeInit 0x%x\n", (unsigned)zeInit(0));
    return 0;
}
