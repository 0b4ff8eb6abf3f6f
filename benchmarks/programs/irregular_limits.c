/* What this machine can do on irregular kernels when C is written for them by hand.
 *
 * Built with -O3 -march=native -ffast-math -fopenmp. A sample is the time in nanoseconds for what one launch of the
 * kernel does. Usage: irregular_limits WHICH RUNS FOLDER RESULT; the folder has a file for each argument of the
 * kernel, named by its index, and gets the file `result`: what the first run has left in the argument RESULT. */
#include <sys/mman.h>

#include "measure.h"

enum { MOST_ARGUMENTS = 16, HUGE_PAGE = 1 << 21 };

struct argument {
    void *at;
    size_t bytes;
};

static int32_t whole(const struct argument *argument) {
    REQUIRE(argument->bytes == sizeof(int32_t));
    return *(const int32_t *)argument->at;
}

#define COUNT(argument) ((argument).bytes / sizeof(int32_t))

/* --- Sparse matrices ------------------------------------------------------------------------------- */

/* Rows are long or short: those of a few nonzeros do not pay for vectors. */
static void spmv_csr(struct argument *given) {
    const int32_t *offsets = given[0].at, *columns = given[1].at;
    const float *values = given[2].at, *x = given[3].at;
    float *y = given[4].at;
    int rows = whole(&given[5]);
#pragma omp parallel for schedule(dynamic, 512)
    for (int row = 0; row < rows; row++) {
        float sums[4] = {0};
        int k = offsets[row], end = offsets[row + 1];
        for (; k + 4 <= end; k += 4)
            for (int each = 0; each < 4; each++)
                sums[each] += values[k + each] * x[columns[k + each]];
        for (; k < end; k++)
            sums[0] += values[k] * x[columns[k]];
        y[row] = (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }
}

/* --- Tables ---------------------------------------------------------------------------------------- */

/* One load for each entry: no CPU's gather instruction is faster than that, and some are slower. */
static __attribute__((optimize("no-tree-vectorize", "unroll-loops"))) void gather_part(
    const float *restrict table, const int32_t *restrict index, float *restrict result, size_t count) {
    for (size_t i = 0; i < count; i++)
        result[i] = table[index[i]];
}

static void gather(struct argument *given) {
    enum { PART = 4096 };
    const float *restrict table = given[0].at;
    const int32_t *restrict index = given[1].at;
    float *restrict result = given[2].at;
    size_t count = COUNT(given[2]);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i += PART)
        gather_part(table, index + i, result + i, count - i < PART ? count - i : PART);
}

/* Without branches, for several keys at once, so that their cache misses overlap. */
static void binary_search(struct argument *given) {
    enum { ABREAST = 16 };
    const uint32_t *table = given[0].at, *keys = given[2].at;
    int32_t *positions = given[3].at, entries = whole(&given[1]);
    size_t count = COUNT(given[3]);
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < count; first += ABREAST) {
        int32_t low[ABREAST] = {0};
        for (int32_t left = entries; left > 1;) {
            int32_t half = left / 2;
            for (int k = 0; k < ABREAST; k++)
                low[k] += table[low[k] + half] <= keys[first + k] ? half : 0;
            left -= half;
        }
        for (int k = 0; k < ABREAST; k++)
            positions[first + k] = table[low[k]] == keys[first + k] ? low[k] : -1;
    }
}

/* Fetches the slots of later keys while it looks for one. */
static void hash_probe(struct argument *given) {
    enum { AHEAD = 16 };
    const uint32_t *keys = given[0].at, *wanted = given[3].at;
    const int32_t *values = given[1].at;
    int32_t *found = given[4].at, bits = whole(&given[2]);
    uint32_t mask = (1u << bits) - 1;
    size_t count = COUNT(given[4]);
#pragma omp parallel for schedule(static)
    for (size_t i = 0; i < count; i++) {
        if (i + AHEAD < count) {
            uint32_t later = (wanted[i + AHEAD] * 2654435761u) >> (32 - bits);
            __builtin_prefetch(&keys[later]);
            __builtin_prefetch(&values[later]);
        }
        uint32_t key = wanted[i], slot = (key * 2654435761u) >> (32 - bits);
        while (keys[slot] != 0 && keys[slot] != key)
            slot = (slot + 1) & mask;
        found[i] = keys[slot] == key ? values[slot] : -1;
    }
}

/* --- Loops ----------------------------------------------------------------------------------------- */

