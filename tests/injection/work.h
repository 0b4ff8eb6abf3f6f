/* Pieces of work with the API that may fail anywhere, because memory or files are exhausted, and leave nothing behind. */
#ifndef WORK_H
#define WORK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "generated/functions.h"
#include "generated/ze_types.h"

typedef struct place {
    ze_driver_handle_t driver;
    ze_device_handle_t device;
    ze_context_handle_t context;
} place;

extern place on;

/* The file of the kernels that the work uses, which is read once: later there may be no right or no file to read it. */
extern const char *kernels_path;
extern uint8_t kernels[1 << 20];
extern size_t kernels_size;
void read_kernels(void);

/* A failure that the specification has for a want of memory, with a sentence. Ends the process for any other, and for
 * all while nothing is made to fail. */
void take_failure(const char *call, ze_result_t result);

/* Ends the process unless things may fail now: the program itself has found no file or memory. */
void take_own_failure(const char *what);

/* Something is not as it should be: ends the process. */
void give_up(const char *file, int line, const char *what);

/* Gives the piece of work up if the call fails. */
#define TRY(call)                             \
    do {                                      \
        ze_result_t try_result = (call);      \
        if (try_result != ZE_RESULT_SUCCESS) { \
            take_failure(#call, try_result);  \
            return false;                     \
        }                                     \
    } while (0)

#define REQUIRE(condition)                             \
    do {                                               \
        if (!(condition))                              \
            give_up(__FILE__, __LINE__, #condition);   \
    } while (0)

/* Has an object destroyed when the piece of work ends, the last one first. */
typedef ze_result_t (*ending)(void *);
void destroy_later(ending end, void *object);
#define LATER(end, object) destroy_later((ending)(void (*)(void))(end), object)

/* Objects in one line each; NULL, with the failure taken, if they cannot be made. */
void *memory_of(size_t size);
ze_command_list_handle_t list_of(ze_command_list_flags_t flags);
ze_command_list_handle_t immediate_of(ze_command_queue_flags_t flags);
ze_event_pool_handle_t pool_of(uint32_t count, ze_event_pool_flags_t flags);
ze_event_handle_t event_of(ze_event_pool_handle_t pool, uint32_t index);
ze_event_handle_t counter_event_of(ze_event_counter_based_flags_t flags);

#define MADE(object) \
    do {             \
        if ((object) == NULL) \
            return false;     \
    } while (0)

typedef struct work {
    const char *name;
    bool (*run)(void);
} work;

extern const work memory_work[], command_work[], kernel_work[], library_work[];

#endif
