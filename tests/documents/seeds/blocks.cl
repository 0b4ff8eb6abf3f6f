// The kernels that blocks of the guide launch without showing them.
kernel void nothing(void) {}

kernel void sampled(sampler_t sampler) {}

struct node { global struct node *next; };
kernel void chain(global struct node *begin) {
    while (begin) begin = begin->next;
}
