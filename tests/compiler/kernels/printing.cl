// printf, from one work-item so that the text is the same everywhere.

kernel void print_numbers(global const int *in) {
    if (get_global_id(0) == 0) {
        printf("int %d, unsigned %u, hex %08x, char %c\n", in[0], (uint)in[1], in[2], 'g');
        printf("float %.3f, exponent %e, long %ld\n", 1.5f, 12345.678f, (long)in[0] << 33);
        printf("vector %v4hld and %v2hlf\n", (int4)(1, 2, 3, 4), (float2)(0.5f, 0.25f));
        printf("string %s, percent %%\n", "here");
    }
}

kernel void print_in_loop(global const int *in, int n) {
    if (get_global_id(0) == 3)
        for (int k = 0; k < n; k++)
            printf("%d:%d\n", k, in[k]);
}
