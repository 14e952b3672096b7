/* Attributes of expressions: what a program says of how they are compiled, or a pass to later ones.
 */
#ifndef IR_ATTRS_H
#define IR_ATTRS_H

/* Attributes of an expression (bits). */
enum {
    ATTR_SEQUENTIAL = 1,       /* #[sequential]: no parallelism inside or here */
    ATTR_SEQUENTIAL_OUTER = 2, /* #[sequential_outer] */
    ATTR_SEQUENTIAL_INNER = 4, /* #[sequential_inner] */
    ATTR_NO_OUTER = 8,         /* #[flattening(no_outer)] ... */
    ATTR_NO_INTRA = 16,
    ATTR_ONLY_INTRA = 32,
    ATTR_ONLY_INNER = 64,
    ATTR_UNROLL = 128,
    ATTR_KEPT = 256, /* of a SCRATCH: has turns of the loop at its place, for reverse mode */
    N_ATTRS = 9,
    ATTR_STRIPS = 15 << N_ATTRS /* of a loop: attr_strips, in these bits */
};
/* #[stripmine(n)]: how deep the nest is that keeps turns for reverse mode, at most MOST_STRIPS; 1:
 * a loop that is part of such a nest; 0: nobody asked. */
enum { MOST_STRIPS = 15 };
static inline unsigned attr_strips(unsigned attrs)
{
    return (attrs & ATTR_STRIPS) >> N_ATTRS;
}
static inline unsigned attr_with_strips(unsigned attrs, unsigned n)
{
    return (attrs & ~(unsigned)ATTR_STRIPS) | n << N_ATTRS;
}
extern const char *const attr_text[N_ATTRS]; /* by bit number; build.c */

#endif
