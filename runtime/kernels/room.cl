/* May a kernel declare MF_ROOM bytes of local memory? It touches a word of each KiB; x[0] is 0, of which the compiler
 * knows nothing. */
__kernel void mf_room(__global int *x)
{
    __local int a[MF_ROOM / 4];
    for (int i = 255; i < MF_ROOM / 4; i += 256)
        a[i - x[0]] = i;
    x[1] = a[MF_ROOM / 4 - 1 - x[0]];
}
