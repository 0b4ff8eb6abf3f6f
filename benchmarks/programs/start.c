/* Initialises the driver and ends. Whoever starts it takes the time.
 * Usage: start LIBRARY */
#include "level_zero.h"

int main(int count, char **arguments) {
    REQUIRE(count == 2);
    open_level_zero(arguments[1]);
    CHECK(ze.zeInit(0));
    return 0;
}
