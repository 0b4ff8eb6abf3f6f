// Memory that is not a flat array: pointers to pointers, structures with everything in them, tables,
// alignments, copies by a group.

struct node { int value; struct node *next; };

kernel void linked_list(global const int *in, global uint *out) {
    size_t i = get_global_id(0);
    struct node nodes[5];
    for (int k = 0; k < 5; k++) {
        nodes[k].value = in[(i + k * 7) & 1023];
        nodes[k].next = k ? &nodes[k - 1] : 0;
    }
    if (in[i] & 1) {
        nodes[4].next = &nodes[2];
        nodes[3].next = 0;
    }
    struct node *at = in[i] & 2 ? &nodes[4] : &nodes[3];
    uint sum = 0;
    for (; at; at = at->next)
        sum = sum * 3 + at->value;
    out[i] = sum;
}

kernel void pointers_to_pointers(global int *a, global int *b, global int *out) {
    size_t i = get_global_id(0);
    global int *ways[3] = {a, b, a + 1};
    global int **way = &ways[i % 3];
    int mine[4] = {1, 2, 3, 4};
    int *rows[2] = {mine, mine + 2};
    int **row = rows + (i & 1);
    (*row)[1] += (int)i;
    **row += (*way)[i];
    out[i] = mine[0] + 10 * mine[1] + 100 * mine[2] + 1000 * mine[3];
}

typedef struct { char tag; short pair[3]; float4 place; struct { long big; uchar bytes[5]; } inner; } mixed;

mixed change(mixed m, int k) {
    m.tag += k;
    m.pair[k % 3] *= 3;
    m.place.yz = m.place.zy + k;
    m.inner.bytes[(k + 1) % 5] ^= m.tag;
    return m;
}

kernel void structures_by_value(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    mixed m = {1, {2, 3, 4}, (float4)(5, 6, 7, 8), {9, {10, 11, 12, 13, 14}}};
    mixed copy = m;
    for (int k = 0; k < (in[i] & 7); k++)
        m = change(k & 1 ? m : copy, k);
    copy = i & 1 ? change(m, 2) : m;
    out[i] = copy.tag + copy.pair[0] + copy.pair[1] * 2 + copy.pair[2] * 3 + (int)copy.place.y +
             (int)copy.inner.big + copy.inner.bytes[0] + copy.inner.bytes[1] * 5 +
             copy.inner.bytes[2] * 7 + copy.inner.bytes[3] + copy.inner.bytes[4];
}

typedef struct { int4 offsets; float scale; uchar mode; char more[11]; } settings;
typedef struct { settings parts[2]; short last; } nested_settings;

kernel void nested_argument(global const int *in, global int *out, nested_settings s, char c) {
    size_t i = get_global_id(0);
    settings mine = s.parts[i & 1];
    mine.offsets.x += c;
    int *words = (int *)&mine;
    out[i] = words[in[i] & 3] + s.last + mine.more[i % 11] + (int)(mine.scale * 4.0f) + mine.mode;
}

typedef struct __attribute__((packed)) { char a; int b; short c; double d; } tight;

kernel void packed_structure(global tight *all, global int *out) {
    size_t i = get_global_id(0);
    out[i] = (int)sizeof(tight) * 1000 + all[i].b % 100 + all[i].c + (int)all[i].d;
    all[i].d = all[i].a * 0.5 + all[i].b;
    all[i].b = -all[i].c;
}

kernel void three_local_arguments(global const short *in, global short *out, local uchar *bytes,
                                  local short *shorts, local long *longs) {
    int l = get_local_id(0), n = get_local_size(0);
    bytes[l] = in[get_global_id(0)];
    shorts[l] = in[get_global_id(0)] >> 3;
    longs[l] = in[get_global_id(0)] * (1L << 33);
    barrier(CLK_LOCAL_MEM_FENCE);
    int k = (l * 5 + 1) % n;
    out[get_global_id(0)] = bytes[k] + shorts[n - 1 - l] + (short)(longs[(l + 2) % n] >> 30);
}

constant int table[3][4] = {{1, 2, 3, 4}, {50, 60, 70, 80}, {-9, -8, -7, -6}};
constant struct { char name[8]; float weight; } tariffs[3] = {{"abc", 1.5f}, {"wxyz", 2.5f}, {"", -4.0f}};
constant char words[] = "a string of the program";

kernel void tables(global const uint *in, global int *out) {
    size_t i = get_global_id(0);
    uint x = in[i];
    out[i] = table[x % 3u][x >> 8 & 3u] * 1000 + tariffs[x % 3u].name[x >> 4 & 3u] +
             (int)(tariffs[(x >> 2) % 3u].weight * 2.0f) + words[x % 23u];
}

