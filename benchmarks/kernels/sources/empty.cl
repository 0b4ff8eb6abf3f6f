__kernel void empty(__global float *unused)
{
}
