/* Names for sizes in the host code of a function: what occurs in several places of a block is
 * computed once, and what is long gets a name where it is used.
 *
 * Sizes are a graph, in which equal ones are the same node (size/size.c). A name is declared in
 * front of the first operation of a block that computes the size, if the block computes it again
 * further on; it is known to the end of the block, unless a variable in it gets another value. What
 * may divide by zero is never computed earlier than where the program would do so. */
#include "emit/emit_parts.h"

#include <stdlib.h>
#include <string.h>

enum {
    SMALL = 4,       /* parts of a size that is written out in each place */
    LONG = 9,        /* parts of a size that gets a name although it is there once */
    LONG_IN_ALL = 20 /* parts of one whose parts get names for that alone */
};

typedef struct {
    const KExp *sx;
    int of[3];       /* nodes: its operands */
    const Var *name; /* that holds it; NULL: none */
} Node;

/* A block whose text is being made. */
typedef struct {
    int n_names;   /* that were known before */
    int *count, n; /* by node: in how many places of the block */
} Frame;

struct SizeNames {
    Ctx *cx;
    VEC(Node) nodes;
    PtrMap *ids;    /* KExp -> node + 1 */
    VEC(int) named; /* nodes, in the order in which they got names */
    VEC(Frame) frames;
};

SizeNames *size_names_new(Ctx *cx)
{
    SizeNames *sn = NEW(cx->perm, SizeNames);
    sn->cx = cx;
    sn->ids = ptrmap_new(cx->perm);
    return sn;
}

/* --- Nodes ---------------------------------------------------------------------------------- */

/* The node of a size; -1 of none. */
static int node_of(SizeNames *sn, const KExp *sx)
{
    if (!sx)
        return -1;
    int known = (int)(intptr_t)ptrmap_get(sn->ids, sx);
    if (known)
        return known - 1;
    Node n = {.sx = sx};
    for (int i = 0; i < sx->n; i++)
        n.of[i] = node_of(sn, sx->x[i]);
    vec_push(sn->cx->perm, &sn->nodes, n);
    ptrmap_put(sn->ids, sx, (const void *)(intptr_t)sn->nodes.n);
    return sn->nodes.n - 1;
}

static bool mentions(const SizeNames *sn, int id, const Var *v)
{
    const Node *n = &sn->nodes.at[id];
    bool found = n->sx->host == v;
    for (int i = 0; i < n->sx->n && !found; i++)
        found = mentions(sn, n->of[i], v);
    return found;
}

/* Surely more than 0? */
static bool positive(const KExp *a)
{
    switch (sx_kind(a)) {
    case SX_CONST: return a->c.i > 0;
    case SX_SIZE:
        return a->fact == SIZE_GROUP_SIZE || a->fact == SIZE_NUM_GROUPS ||
               a->fact == SIZE_MAX_GROUP_SIZE || a->fact == SIZE_TEAM_LIMIT ||
               a->fact == SIZE_ITEM_ELEMS;
    case SX_MAX: return positive(sx_left(a)) || positive(sx_right(a));
    case SX_MIN:
    case SX_SELECT: return positive(sx_left(a)) && positive(sx_right(a));
    default: return false;
    }
}

/* Does it have a value whatever its variables are? */
static bool is_total(const KExp *a)
{
    SxKind k = sx_kind(a);
    bool divides = k == SX_DIV || k == SX_CEILDIV || k == SX_MOD;
    bool total = !divides || positive(sx_right(a));
    for (int i = 0; i < a->n && total; i++)
        total = is_total(a->x[i]);
    return total;
}

/* --- The sizes of an operation -------------------------------------------------------------- */

typedef struct {
    const KExp *sx;
    const char *what; /* the base of its name */
    bool perhaps;     /* it may be that it is not computed */
} SizePlace;
typedef VEC(SizePlace) Places;

static void place(SizeNames *sn, Places *ps, const KExp *sx, const char *what)
{
    if (sx)
        vec_push(sn->cx->scratch, ps, (SizePlace){.sx = sx, .what = what});
}

