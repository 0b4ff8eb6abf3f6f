__kernel void string_match(__global const uchar *text, __constant uchar *pattern, int length, __global uchar *matches)
{
    int i = get_global_id(0), same = 0;
    while (same < length && text[i + same] == pattern[same])
        same++;
    matches[i] = same == length;
}
