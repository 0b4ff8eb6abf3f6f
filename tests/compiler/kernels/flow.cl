// Control flow that is hard to follow: jumps into loops, states, several ways out, barriers in odd
// but legal places.

kernel void jump_into_loop(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint x = in[i], rounds = 0, sum = 0;
    if (x & 1)
        goto middle;
top:
    sum += x;
    x = x * 5u + 1u;
    if ((x & 12u) == 4u)
        goto bottom;
middle:
    sum ^= x >> 3;
    rounds++;
    if ((x & 3u) == 2u)
        goto top_again;
bottom:
    x ^= rounds << 7;
    if (rounds < 9 && (x & 31u))
        goto top;
    goto done;
top_again:
    x += 77u;
    if (rounds < 20)
        goto middle;
done:
    out[i] = sum + rounds;
}

kernel void switch_into_loop(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint count = in[i] % 23u + 1u, left = (count + 7u) / 8u, x = in[i];
    switch (count % 8u) {
    case 0: do { x = x * 3u + 1u;
    case 7: x ^= x >> 5;
    case 6: x += 11u;
    case 5: x *= 7u;
    case 4: x ^= x << 3;
    case 3: x -= count;
    case 2: x = rotate(x, 9u);
    case 1: x += left;
    } while (--left > 0);
    }
    out[i] = x;
}

kernel void states(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint x = in[i], state = x & 3u, steps = 0, sum = 0;
    while (state != 4u && steps++ < 50u) {
        switch (state) {
        case 0:
            sum += x & 0xffu;
            state = x & 0x100u ? 2u : 1u;
            break;
        case 1:
            sum ^= x;
            x = x * 1664525u + 1013904223u;
            if (!(x & 7u)) {
                state = 3u;
                continue;
            }
        case 2:
            x = rotate(x, 5u);
            state = sum & 1u ? 0u : 3u;
            break;
        default:
            sum = sum * 31u + x;
            state = x >> 30 == 3u ? 4u : (x >> 28) & 1u;
        }
        sum++;
    }
    out[i] = sum * 64u + steps;
}

kernel void several_ways_out(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int x = in[i] & 0xffff, where = 0, sum = 0;
    for (int a = 0; a < 6; a++) {
        for (int b = a; b < 9; b++) {
            sum += a * b + x;
            if ((sum & 63) == 5) {
                where = 1;
                goto found;
            }
            if ((sum & 7) == 3)
                break;
            int c = 0;
            while (1) {
                if (++c > (x & 7))
                    break;
                if (((sum ^ c) & 15) == 9)
                    continue;
                sum += c;
                if ((sum & 255) == 77) {
                    where = 2 + a;
                    goto out_of_all;
                }
            }
        }
        if (sum > 100000 * (a + 1))
            continue;
        sum -= a;
    }
    where = 100;
found:
    sum *= 3;
out_of_all:
    out[2 * i] = sum;
    out[2 * i + 1] = where;
}

int look(global const int *in, size_t i, int depth, int *side) {
    for (int k = 0; k < depth; k++) {
        int v = in[(i + k) & 1023] & 0xffff;
        switch (v & 7) {
        case 0:
            return k;
        case 1:
            *side += v >> 3;
            if (*side & 16)
                return -k;
        case 2:
            continue;
        case 5:
            k++;
            break;
        default:
            *side ^= v;
        }
        *side += 1;
    }
    return depth;
}

kernel void returns_in_loops(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int side = 0;
    int first = look(in, i, 20, &side);
    int second = first > 4 ? look(in, i + 77, first, &side) : look(in, i + 3, 5, &side) * 1000;
    out[i] = first * 100000 + second * 31 + (side & 0x7fff);
}

kernel void return_before_the_rest(global const int *in, global int *out, int limit) {
    size_t i = get_global_id(0);
    if (in[i] % 5 == 0) {
        out[i] = -1;
        return;
    }
    int total = 0;
    for (int k = 0; k < limit; k++) {
        total += k * (in[i] & 15);
        if (total > 1000)
            return;
    }
    for (int k = 0; k < 4; k++)
        total ^= (total << k) + limit;
    out[i] = total;
}

kernel void loop_carried(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint a = in[i], b = 1, c = 0, last = 0;
    for (uint k = 0; k < (in[i] & 31u); k++) {
        uint t = a;
        a = b;
        b = c + (k & t);
        c = t;
        if ((a ^ b ^ c) & 8u)
            last = k;
        if ((c & 0xf0u) == 0x50u)
            break;
    }
    out[4 * i] = a;
    out[4 * i + 1] = b;
    out[4 * i + 2] = c;
    out[4 * i + 3] = last;
}

kernel void else_chain(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int x = in[i], r;
    if (x < -1000000000) r = 1;
    else if (x % 3 == 0) r = 2 + (x & 1);
    else if (x % 5 == 0 && x > 0) { r = x / 5; if (r & 4) r = -r; }
    else if ((x & 0x70) == 0x10 || (x & 0x700) == 0x300) r = 9;
    else if (!(x & 2)) { do { x >>= 1; r = x; } while (x > 100); }
    else r = x ^ 12345;
    out[i] = r;
}