static void place_size(SizeNames *sn, Places *ps, const KExp *x, const char *what)
{
    if (x && sx_is_size(x))
        place(sn, ps, x, what);
}

static void loc_places(SizeNames *sn, Places *ps, const ArrLoc *l, int rank)
{
    if (!l->mem)
        return;
    place(sn, ps, l->at.offset, "offset");
    for (int k = 0; k < rank; k++)
        place(sn, ps, l->at.strides[k], "stride");
}

/* In the order in which they are worth names: what others are made of comes first. */
static Places places_of(SizeNames *sn, const HostOp *op)
{
    Places ps = {0};
    for (int d = 0; d < 2 * op->n_launch_dims; d++) /* it stands in the global size, too */
        place(sn, &ps, op->local[d / 2], "group");
    for (int i = 0; i < op->fits.n; i++) {
        place(sn, &ps, op->fits.at[i].group_size, "group");
        place(sn, &ps, op->fits.at[i].local_bytes, "local_bytes");
    }
    for (int i = 0; i < ps.n; i++)
        ps.at[i].perhaps = op->kind == H_IF;
    for (int d = 0; d < op->n_launch_dims; d++)
        place(sn, &ps, op->groups[d], "groups");
    for (int i = 0; i < op->args.n; i++) {
        place(sn, &ps, op->args.at[i].value, "size");
        place(sn, &ps, op->args.at[i].bytes, "local_bytes");
    }
    place_size(sn, &ps, op->exp, op_is(op, HO_BYTES) ? "bytes" : "size");
    place_size(sn, &ps, op->exp2, "worth");
    loc_places(sn, &ps, &op->dst, op->dims.n);
    loc_places(sn, &ps, &op->src, op->dims.n);
    return ps;
}

/* Counts a size and, where it occurs first, its parts: those that occur only in it count once. */
static void count(const SizeNames *sn, int *counts, int id)
{
    if (id < 0 || counts[id]++ > 0)
        return;
    for (int i = 0; i < sn->nodes.at[id].sx->n; i++)
        count(sn, counts, sn->nodes.at[id].of[i]);
}

typedef VEC(int) Ids;

static void block_nodes(SizeNames *sn, const CodeBlock *b, Ids *ids)
{
    for (int i = 0; i < b->items.n; i++) {
        const CodeItem *it = &b->items.at[i];
        if (it->op) {
            Places ps = places_of(sn, it->op);
            for (int k = 0; k < ps.n; k++)
                vec_push(sn->cx->scratch, ids, node_of(sn, ps.at[k].sx));
        }
        if (it->then_ && !it->then_->fn)
            block_nodes(sn, it->then_, ids);
        if (it->else_ && !it->else_->fn)
            block_nodes(sn, it->else_, ids);
    }
}

void size_names_enter(SizeNames *sn, const CodeBlock *b)
{
    ArenaMark mark = arena_mark(sn->cx->scratch);
    Ids ids = {0};
    block_nodes(sn, b, &ids);
    Frame f = {.n_names = sn->named.n, .n = sn->nodes.n};
    f.count = mem_or_exit(calloc((size_t)f.n + 1, sizeof *f.count));
    for (int i = 0; i < ids.n; i++)
        count(sn, f.count, ids.at[i]);
    arena_reset(sn->cx->scratch, mark);
    vec_push(sn->cx->perm, &sn->frames, f);
}

void size_names_leave(SizeNames *sn)
{
    Frame *f = &vec_last(&sn->frames);
    while (sn->named.n > f->n_names)
        sn->nodes.at[sn->named.at[--sn->named.n]].name = NULL;
    free(f->count);
    sn->frames.n--;
}

/* --- Names ---------------------------------------------------------------------------------- */

static void give_name(SizeNames *sn, int id, const Var *v)
{
    sn->nodes.at[id].name = v;
    vec_push(sn->cx->perm, &sn->named, id);
}

