/* What this machine can do when code is written for it by hand: memory, multiply-adds, and two of the kernels.
 *
 * Built with -O3 -march=native -ffast-math -fopenmp. A sample is the time for one unit of work: a byte, an
 * operation, a thousandth of a pixel, a pair of bodies. Usage: limits WHICH RUNS */
#include <math.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "measure.h"

#if defined(__AVX512F__)
enum { LANES = 16 };
#elif defined(__AVX__)
enum { LANES = 8 };
#else
enum { LANES = 4 };
#endif
typedef float floats __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t ints __attribute__((vector_size(LANES * sizeof(int32_t))));

enum { NUMBERS = 1 << 24, WIDTH = 2048, HEIGHT = 1024, STEPS = 256, BODIES = 8192, BLOCK = 2 * LANES };

static float *a, *b, *c;
static volatile float sink;

static float *numbers(void) {
    float *memory = aligned_alloc(1 << 21, NUMBERS * sizeof(float));
    REQUIRE(memory != NULL);
#pragma omp parallel for
    for (size_t i = 0; i < NUMBERS; i++)
        memory[i] = (float)(i % 1000) / 1000.0f;
    return memory;
}

static void store_past_cache(float *to, floats value) {
#if defined(__AVX512F__)
    _mm512_stream_ps(to, (__m512)value);
#elif defined(__AVX__)
    _mm256_stream_ps(to, (__m256)value);
#elif defined(__x86_64__)
    _mm_stream_ps(to, (__m128)value);
#else
    *(floats *)to = value;
#endif
}

static floats load(const float *from) { return *(const floats *)from; }

/* --- Memory ---------------------------------------------------------------------------------------- */

static void add(void) {
#pragma omp parallel for
    for (size_t i = 0; i < NUMBERS; i += LANES)
        store_past_cache(c + i, load(a + i) + load(b + i));
}

static void copy(void) {
#pragma omp parallel for
    for (size_t i = 0; i < NUMBERS; i += LANES)
        store_past_cache(c + i, load(a + i));
}

static void sum(void) {
    float total = 0.0f;
#pragma omp parallel for reduction(+ : total)
    for (size_t i = 0; i < NUMBERS; i++)
        total += a[i];
    sink = total;
}

/* --- Arithmetic ------------------------------------------------------------------------------------ */

enum { CHAINS = 12, ROUNDS_OF_CHAINS = 1 << 20 };

/* Each thread: enough independent multiply-adds to keep every unit busy. The work counts all threads. */
static void multiply_add(void) {
#pragma omp parallel
    {
        floats chains[CHAINS], factor = {0}, summand = {0};
        factor += 0.5f;
        summand += 1.0f;
        for (int k = 0; k < CHAINS; k++)
            chains[k] = summand * (float)k;
        for (int round = 0; round < ROUNDS_OF_CHAINS; round++) {
#pragma GCC unroll 12
            for (int k = 0; k < CHAINS; k++)
                chains[k] = chains[k] * factor + summand;
        }
        floats total = {0};
        for (int k = 0; k < CHAINS; k++)
            total += chains[k];
        sink = total[0];
    }
}

/* --- Kernels --------------------------------------------------------------------------------------- */

static int any(ints mask) {
    int64_t words[sizeof mask / sizeof(int64_t)], together = 0;
    memcpy(words, &mask, sizeof mask);
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        together |= words[i];
    return together != 0;
}

static void mandelbrot(void) {
    int32_t *steps = (int32_t *)c;
#pragma omp parallel for schedule(dynamic, 8)
    for (int row = 0; row < HEIGHT; row++) {
        for (int column = 0; column < WIDTH; column += LANES) {
            floats re, im = {0}, x = {0}, y = {0};
            for (int k = 0; k < LANES; k++)
                re[k] = -2.0f + 3.0f * (float)(column + k) / WIDTH;
            im += -1.0f + 2.0f * (float)row / HEIGHT;
            ints count = {0};
            for (int step = 0; step < STEPS; step++) {
                floats xx = x * x, yy = y * y;
                ints inside = xx + yy < 4.0f;
                if (!any(inside))
                    break;
                count -= inside;
                y = (x + x) * y + im;
                x = xx - yy + re;
            }
            memcpy(steps + row * WIDTH + column, &count, sizeof count);
        }
    }
}

static void nbody(void) {
#pragma omp parallel for
    for (int first = 0; first < BODIES; first += BLOCK) {
        float x[BLOCK], y[BLOCK], z[BLOCK], fx[BLOCK] = {0}, fy[BLOCK] = {0}, fz[BLOCK] = {0};
        for (int k = 0; k < BLOCK; k++)
            x[k] = a[4 * (first + k)], y[k] = a[4 * (first + k) + 1], z[k] = a[4 * (first + k) + 2];
        for (int j = 0; j < BODIES; j++) {
            float px = a[4 * j], py = a[4 * j + 1], pz = a[4 * j + 2], mass = a[4 * j + 3];
#pragma omp simd
            for (int k = 0; k < BLOCK; k++) {
                float dx = px - x[k], dy = py - y[k], dz = pz - z[k];
                float inverse = 1.0f / sqrtf(dx * dx + dy * dy + dz * dz + 1e-3f);
                float pull = mass * inverse * inverse * inverse;
                fx[k] += dx * pull;
                fy[k] += dy * pull;
                fz[k] += dz * pull;
            }
        }
        for (int k = 0; k < BLOCK; k++)
            c[4 * (first + k)] = fx[k], c[4 * (first + k) + 1] = fy[k], c[4 * (first + k) + 2] = fz[k];
    }
}

/* --- Measuring ------------------------------------------------------------------------------------- */

static double threads(void) {
    int count = 0;
#pragma omp parallel reduction(+ : count)
    count += 1;
    return count;
}

int main(int count, char **arguments) {
    REQUIRE(count == 3);
    const struct {
        const char *name;
        void (*once)(void);
        double work;
    } limits[] = {
        {"add", add, 12.0 * NUMBERS},
        {"copy", copy, 8.0 * NUMBERS},
        {"sum", sum, 4.0 * NUMBERS},
        {"multiply-add", multiply_add, 2.0 * threads() * LANES * CHAINS * ROUNDS_OF_CHAINS},
        {"mandelbrot", mandelbrot, 1e3 * WIDTH * HEIGHT},
        {"nbody", nbody, (double)BODIES * BODIES},
    };
    uint64_t runs = number(arguments[2]);
    a = numbers(), b = numbers(), c = numbers();
    for (size_t which = 0; which < sizeof limits / sizeof *limits; which++) {
        if (strcmp(limits[which].name, arguments[1]) != 0)
            continue;
        for (uint64_t run = 0; run < runs; run++) {
            uint64_t start = now();
            limits[which].once();
            printf("%s %.9g\n", limits[which].name, (double)(now() - start) / limits[which].work);
        }
        return 0;
    }
    fprintf(stderr, "there is no limit %s\n", arguments[1]);
    return 1;
}