/* A block of work-items, sorted by trip count, so that those in a vector end together. */
static void divergent_loop(struct argument *given) {
    enum { BLOCK = 1024, ABREAST = 32, CLASSES = 64 };
    const uint32_t *start = given[0].at;
    const int32_t *steps = given[1].at;
    uint32_t *last = given[2].at;
    size_t count = COUNT(given[2]);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t first = 0; first < count; first += BLOCK) {
        int32_t order[BLOCK], begin[CLASSES + 1] = {0};
        for (int i = 0; i < BLOCK; i++)
            begin[(steps[first + i] >= CLASSES ? CLASSES - 1 : steps[first + i]) + 1]++;
        for (int i = 0; i < CLASSES; i++)
            begin[i + 1] += begin[i];
        for (int i = 0; i < BLOCK; i++)
            order[begin[steps[first + i] >= CLASSES ? CLASSES - 1 : steps[first + i]]++] = i;
        for (int block = 0; block < BLOCK; block += ABREAST) {
            uint32_t state[ABREAST];
            int32_t left[ABREAST], most = 0;
            for (int k = 0; k < ABREAST; k++) {
                state[k] = start[first + (size_t)order[block + k]];
                left[k] = steps[first + (size_t)order[block + k]];
                most = left[k] > most ? left[k] : most;
            }
            for (int step = 0; step < most; step++) {
                for (int k = 0; k < ABREAST; k++) {
                    uint32_t next = state[k];
                    next ^= next << 13;
                    next ^= next >> 17;
                    next ^= next << 5;
                    state[k] = step < left[k] ? next : state[k];
                }
            }
            for (int k = 0; k < ABREAST; k++)
                last[first + (size_t)order[block + k]] = state[k];
        }
    }
}

/* --- Images ---------------------------------------------------------------------------------------- */

static int between(int number, int low, int high) { return number < low ? low : number > high ? high : number; }

/* A row at a time: the pixels near its ends by themselves, those between without looking for borders. */
static inline __attribute__((always_inline)) void convolve(struct argument *given, int radius) {
    const float *restrict image = given[0].at, *restrict weights = given[1].at;
    float *restrict result = given[2].at;
    int width = whole(&given[3]), height = whole(&given[4]), across = 2 * radius + 1;
#pragma omp parallel for schedule(static)
    for (int y = 0; y < height; y++) {
        const float *rows[8];
        for (int k = 0; k < across; k++)
            rows[k] = image + (size_t)between(y + k - radius, 0, height - 1) * (size_t)width;
        float *to = result + (size_t)y * (size_t)width;
#pragma omp simd
        for (int x = radius; x < width - radius; x++) {
            float sum = 0.0f;
            for (int row = 0; row < across; row++)
                for (int column = 0; column < across; column++)
                    sum += weights[row * across + column] * rows[row][x + column - radius];
            to[x] = sum;
        }
        for (int k = 0; k < 2 * radius; k++) {
            int x = k < radius ? k : width - 1 - (k - radius);
            float sum = 0.0f;
            for (int row = 0; row < across; row++)
                for (int column = 0; column < across; column++)
                    sum += weights[row * across + column] * rows[row][between(x + column - radius, 0, width - 1)];
            to[x] = sum;
        }
    }
}

static void convolution_3x3(struct argument *given) { convolve(given, 1); }
static void convolution(struct argument *given) { convolve(given, 2); }

/* --- Measuring ------------------------------------------------------------------------------------- */

static struct argument argument_from(const char *folder, unsigned index) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%u", folder, index);
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return (struct argument){0};
    fseek(file, 0, SEEK_END);
    struct argument read = {.bytes = (size_t)ftell(file)};
    rewind(file);
    read.at = aligned_alloc(HUGE_PAGE, (read.bytes + HUGE_PAGE) / HUGE_PAGE * HUGE_PAGE);
    REQUIRE(read.at != NULL);
    madvise(read.at, read.bytes, MADV_HUGEPAGE);
    REQUIRE(fread(read.at, 1, read.bytes, file) == read.bytes);
    fclose(file);
    return read;
}

static void write_result(const char *folder, const struct argument *result) {
    char path[4096];
    snprintf(path, sizeof path, "%s/result", folder);
    FILE *file = fopen(path, "wb");
    REQUIRE(file != NULL && fwrite(result->at, 1, result->bytes, file) == result->bytes);
    fclose(file);
}

int main(int count, char **arguments) {
    REQUIRE(count == 5);
    const struct {
        const char *name;
        void (*once)(struct argument *);
    } limits[] = {
        {"spmv_csr", spmv_csr},
        {"gather", gather},
        {"binary_search", binary_search},
        {"hash_probe", hash_probe},
        {"divergent_loop", divergent_loop},
        {"convolution_3x3", convolution_3x3},
        {"convolution", convolution},
    };
    uint64_t runs = number(arguments[2]), result = number(arguments[4]);
    struct argument given[MOST_ARGUMENTS];
    for (unsigned index = 0; index < MOST_ARGUMENTS; index++)
        given[index] = argument_from(arguments[3], index);
    REQUIRE(result < MOST_ARGUMENTS);
    for (size_t which = 0; which < sizeof limits / sizeof *limits; which++) {
        if (strcmp(limits[which].name, arguments[1]) != 0)
            continue;
        limits[which].once(given);
        write_result(arguments[3], &given[result]);
        for (uint64_t run = 0; run < runs; run++) {
            uint64_t start = now();
            limits[which].once(given);
            print_sample(arguments[1], now() - start, 1);
        }
        return 0;
    }
    fprintf(stderr, "there is no limit %s\n", arguments[1]);
    return 1;
}