void size_names_is(SizeNames *sn, const KExp *size, const Var *v)
{
    int id = node_of(sn, size);
    if (!sn->nodes.at[id].name && sn->nodes.at[id].sx->n > 0 && !mentions(sn, id, v))
        give_name(sn, id, v);
}

void size_names_set(SizeNames *sn, const Var *v)
{
    for (int i = 0; i < sn->named.n; i++) {
        Node *n = &sn->nodes.at[sn->named.at[i]];
        if (n->name && (n->name == v || mentions(sn, sn->named.at[i], v)))
            n->name = NULL;
    }
}

/* The node with names in place of its parts, and of itself unless it is what is to be named. */
static const KExp *with_names(SizeNames *sn, int id, bool itself)
{
    Node n = sn->nodes.at[id];
    if (n.name && !itself)
        return sx_var(sn->cx, n.name);
    const KExp *of[3];
    KExp as_it_is = *n.sx;
    for (int i = 0; i < n.sx->n; i++)
        of[i] = with_names(sn, n.of[i], false);
    as_it_is.x = of;
    return kx_node(sn->cx->perm, as_it_is);
}

const KExp *size_named(SizeNames *sn, const KExp *size)
{
    return with_names(sn, node_of(sn, size), false);
}

const char *size_named_c(SizeNames *sn, const KExp *size)
{
    return sx_exact_c(size_named(sn, size));
}

static int times(const SizeNames *sn, int id)
{
    const Frame *f = &vec_last(&sn->frames);
    return id < f->n ? f->count[id] : 0;
}

/* Parts of the node's text as it would be written now. */
static int parts(const SizeNames *sn, int id)
{
    const Node *n = &sn->nodes.at[id];
    int sum = 1;
    for (int i = 0; i < n->sx->n && !n->name; i++)
        sum += parts(sn, n->of[i]);
    return sum;
}

/* How a size is declared. */
typedef struct {
    const char *what; /* the base of its name */
    bool perhaps;     /* only what may be computed without need */
    int most, inner;  /* parts that need no name: of it, and of what is in it */
} Wish;

static void declare(SizeNames *sn, Out *o, int id, Wish w);

/* The names that the parts of a size want. */
static void declare_parts(SizeNames *sn, Out *o, int id, Wish w)
{
    Node n = sn->nodes.at[id];
    Wish arm = {"size", w.perhaps, w.inner, w.inner};
    for (int i = 0; i < n.sx->n; i++) {
        declare(sn, o, n.of[i], arm);
        arm.perhaps = arm.perhaps || n.sx->kind == KE_SELECT;
    }
}

/* The names that a size and its parts want, inner ones first. */
static void declare(SizeNames *sn, Out *o, int id, Wish w)
{
    if (sn->nodes.at[id].name || sn->nodes.at[id].sx->n == 0)
        return;
    declare_parts(sn, o, id, w);
    const KExp *sx = sn->nodes.at[id].sx;
    int now = parts(sn, id);
    bool wanted = now > w.most || (now > SMALL && times(sn, id) > 1);
    if (!wanted || (w.perhaps && !is_total(sx)))
        return;
    Var *v = var_new(sn->cx, w.what, type_prim(T_I64), (Loc){0});
    out_printf(o, "const i64 %s = %s;\n", var_c_name(v), sx_exact_c(with_names(sn, id, true)));
    give_name(sn, id, v);
}

void size_names_for(SizeNames *sn, Out *o, const HostOp *op)
{
    ArenaMark mark = arena_mark(sn->cx->scratch);
    Places ps = places_of(sn, op);
    for (int i = 0; i < ps.n; i++) {
        int id = node_of(sn, ps.at[i].sx);
        int inner = parts(sn, id) > LONG_IN_ALL ? LONG : INT32_MAX;
        Wish w = {ps.at[i].what, ps.at[i].perhaps, LONG, inner};
        if (op_is(op, HO_TOTAL)) /* it gets a name anyway */
            declare_parts(sn, o, id, w);
        else
            declare(sn, o, id, w);
    }
    arena_reset(sn->cx->scratch, mark);
}
