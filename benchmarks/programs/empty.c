/* A function that does nothing, in a library of its own: what a call costs before anyone does any work. */
#include <stdint.h>

uint32_t empty(void *first, void *second, void *third, void *fourth);

uint32_t empty(void *first, void *second, void *third, void *fourth) {
    (void)first;
    (void)second;
    (void)third;
    (void)fourth;
    return 0;
}
