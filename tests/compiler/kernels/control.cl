// Branches, loops and jumps that differ between the work-items of a group.

kernel void branch(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    if (in[i] & 1)
        out[i] = in[i] * 3 + 1;
    else
        out[i] = in[i] / 2;
}

kernel void nested_branches(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int v = in[i], r = 0;
    if (v > 0) {
        if (v % 3 == 0)
            r = v / 3;
        else if (v % 3 == 1)
            r = -v;
        else {
            r = v + 1;
            if (v % 5 == 0)
                r *= 2;
        }
    } else if (v < -100)
        r = 7;
    out[i] = r;
}

kernel void collatz(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint n = in[i] % 1000 + 1, steps = 0;
    while (n != 1) {
        n = n & 1 ? 3 * n + 1 : n >> 1;
        steps++;
    }
    out[i] = steps;
}

kernel void early_return(global const int *in, global int *out, int limit) {
    size_t i = get_global_id(0);
    if ((int)i >= limit)
        return;
    if (in[i] < 0) {
        out[i] = -1;
        return;
    }
    int sum = 0;
    for (int n = 0; n < 100; n++) {
        sum += n;
        if (sum > in[i] % 500) {
            out[i] = sum;
            return;
        }
    }
    out[i] = 12345;
}

kernel void switch_dense(global const uint *in, global int *out) {
    size_t i = get_global_id(0);
    int r;
    switch (in[i] % 7) {
    case 0: r = 10; break;
    case 1: r = (int)in[i]; break;
    case 2: r = -5; // falls through
    case 3: r = (int)i * 2; break;
    case 4: out[i] = 99; return;
    case 5: r = (int)(in[i] >> 3); break;
    default: r = 1; break;
    }
    out[i] = r;
}

kernel void switch_sparse(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int r = 0;
    for (int n = 0; n < 4; n++) {
        switch ((in[i] >> (8 * n)) & 0xff) {
        case 3: r += 1; break;
        case 77: r += 20; continue;
        case 128: r ^= 0x40; // falls through
        case 200: r += 300; break;
        case 254: n++; break;
        }
        r *= 2;
    }
    out[i] = r;
}

kernel void break_and_continue(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int sum = 0;
    for (int n = 0; n < 64; n++) {
        int v = in[(i + n) % get_global_size(0)];
        if (v % 4 == 0)
            continue;
        if (v % 29 == 0)
            break;
        sum += v % 100;
    }
    out[i] = sum;
}

kernel void do_while(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint x = in[i], digits = 0;
    do {
        digits++;
        x /= 10;
    } while (x);
    out[i] = digits;
}

kernel void nested_loops(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint total = 0;
    for (uint a = 0; a < in[i] % 9; a++)
        for (uint b = a; b < in[i] % 13; b++) {
            if ((a ^ b) == 5)
                break;
            total += a * b + 1;
        }
    out[i] = total;
}

kernel void jump_out(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int found = -1;
    for (int a = 0; a < 12; a++)
        for (int b = 0; b < 12; b++)
            if (a * b == (in[i] & 127)) {
                found = a * 100 + b;
                goto done;
            }
    found = -2;
done:
    out[i] = found;
}

kernel void irreducible(global const uint *in, global uint *out) {
    size_t i = get_global_id(0);
    uint x = in[i] % 97, n = 0;
    if (x & 1)
        goto odd;
even:
    x = x / 2 + 3;
    if (++n > 40)
        goto done;
    if (!(x & 1))
        goto even;
odd:
    x = x * 3 + 1;
    if (++n < 40)
        goto even;
done:
    out[i] = x * 100 + n;
}

kernel void short_circuit(global const int *in, global int *out) {
    size_t i = get_global_id(0), n = get_global_size(0);
    int r = 0;
    if (i + 1 < n && in[i + 1] > in[i] && (in[i] & 1 || in[i + 1] & 2))
        r = 1;
    if (i > 0 && !(in[i - 1] > 0 && in[i] > 0))
        r |= 2;
    out[i] = r;
}

kernel void uniform_branch(global const int *in, global int *out, int mode) {
    size_t i = get_global_id(0);
    int r = in[i];
    if (mode == 1)
        r = r * r;
    else if (mode == 2)
        for (int n = 0; n < mode * 3; n++)
            r += n * r;
    out[i] = r;
}

kernel void binary_search(global const int *sorted, global const int *wanted, global int *out, int n) {
    size_t i = get_global_id(0);
    int low = 0, high = n;
    while (low < high) {
        int middle = (low + high) / 2;
        if (sorted[middle] < wanted[i])
            low = middle + 1;
        else
            high = middle;
    }
    out[i] = low;
}

kernel void mandelbrot(global uint *out, float scale, int limit) {
    size_t x = get_global_id(0), y = get_global_id(1);
    float cr = (float)x * scale - 2.0f, ci = (float)y * scale - 1.0f;
    float zr = 0.0f, zi = 0.0f;
    int n = 0;
    while (n < limit) {
        float rr = zr * zr, ii = zi * zi;
        if (isgreater(rr + ii, 4.0f))
            break;
        zi = 2.0f * (zr * zi) + ci;
        zr = rr - ii + cr;
        n++;
    }
    out[y * get_global_size(0) + x] = n;
}

kernel void insertion_sort(global int *data) {
    size_t i = get_global_id(0);
    int a[8];
    for (int n = 0; n < 8; n++)
        a[n] = data[8 * i + n];
    for (int n = 1; n < 8; n++) {
        int v = a[n], m = n;
        while (m > 0 && a[m - 1] > v) {
            a[m] = a[m - 1];
            m--;
        }
        a[m] = v;
    }
    for (int n = 0; n < 8; n++)
        data[8 * i + n] = a[n];
}

int gcd(int a, int b) {
    while (b) {
        int rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

kernel void call_in_branch(global const int *in, global int *out) {
    size_t i = get_global_id(0);
    int v = in[i] & 0xffff;
    out[i] = v % 3 ? gcd(v, 360) : gcd(v + 1, 1001) * 2;
}

kernel void switch_values(global const uint *in, global int *out) {
    size_t i = get_global_id(0);
    int r;
    switch (in[i] & 15) {
    case 0: r = 17; break;
    case 1: r = -5; break;
    case 2: r = 900; break;
    case 3: r = 3; break;
    case 5: r = 77; break;
    case 6: r = 12; break;
    case 8: r = 444; break;
    case 9: r = 8; break;
    default: r = -1; break;
    }
    out[i] = r;
}
