// Structures in memory, as arguments, nested, with arrays, unions and padding.

typedef struct {
    float position[3];
    float mass;
    int id;
} Particle;

typedef struct {
    uchar tag;
    long big;
    struct {
        short a;
        double b;
    } inner;
} Padded;

typedef struct {
    int4 offsets;
    float scale;
    uchar mode;
} Settings;

typedef union {
    float f;
    uint u;
    uchar b[4];
} Word;

kernel void move_particles(global Particle *particles, float step) {
    size_t i = get_global_id(0);
    Particle p = particles[i];
    for (int k = 0; k < 3; k++)
        p.position[k] = fma(step, p.mass, p.position[k]);
    p.id += (int)i;
    particles[i] = p;
}

kernel void padded_structure(global Padded *data) {
    size_t i = get_global_id(0);
    data[i].big += data[i].tag;
    data[i].inner.a = (short)(data[i].inner.a * 2);
    data[i].inner.b = (double)data[i].inner.a * 0.5;
}

kernel void structure_argument(global const int *in, global float *out, Settings settings) {
    size_t i = get_global_id(0);
    int offset = settings.mode == 2 ? settings.offsets.z : settings.offsets.x;
    out[i] = (float)(in[i] % 1000 + offset) * settings.scale;
}

kernel void unions(global const float *in, global uint *out) {
    size_t i = get_global_id(0);
    Word word;
    word.f = in[i];
    word.b[3] ^= 0x80;
    out[i] = word.u + word.b[1];
}

Particle lighter(Particle a, Particle b) {
    return a.mass < b.mass ? a : b;
}

kernel void structure_by_value(global const Particle *particles, global int *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    Particle best = lighter(particles[i], particles[(i + 1) % n]);
    best = lighter(best, particles[(i + 7) % n]);
    out[i] = best.id;
}

kernel void array_of_structures(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    struct {
        int key, count;
    } table[4];
    for (int n = 0; n < 4; n++) {
        table[n].key = n;
        table[n].count = 0;
    }
    for (int n = 0; n < 16; n++)
        table[(in[(i + n) % get_global_size(0)] >> n) & 3].count += n;
    int r = 0;
    for (int n = 0; n < 4; n++)
        r = r * 31 + table[n].key * table[n].count;
    out[i] = r;
}
