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

/* Four sums, so that an addition does not wait for the one before. Most rows are too short for vectors. */
static inline float dot(const float *values, const int32_t *columns, const float *x, int k, int end) {
    float sums[4] = {0};
    for (; k + 4 <= end; k += 4)
        for (int each = 0; each < 4; each++)
            sums[each] += values[k + each] * x[columns[k + each]];
    for (; k < end; k++)
        sums[0] += values[k] * x[columns[k]];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

static void spmv_csr(struct argument *given) {
    const int32_t *offsets = given[0].at, *columns = given[1].at;
    const float *values = given[2].at, *x = given[3].at;
    float *y = given[4].at;
#pragma omp parallel for schedule(dynamic, 512)
    for (int row = 0; row < whole(&given[5]); row++)
        y[row] = dot(values, columns, x, offsets[row], offsets[row + 1]);
}

/* Blocks of rows that stay in the first cache, one column after the other; a column without nonzeros ends a block. */
static void spmv_ell(struct argument *given) {
    enum { BLOCK = 64 };
    const int32_t *columns = given[0].at;
    const float *values = given[1].at, *x = given[2].at;
    float *y = given[3].at;
    int rows = whole(&given[4]), width = whole(&given[5]);
#pragma omp parallel for schedule(dynamic, 16)
    for (int first = 0; first < rows; first += BLOCK) {
        float sums[BLOCK] = {0};
        for (int k = 0; k < width; k++) {
            const float *from = values + (size_t)k * (size_t)rows + first;
            const int32_t *at = columns + (size_t)k * (size_t)rows + first;
            float any = 0.0f;
            for (int each = 0; each < BLOCK; each++)
                any += from[each] * from[each];
            if (any == 0.0f)
                break;
            for (int each = 0; each < BLOCK; each++)
                if (from[each] != 0.0f)
                    sums[each] += from[each] * x[at[each]];
        }
        memcpy(y + first, sums, sizeof sums);
    }
}

static void triangular_solve(struct argument *given) {
    const int32_t *offsets = given[0].at, *columns = given[1].at, *level = given[4].at;
    const float *values = given[2].at, *right = given[3].at;
    float *x = given[5].at;
#pragma omp parallel for schedule(dynamic, 512)
    for (int i = 0; i < whole(&given[6]); i++) {
        int row = level[i], diagonal = offsets[row + 1] - 1;
        x[row] = (right[row] - dot(values, columns, x, offsets[row], diagonal)) / values[diagonal];
    }
}

/* --- Graphs ---------------------------------------------------------------------------------------- */

static void bfs_level(struct argument *given) {
    const int32_t *offsets = given[0].at, *edges = given[1].at, *levels = given[2].at;
    uint8_t *next = given[3].at;
    int level = whole(&given[4]);
#pragma omp parallel for schedule(dynamic, 1024)
    for (size_t node = 0; node < given[3].bytes; node++)
        if (levels[node] == level)
            for (int k = offsets[node]; k < offsets[node + 1]; k++)
                if (levels[edges[k]] < 0)
                    next[edges[k]] = 1;
}

/* Divides once for each node instead of once for each edge. */
static void pagerank_step(struct argument *given) {
    const int32_t *restrict offsets = given[0].at, *restrict sources = given[1].at, *restrict degrees = given[2].at;
    const float *restrict before = given[3].at;
    float *restrict after = given[4].at;
    int nodes = whole(&given[5]);
    static float *parts;
    if (parts == NULL)
        parts = malloc(given[4].bytes);
    REQUIRE(parts != NULL);
#pragma omp parallel
    {
#pragma omp for schedule(static)
        for (int node = 0; node < nodes; node++)
            parts[node] = before[node] / (float)degrees[node];
#pragma omp for schedule(dynamic, 512)
        for (int node = 0; node < nodes; node++) {
            float sum = 0.0f, other = 0.0f;
            int k = offsets[node], end = offsets[node + 1];
            for (; k + 2 <= end; k += 2)
                sum += parts[sources[k]], other += parts[sources[k + 1]];
            if (k < end)
                sum += parts[sources[k]];
            after[node] = 0.15f / (float)nodes + 0.85f * (sum + other);
        }
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

/* --- Texts ----------------------------------------------------------------------------------------- */

/* Compares a letter with a block of places at once; most blocks end after a few letters. */
static void string_match(struct argument *given) {
    enum { BLOCK = 128 };
    const uint8_t *text = given[0].at, *pattern = given[1].at;
    uint8_t *matches = given[3].at;
    int length = whole(&given[2]);
#pragma omp parallel for schedule(static)
    for (size_t first = 0; first < given[3].bytes; first += BLOCK) {
        uint8_t same[BLOCK];
        for (int k = 0; k < BLOCK; k++)
            same[k] = text[first + (size_t)k] == pattern[0];
        for (int letter = 1; letter < length; letter++) {
            uint8_t any = 0;
            for (int k = 0; k < BLOCK; k++) {
                same[k] &= text[first + (size_t)(k + letter)] == pattern[letter];
                any |= same[k];
            }
            if (any == 0)
                break;
        }
        memcpy(matches + first, same, sizeof same);
    }
}

/* Writes a little beyond the end of a run, which the next one overwrites; only long runs need a loop. */
static void run_length_decode(struct argument *given) {
    enum { ABREAST = 16 };
    const int32_t *values = given[0].at, *starts = given[1].at;
    int32_t *decoded = given[2].at;
    int runs = (int)COUNT(given[0]), end = (int)COUNT(given[2]);
#pragma omp parallel for schedule(static)
    for (int part = 0; part < 64; part++) {
        int first = (int)((int64_t)runs * part / 64), last = (int)((int64_t)runs * (part + 1) / 64);
        int mine = starts[last] < end - ABREAST ? starts[last] : end - ABREAST;
        for (int run = first; run < last; run++) {
            int k = starts[run], stop = starts[run + 1];
            for (; k < stop && k + ABREAST <= mine; k += ABREAST)
                for (int each = 0; each < ABREAST; each++)
                    decoded[k + each] = values[run];
            for (; k < stop; k++)
                decoded[k] = values[run];
        }
    }
}

/* Four words at once: a multiplication takes longer than the next one has to wait. */
static void fnv_hash(struct argument *given) {
    enum { ABREAST = 4 };
    const uint8_t *content = given[0].at;
    const int32_t *starts = given[1].at;
    uint32_t *hashes = given[2].at;
#pragma omp parallel for schedule(dynamic, 256)
    for (size_t word = 0; word < COUNT(given[2]); word += ABREAST) {
        uint32_t hash[ABREAST];
        int k[ABREAST], shortest = INT32_MAX;
        for (int each = 0; each < ABREAST; each++) {
            int length = starts[word + (size_t)each + 1] - starts[word + (size_t)each];
            shortest = length < shortest ? length : shortest;
            k[each] = starts[word + (size_t)each];
            hash[each] = 2166136261u;
        }
        for (int step = 0; step < shortest; step++)
            for (int each = 0; each < ABREAST; each++)
                hash[each] = (hash[each] ^ content[k[each]++]) * 16777619u;
        for (int each = 0; each < ABREAST; each++) {
            for (; k[each] < starts[word + (size_t)each + 1]; k[each]++)
                hash[each] = (hash[each] ^ content[k[each]]) * 16777619u;
            hashes[word + (size_t)each] = hash[each];
        }
    }
}

/* --- Sorting --------------------------------------------------------------------------------------- */

/* The keys of many movers follow each other: where the first one's go, the others' go after them. */
static void radix_pass(struct argument *given) {
    enum { DIGITS = 16, KEYS = 64, PARTS = 64 };
    const uint32_t *keys = given[0].at, *places = given[1].at;
    uint32_t *sorted = given[2].at;
    int shift = whole(&given[3]);
    size_t movers = COUNT(given[1]) / DIGITS;
#pragma omp parallel for schedule(static)
    for (size_t part = 0; part < PARTS; part++) {
        size_t first = movers * part / PARTS, last = movers * (part + 1) / PARTS;
        uint32_t next[DIGITS];
        for (size_t digit = 0; digit < DIGITS; digit++)
            next[digit] = places[digit * movers + first];
        for (size_t i = first * KEYS; i < last * KEYS; i++)
            sorted[next[(keys[i] >> shift) & (DIGITS - 1)]++] = keys[i];
    }
}

/* --- Loops ----------------------------------------------------------------------------------------- */

enum { CLASSES = 192, SHORT = 64, LONGER = 32 };

static int class_of(int32_t steps) {
    int class = steps < SHORT ? steps : SHORT + (steps - SHORT) / LONGER;
    return class < CLASSES ? class : CLASSES - 1;
}

/* A block of work-items, sorted by trip count, so that those in a vector end together. */
static void divergent_loop(struct argument *given) {
    enum { BLOCK = 1024, ABREAST = 32 };
    const uint32_t *start = given[0].at;
    const int32_t *steps = given[1].at;
    uint32_t *last = given[2].at;
    size_t count = COUNT(given[2]);
#pragma omp parallel for schedule(dynamic, 1)
    for (size_t first = 0; first < count; first += BLOCK) {
        int32_t order[BLOCK], begin[CLASSES + 1] = {0};
        for (size_t i = 0; i < BLOCK; i++)
            begin[class_of(steps[first + i]) + 1]++;
        for (int i = 0; i < CLASSES; i++)
            begin[i + 1] += begin[i];
        for (size_t i = 0; i < BLOCK; i++)
            order[begin[class_of(steps[first + i])]++] = (int32_t)i;
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

static inline uint32_t shifted(uint32_t state) {
    state ^= state << 13;
    state ^= state >> 17;
    return state ^ state << 5;
}

static inline float coordinate(uint32_t state) { return 2.0f * ((float)(int32_t)(state >> 8) * 0x1p-24f) - 1.0f; }

/* Each lane takes the next work-item as soon as it is done with one. */
static void monte_carlo(struct argument *given) {
    enum { ABREAST = 32, BLOCK = 2048 };
    const uint32_t *seeds = given[0].at;
    const float *squares = given[1].at;
    float *sums = given[3].at;
    int samples = whole(&given[2]), count = (int)COUNT(given[3]);
#pragma omp parallel for schedule(dynamic, 1)
    for (int first = 0; first < count; first += BLOCK) {
        uint32_t state[ABREAST];
        float sum[ABREAST], square[ABREAST];
        int32_t accepted[ABREAST], item[ABREAST];
        int next = first, end = first + BLOCK < count ? first + BLOCK : count, live = 0;
        for (int k = 0; k < ABREAST; k++) {
            item[k] = next < end ? next++ : -1;
            live += item[k] >= 0;
            state[k] = item[k] < 0 ? 1 : seeds[item[k]], square[k] = item[k] < 0 ? 0 : squares[item[k]];
            sum[k] = 0.0f, accepted[k] = 0;
        }
        while (live > 0) {
            int32_t done = 0;
            for (int k = 0; k < ABREAST; k++) {
                uint32_t once = shifted(state[k]), twice = shifted(once);
                float x = coordinate(once), y = coordinate(twice);
                int32_t inside = x * x + y * y < square[k];
                state[k] = twice;
                sum[k] += inside ? x : 0.0f;
                accepted[k] += inside;
                done |= accepted[k] >= samples;
            }
            for (int k = 0; done && k < ABREAST; k++) {
                if (accepted[k] < samples)
                    continue;
                sums[item[k]] = sum[k];
                item[k] = next < end ? next++ : -1;
                live -= item[k] < 0;
                state[k] = item[k] < 0 ? 1 : seeds[item[k]], square[k] = item[k] < 0 ? 0 : squares[item[k]];
                sum[k] = 0.0f, accepted[k] = 0;
            }
        }
    }
}

/* --- Images ---------------------------------------------------------------------------------------- */

static int between(int number, int low, int high) { return number < low ? low : number > high ? high : number; }

/* The pixels near the ends of a row by themselves, those between without looking for borders. */
static inline __attribute__((always_inline)) void convolve_row(const struct argument *given, int y, int radius) {
    const float *restrict image = given[0].at, *restrict given_weights = given[1].at;
    int width = whole(&given[3]), height = whole(&given[4]), across = 2 * radius + 1;
    float *restrict to = (float *)given[2].at + (size_t)y * (size_t)width, weights[25];
    const float *rows[5];
    memcpy(weights, given_weights, (size_t)(across * across) * sizeof(float));
#pragma GCC unroll 5
    for (int k = 0; k < across; k++)
        rows[k] = image + (size_t)between(y + k - radius, 0, height - 1) * (size_t)width;
#pragma omp simd
    for (int x = radius; x < width - radius; x++) {
        float sum = 0.0f;
#pragma GCC unroll 5
        for (int row = 0; row < across; row++)
#pragma GCC unroll 5
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

static void convolution_3x3(struct argument *given) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < whole(&given[4]); y++)
        convolve_row(given, y, 1);
}

static void convolution(struct argument *given) {
#pragma omp parallel for schedule(static)
    for (int y = 0; y < whole(&given[4]); y++)
        convolve_row(given, y, 2);
}

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
        {"spmv_ell", spmv_ell},
        {"triangular_solve", triangular_solve},
        {"bfs_level", bfs_level},
        {"pagerank_step", pagerank_step},
        {"gather", gather},
        {"binary_search", binary_search},
        {"hash_probe", hash_probe},
        {"string_match", string_match},
        {"run_length_decode", run_length_decode},
        {"fnv_hash", fnv_hash},
        {"radix_pass", radix_pass},
        {"divergent_loop", divergent_loop},
        {"monte_carlo", monte_carlo},
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