int twist(int x, int depth) {
    if (depth & 1) { if (x & 4) return x * 3; x += depth; }
    return x ^ depth;
}
int twist2(int x, int d) { return d > 2 ? twist(twist(x, d), d - 1) : twist(x, 7 - d); }
int twist3(int x, int d) { int s = 0; for (int k = 0; k < (x & 3); k++) s += twist2(x + k, d + k); return s; }

kernel void calls_of_calls(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int x = in[i] & 0xffff;
    out[i] = x & 1 ? twist3(x, (int)(i & 7)) : twist2(twist3(x, 2), (int)(i & 3));
}

kernel void until_nothing_changes(global int *data, local int *tile, local int *changed) {
    int l = get_local_id(0), n = get_local_size(0);
    tile[l] = data[get_global_id(0)];
    int rounds = 0;
    do {
        barrier(CLK_LOCAL_MEM_FENCE);
        if (l == 0)
            *changed = 0;
        barrier(CLK_LOCAL_MEM_FENCE);
        int left = l > 0 ? tile[l - 1] : tile[l], right = l < n - 1 ? tile[l + 1] : tile[l];
        int best = max(tile[l], max(left, right) - 1000000);
        barrier(CLK_LOCAL_MEM_FENCE);
        if (best != tile[l]) {
            tile[l] = best;
            atomic_or(changed, 1);
        }
        rounds++;
        barrier(CLK_LOCAL_MEM_FENCE);
    } while (*changed);
    data[get_global_id(0)] = tile[l] ^ rounds;
}

kernel void barriers_in_nested_loops(global const uint *in, global uint *out, local uint *tile,
                                     uint outer, uint inner) {
    uint l = get_local_id(0), n = get_local_size(0), x = in[get_global_id(0)];
    for (uint a = 0; a < outer; a++) {
        for (uint k = 0; k < (x & 7u); k++) {
            if ((x >> k & 3u) == 1u)
                continue;
            x = x * 9u + k;
            if (x & 0x8000u)
                break;
        }
        for (uint b = 0; b < inner; b++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[l] = x;
            barrier(CLK_LOCAL_MEM_FENCE);
            x += tile[(l + a * 3u + b + 1u) % n];
            if (b == outer)
                break;
        }
        if (a & 1u)
            continue;
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[n - 1u - l] = x >> 1;
        barrier(CLK_LOCAL_MEM_FENCE);
        x ^= tile[l];
    }
    out[get_global_id(0)] = x;
}

uint shared_sum(local uint *tile, uint l, uint n, uint value, uint way) {
    barrier(CLK_LOCAL_MEM_FENCE);
    tile[l] = value;
    barrier(CLK_LOCAL_MEM_FENCE);
    uint sum = 0;
    if (way & 1u) {
        for (uint k = 0; k < n; k++)
            sum += tile[k];
        barrier(CLK_LOCAL_MEM_FENCE);
        tile[l] = sum ^ l;
        barrier(CLK_LOCAL_MEM_FENCE);
        return tile[(l + 1u) % n];
    }
    for (uint k = l; k < n; k += 3u)
        sum ^= tile[k];
    return sum;
}

uint shared_twice(local uint *tile, uint l, uint n, uint value, uint way) {
    uint first = shared_sum(tile, l, n, value, way);
    if (way & 2u)
        return shared_sum(tile, l, n, first, way >> 1);
    return first;
}

kernel void barriers_in_functions(global const uint *in, global uint *out, local uint *tile,
                                  uint way) {
    uint l = get_local_id(0), n = get_local_size(0), x = in[get_global_id(0)];
    for (uint k = 0; k < 3; k++)
        x += shared_twice(tile, l, n, x, way + k);
    out[get_global_id(0)] = x;
}

kernel void barrier_by_group(global const int *in, global int *out, local int *tile) {
    int l = get_local_id(0), g = get_group_id(0), x = in[get_global_id(0)];
    if (g % 3 == 1) {
        tile[l] = x;
        barrier(CLK_LOCAL_MEM_FENCE);
        x = tile[get_local_size(0) - 1 - l];
    } else if (in[g] & 1) {
        for (int k = 0; k < (in[g] & 3); k++) {
            barrier(CLK_LOCAL_MEM_FENCE);
            tile[(l + k) % get_local_size(0)] = x + k;
            barrier(CLK_LOCAL_MEM_FENCE);
            x -= tile[l];
        }
    }
    out[get_global_id(0)] = x;
}

kernel void divergent_around_uniform(global const int *in, global int *out, int n) {
    size_t i = get_global_id(0);
    int x = in[i], sum = 0;
    if (x & 1) {
        for (int k = 0; k < n; k++)
            sum += k * n;
        if (x & 2)
            for (int k = 0; k < (x & 15); k++)
                for (int j = 0; j < n; j++)
                    sum ^= j + k;
    } else {
        int k = n;
        while (k-- > 0)
            if (in[(i + k) & 1023] & 1)
                break;
        sum = k;
    }
    out[i] = sum;
}

kernel void leave_one_by_one(global const uint *in, global uint *out, global uint *order) {
    size_t i = get_global_id(0);
    uint x = in[i] | 1u, k = 0;
    for (;; k++) {
        if (k >= (in[i] & 63u))
            break;
        x *= 0x9E3779B1u;
        if (x < 0x2000000u)
            break;
    }
    atomic_add(&order[k], 1u);
    out[i] = x ^ k;
}
