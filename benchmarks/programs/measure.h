/* What the benchmark programs share: a clock, and one line of output for each sample.
 * A sample is `name value`; the value is nanoseconds for one operation. */
#ifndef MEASURE_H
#define MEASURE_H

#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REQUIRE(condition)                                                            \
    do {                                                                              \
        if (!(condition)) {                                                           \
            fprintf(stderr, "%s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                                  \
        }                                                                             \
    } while (0)

static inline uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static inline void pause_for(uint64_t nanoseconds) {
    nanosleep(&(struct timespec){(time_t)(nanoseconds / 1000000000u), (long)(nanoseconds % 1000000000u)}, NULL);
}

static inline void print_sample(const char *name, uint64_t nanoseconds, uint64_t operations) {
    printf("%s %.3f\n", name, (double)nanoseconds / (double)operations);
}

static inline void *open_library(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        exit(1);
    }
    return library;
}

static inline uint8_t *read_file(const char *path, size_t *size) {
    FILE *file = fopen(path, "rb");
    REQUIRE(file != NULL && fseek(file, 0, SEEK_END) == 0);
    long end = ftell(file);
    REQUIRE(end > 0);
    rewind(file);
    uint8_t *content = malloc((size_t)end);
    REQUIRE(content != NULL && fread(content, 1, (size_t)end, file) == (size_t)end);
    fclose(file);
    *size = (size_t)end;
    return content;
}

static inline uint64_t number(const char *text) {
    char *end = NULL;
    uint64_t value = strtoull(text, &end, 10);
    REQUIRE(*text != '\0' && *end == '\0');
    return value;
}

#endif
