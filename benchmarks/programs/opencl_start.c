/* Asks an OpenCL runtime for its platform and ends. Whoever starts it takes the time.
 * Usage: opencl_start ICD_LOADER */
#include "opencl.h"

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    open_opencl(arguments[1]);
    find_platform();
    return 0;
}