kernel void private_tables(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint square[4][5];
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++)
            square[y][x] = in[(i + y * 5 + x) & 1023];
    for (int k = 0; k < 6; k++) {
        uint *row = square[(in[i] >> k) & 3];
        row[k % 5] += square[k & 3][(in[i] >> k & 7) % 5];
    }
    uint sum = 0;
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 5; x++)
            sum = sum * 31 + square[y][x];
    out[i] = sum;
}

kernel void pointer_differences(global int *in, global long *out) {
    size_t i = get_global_id(0);
    global int *a = in + i, *b = in + (in[i] & 1023);
    global char *bytes = (global char *)a;
    out[4 * i] = b - a;
    out[4 * i + 1] = a < b ? 1 : a == b ? 0 : -1;
    out[4 * i + 2] = (global char *)b - bytes;
    out[4 * i + 3] = *(a - (i > 3 ? 3 : 0)) + b[-(long)(in[i] & 1023)];
}

kernel void vector_memory(global const short *in, global short *out) {
    size_t i = get_global_id(0);
    global const short *p = in + 1;
    global short *q = out + i * 40;
    vstore2(vload2(i, p), 0, q);
    vstore3(vload3(i, p), 1, q);
    vstore4(vload4(i, p) + (short)1, 2, q);
    vstore8(vload8(i, p) * (short)3, 2, q);
    vstore16(vload16(i, p).s0123456789abcdef, 0, q + 24);
}

kernel void vectors_in_private_memory(global const float *in, global float *out) {
    size_t i = get_global_id(0);
    float4 rows[4];
    float3 odd[2];
    for (int k = 0; k < 4; k++)
        rows[k] = vload4(i & 63, in + k * 4);
    odd[0] = odd[1] = rows[1].xyz;
    odd[i & 1] = rows[(int)fabs(in[i]) & 3].wzy;
    float *flat = (float *)rows;
    flat[((int)fabs(in[i]) * 3) & 15] = 42.0f;
    vstore4(rows[i & 3], 0, out + 8 * i);
    vstore3(odd[1 - (i & 1)] + odd[0], 0, out + 8 * i + 4);
    out[8 * i + 7] = ((float *)&rows[2])[i & 3];
}

kernel void bytes_of_structures(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    union { uint word; uchar bytes[4]; ushort2 halves; float number; } u;
    u.word = in[i];
    u.bytes[in[i] & 3] ^= 0x55;
    u.halves = u.halves.yx + (ushort)3;
    struct { uint a; ushort b; uchar c[2]; } s;
    uchar *raw = (uchar *)&s;
    for (int k = 0; k < (int)sizeof(s); k++)
        raw[k] = (uchar)(u.word >> (k & 3) * 8) + k;
    out[i] = s.a ^ ((uint)s.b << 8) ^ s.c[0] ^ ((uint)s.c[1] << 24);
}

kernel void copies_by_a_group(global const int4 *in, global int4 *out, local int4 *tile) {
    size_t n = get_local_size(0), first = get_group_id(0) * n;
    event_t events[2];
    events[0] = async_work_group_copy(tile, in + first, n / 2, 0);
    events[1] = async_work_group_copy(tile + n / 2, in + first + n / 2, n - n / 2, 0);
    wait_group_events(2, events);
    int4 turned = tile[n - 1 - get_local_id(0)].wzyx;
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[get_local_id(0)] = turned;
    barrier(CLK_LOCAL_MEM_FENCE);
    event_t back = async_work_group_copy(out + first, tile, n, 0);
    wait_group_events(1, &back);
}

kernel void strided_copies(global const short *in, global short *out, local short *tile) {
    size_t n = get_local_size(0), first = get_group_id(0) * n;
    event_t e = async_work_group_strided_copy(tile, in + first * 3, n, 3, 0);
    wait_group_events(1, &e);
    tile[get_local_id(0)] *= (short)(get_local_id(0) + 1);
    barrier(CLK_LOCAL_MEM_FENCE);
    e = async_work_group_strided_copy(out + first * 2, tile, n, 2, 0);
    wait_group_events(1, &e);
}

kernel void local_structures(global const int *in, global int *out) {
    local struct { int count; short values[8]; float sum; } groups[4];
    int l = get_local_id(0);
    if (l < 4) {
        groups[l].count = 0;
        groups[l].sum = 0.0f;
        for (int k = 0; k < 8; k++)
            groups[l].values[k] = k * l;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    int g = in[get_global_id(0)] & 3;
    atomic_inc(&groups[g].count);
    if (l < 8)
        groups[l & 3].values[l] += in[get_global_id(0)] & 15;
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = groups[g].count * 100 + groups[l & 3].values[l & 7];
}

kernel void wide_indices(global const uchar *in, global uchar *out, ulong step) {
    ulong i = get_global_id(0);
    ulong at = (i * step + (1ul << 33)) & 4095ul;
    out[i] = in[at] + in[(at ^ 1ul) & 4095ul] * 3;
}
