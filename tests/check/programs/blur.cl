/* Each work-item writes one place too far: the last one leaves the allocation. */
kernel void blur(global const float *in, global float *out)
{
    int i = get_global_id(0);
	float sum = i > 0 ? in[i - 1] + in[i] : in[i]; /* Ü: a tab, and letters of two bytes */
    out[i + 1] = sum / 3.0f;
}
