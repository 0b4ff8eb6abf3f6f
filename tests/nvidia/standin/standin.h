/* A stand-in for the CUDA driver, for tests on machines without a GPU. Nothing here is NVIDIA's.
 *
 * It has what the driver's behaviour depends on: streams are threads that work through operations later than the call that
 * asked for them; memory of the device cannot be touched by the host (its pages are mapped a second time, where only the
 * stand-in looks); kernels are C functions, found by the names of entries in what is loaded; and calls fail if told to. */
#ifndef STANDIN_H
#define STANDIN_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NOT_FOUND = 500,
    NOT_READY = 600,
    ILLEGAL_ADDRESS = 700,
    INVALID_PTX = 218,
};

/* memory.c */
typedef struct block {
    struct block *next;
    char *base, *alias; /* alias: where the stand-in reads and writes it; the same for memory of the host */
    size_t size;
    int device;
    enum { DEVICE_MEMORY, HOST_MEMORY, MANAGED_MEMORY } kind;
    bool is_registered; /* the program's own */
} block;

/* Where the bytes at an address are, for the stand-in. NULL if `size` bytes there run over the end of a block. */
char *standin_find(uint64_t address, size_t size);
char *standin_find_to_write(uint64_t address, size_t size);

/* The block that an address lies in; NULL if it is not the stand-in's. */
const block *standin_block(uint64_t address);
void standin_forget_memory(void);
uint64_t standin_variable(const char *name, size_t size);

/* Whether the host may not touch what lies at an address. */
bool standin_is_device(uint64_t address);

/* Makes a block of device memory of pages that a file has. */
uint64_t standin_add_file(int fd, size_t size);

/* Counts bytes of the device's memory, negative ones back. False: it has not so many. */
bool standin_charge(int64_t bytes);

/* The device whose context the calling thread uses, or whose stream it is. */
extern _Thread_local int standin_device;
extern _Thread_local bool standin_is_kernel; /* it runs one, which reaches no other device's memory unless that is mapped for it */
enum { MOST_DEVICES = 8 };
int standin_device_count(void);

/* virtual.c: whether addresses are reserved, and where the bytes are that lie behind them, NULL if they may not be used so. */
bool standin_is_virtual(uint64_t address);
char *standin_find_virtual(uint64_t address, size_t size, bool writes);

/* stream.c */
typedef struct operation {
    struct operation *next;
    int (*run)(struct operation *self);
    uint64_t to, from;
    size_t size, count, pitch_to, pitch_from;
    uint32_t value;
    struct event *event;
    const struct kernel *kernel;
    uint32_t groups[3], group_size[3], shared_bytes;
    size_t parameter_bytes;
    char parameters[4096];
} operation;
int standin_enqueue(void *stream, const operation *described);
int standin_drain(void *stream);

/* The error that the context has got, which it answers everything with from then on. */
extern _Atomic int standin_error;

/* kernels.c */
typedef struct kernel {
    const char *name;
    int (*run)(const operation *launch);
    int static_shared, most_threads;
} kernel;
const kernel *standin_kernel(const char *name);

/* Counts a call, and whether it is to fail: STANDIN_FAIL is "name:number:error,...", numbers from 1. */
int standin_called(const char *name);

/* How often a function was called so far, by any thread and by the calling one: for tests, which find these by name. */
int standin_calls(const char *name);
int standin_calls_here(const char *name);

#endif
