/* Kernels whose groups work on one element of a nest after the other, made to work on several
 * neighbouring ones at a time, where that reads and writes memory in longer runs:
 *
 *   for g from group_id to n by groups {     for t from group_id to ceil(n / columns) by groups {
 *     load x = xss[m * local_id + g]           g = min(t * columns + column, n - 1)
 *     store tmp[local_id] = x                  load x = xss[m * row + g]
 *     barrier local                     ->     store tmp[row * columns + column] = x
 *     load y = tmp[n - 1 - local_id]           barrier local
 *     store yss[m * local_id + g] = y          load y = tmp[(n - 1 - row) * columns + column]
 *   }                                          if t * columns + column < n {
 *                                                store yss[m * row + g] = y
 *                                              } }
 *
 * Work-items are then numbered in two dimensions: by the element of the group that they are for,
 * their column, and in it. (Where an element reads memory in runs of its own, its work-items are
 * neighbours: columns one behind the other.) Each column has its part of local memory. Columns
 * beyond the last element do that one again, and keep what they find to themselves.
 *
 * All columns meet at the same barriers, so this is only for kernels in which what is done does not
 * depend on the element. Until the passes before this one are done, the kernel is written for one
 * element, and what they find of its work-items holds in each column. */
#include "kir/passes/columns.h"

#include "kir/facts/position.h"
#include "kir/facts/uniform.h"
#include "kir/passes/passes.h"
#include "kir/target/target.h"
#include "kir/walk.h"

/* --- The loop over the elements --------------------------------------------------------------- */

static bool is_id(const KExp *x, KId id)
{
    return x->kind == KE_ID && x->id == id && x->dim == 0;
}

static bool is_elements(const KStm *s)
{
    return s->kind == KST_FOR && !s->doubling && is_id(s->x[0], KID_GROUP) &&
           is_id(s->x[2], KID_GROUPS);
}

typedef struct {
    KStm *loop; /* the last one found */
    int loops;
} Elements;

static bool find_elements(void *env, KStm *s)
{
    Elements *e = env;
    if (is_elements(s)) {
        e->loop = s;
        e->loops++;
    }
    return true;
}

/* NULL: there is none, or there are several. */
static KStm *elements_of(const KFun *f)
{
    Elements e = {0};
    kblock_visit(&f->body, &(KVisitor){.env = &e, .enter = find_elements});
    return e.loops == 1 ? e.loop : NULL;
}

/* --- Which kernels ---------------------------------------------------------------------------- */

typedef struct {
    const KFun *fun;
    int groups;  /* how often the kernel asks for the number of the group, or of groups */
    int touched; /* accesses to memory that a group or all share; failures */
    bool behind; /* may columns lie one behind the other? Then their work-items may be lanes */
    bool other;  /* is there anything that columns cannot do, or that tells them apart? */
} Asked;

static void ask_exp(void *env, const KExp *x)
{
    Asked *a = env;
    if (x->kind != KE_ID)
        return;
    a->groups += x->id == KID_GROUP || x->id == KID_GROUPS;
    bool lanes = x->id == KID_LANE || x->id == KID_LANES;
    a->other |= x->dim > 0 || x->id == KID_GRID_SIZE || (lanes && !a->behind);
}

static bool is_read(void *env, KStm *s)
{
    const KBuf **root = env;
    if (*root && kstm_reads(s) && kbuf_root(s->buf) == *root)
        *root = NULL;
    return true;
}

static bool reads_root(const KBlock *b, const KBuf *root)
{
    const KBuf *left = root;
    kblock_visit(b, &(KVisitor){.env = &left, .enter = is_read});
    return !left;
}

static bool ask_stm(void *env, KStm *s)
{
    Asked *a = env;
    kstm_visit_exps(s, ask_exp, a);
    bool global = s->buf && kbuf_root(s->buf)->space == KS_GLOBAL;
    bool local = s->buf && kbuf_root(s->buf)->space == KS_LOCAL;
    a->touched += s->kind == KST_FAIL || (global && kstm_writes(s)) ||
                  (local && (kstm_reads(s) || kstm_writes(s)));
    switch (s->kind) {
    case KST_FAILING:
    case KST_COPY:
    case KST_ROUND:
    case KST_FRAGMENTS:
    case KST_MULTIPLY:
    case KST_EXPOSE:
    case KST_SETTLE:
    case KST_PEEK:
    case KST_POST:
    case KST_ARRIVE:
    case KST_HEAP: a->other = true; break;
    case KST_SHUFFLE: a->other |= !a->behind; break;
    case KST_ATOMIC:
    case KST_CAS:
    case KST_RACE: a->other |= global; break;
    /* What an element is told again must not depend on what was written the first time. */
    case KST_STORE: a->other |= global && reads_root(&a->fun->body, kbuf_root(s->buf)); break;
    case KST_VIEW: a->other |= local; break;
    case KST_LET:
    case KST_POWER:
    case KST_VAR:
    case KST_SET:
    case KST_LOAD:
    case KST_PREFETCH:
    case KST_ARRAY:
    case KST_FRESH:
    case KST_FOR:
    case KST_WHILE:
    case KST_IF:
    case KST_BLOCK:
    case KST_WORK:
    case KST_LEAVE:
    case KST_BARRIER:
    case KST_FAIL:
    case KST_CALL:
    case KST_GIVE:
    case KST_COMMENT:
    case N_KSTMS: break;
    }
    return true;
}

typedef struct {
    const KUniform *uniform;
    bool apart;
} Meets;

static bool find_apart(void *env, KStm *s)
{
    Meets *m = env;
    m->apart |= s->kind == KST_BARRIER && !kuniform_flow(m->uniform, s);
    return true;
}

/* Do the columns come to all barriers together? f is changed. */
static bool columns_meet(Arena *a, KFun *f)
{
    f->columns = KC_LATER;
    kir_columns(a, f);
    Meets m = {kuniform_of(a, f), false};
    kblock_visit(&f->body, &(KVisitor){.env = &m, .enter = find_apart});
    return !m.apart;
}

static bool can_have_columns(const KFun *f, const KStm *loop, bool behind)
{
    Asked all = {.fun = f, .behind = behind}, inside = all;
    kblock_visit(&f->body, &(KVisitor){.env = &all, .enter = ask_stm});
    kblock_visit(&loop->body[0], &(KVisitor){.env = &inside, .enter = ask_stm});
    return all.groups == 2 && !all.other && all.touched == inside.touched;
}

/* --- What is read and written in columns ------------------------------------------------------ */

typedef struct {
    KPositions *positions;
    PtrSet *counters; /* variables of loops */
    const KVar *g;    /* the element's number */
    int columns, rows;
} Runs;

static void uses_g(void *env, const KExp *x)
{
    const void **p = env;
    if (x->kind == KE_VAR && x->var == *p)
        *p = NULL;
}

static bool varies(const Runs *r, const KExp *leaf)
{
    const void *g = r->g;
    kexp_visit(leaf, uses_g, &g);
    return !g;
}

/* Is it at neighbouring places for neighbouring elements, or for neighbours of the loop in which an
 * element's work-items share it out? Where it is so for neither, or for both, nothing is said. */
static void count_access(Runs *r, const KExp *at)
{
    Poly p = kposition(r->positions, at);
    bool depends = false, inside = false, next_g = false, next_in = false;
    for (int i = 0; i < p.n; i++) {
        const Term *t = &p.t[i];
        bool next = t->leaves[1] == 0 && (t->k == 1 || t->k == -1);
        for (int k = 0; k < POLY_DEGREE && t->leaves[k]; k++) {
            const KExp *leaf = kposition_leaf(r->positions, t->leaves[k]);
            bool is_g = leaf->kind == KE_VAR && leaf->var == r->g;
            bool counter = leaf->kind == KE_VAR && !is_g && ptrset_has(r->counters, leaf->var);
            depends |= varies(r, leaf);
            inside |= counter;
            next_g |= next && is_g;
            next_in |= next && counter;
        }
    }
    r->columns += inside && next_g && !next_in;
    r->rows += depends && next_in && !next_g;
}

static bool count_stm(void *env, KStm *s)
{
    Runs *r = env;
    if (s->kind == KST_FOR)
        ptrset_add(r->counters, s->var);
    if ((s->kind == KST_LOAD || s->kind == KST_STORE) && kbuf_root(s->buf)->space == KS_GLOBAL)
        count_access(r, s->x[0]);
    return true;
}

static bool mostly_columns(Arena *a, const KFun *f, const KStm *loop)
{
    Runs r = {.positions = kpositions_new(a, f), .counters = ptrmap_new(a), .g = loop->var};
    kblock_visit(&loop->body[0], &(KVisitor){.env = &r, .enter = count_stm});
    return r.columns > 0 && r.columns >= r.rows;
}

void kir_want_columns(KFun *f, bool behind)
{
    Arena *a = arena_new();
    KFun *gpu = kir_specialize(a, f, &ktargets[KTARGET_GPU]);
    const KStm *loop = elements_of(gpu);
    bool can = loop && can_have_columns(gpu, loop, behind);
    KColumns way = can && mostly_columns(a, gpu, loop) ? KC_LATER : behind ? KC_BEHIND : KC_NONE;
    f->columns = can && way != KC_NONE && columns_meet(a, gpu) ? way : KC_NONE;
    arena_free(a);
}

/* --- The pass --------------------------------------------------------------------------------- */

typedef struct {
    Arena *arena;
    KStm *loop;
    int dim; /* of the columns */
    const KExp *column, *columns;
    const KExp *there; /* is the element one that no other column has? */
} Columns;

/* The work-items of an element are those of the other dimension; neighbours may be of other
 * elements, unless columns lie one behind the other: whoever asks for lanes asks whether an element
 * has whole sub-groups of them. */
static const KExp *row_of(void *env, const KExp *x)
{
    const Columns *c = env;
    if (is_id(x, KID_LOCAL) || is_id(x, KID_GROUP_SIZE))
        return kx_id_dim(c->arena, x->id, 1 - c->dim);
    if (is_id(x, KID_LANES) && c->dim == 0)
        return kx_int(c->arena, 1);
    return x;
}

static void place(void *env, KBuild *b, KStm *s)
{
    const Columns *c = env;
    if (s == c->loop) {
        const KExp *less = kx_sub(c->arena, c->columns, kx_int(c->arena, 1));
        const KExp *teams = kx_quot(c->arena, kx_add(c->arena, s->x[1], less), c->columns);
        s->x[1] = kb_let(b, "teams", teams);
    }
    bool shared = (kstm_reads(s) || kstm_writes(s)) && s->buf->space == KS_LOCAL;
    bool outside = kstm_writes(s) && s->buf->space == KS_GLOBAL;
    if (shared)
        s->x[0] = kx_add(c->arena, kx_mul(c->arena, s->x[0], c->columns), c->column);
    if (outside || s->kind == KST_FAIL)
        kb_if(b, c->there);
    kb_push(b, s);
    if (outside || s->kind == KST_FAIL)
        kb_end(b);
}

/* The element's number, in front of the body of the loop, which is then over teams of elements. */
static KBlock numbers(Columns *c, KBuild *b, const KVar *team)
{
    Arena *a = c->arena;
    const KExp *one = kx_int(a, 1), *n = c->loop->x[1];
    KBlock block = {0};
    kb_into(b, &block);
    const KExp *at = kx_add(a, kx_mul(a, kx_var(a, team), c->columns), c->column);
    const KExp *number = kb_let(b, "number", at);
    c->there = kb_let(b, "there", kx_lt(a, number, n));
    kb_let_var(b, c->loop->var, kx_min(a, number, kx_sub(a, n, one)));
    b->open.n--;
    return block;
}

static KBlock beginning(Columns *c, KBuild *b)
{
    KBlock block = {0};
    kb_into(b, &block);
    c->columns = kb_let(b, "columns", kx_id_dim(c->arena, KID_GROUP_SIZE, c->dim));
    c->column = kb_let(b, "column", kx_id_dim(c->arena, KID_LOCAL, c->dim));
    b->open.n--;
    return block;
}

void kir_columns(Arena *a, KFun *f)
{
    bool behind = f->columns == KC_BEHIND;
    if (f->columns != KC_LATER && !behind)
        return;
    f->columns = f->alone ? KC_NONE : KC_DONE;
    if (f->alone)
        return;
    Columns c = {.arena = a, .loop = elements_of(f), .dim = behind};
    KBuild *b = kb_more(a, f);
    kblock_map_exps(a, &f->body, row_of, &c);
    KBlock first = beginning(&c, b);
    KVar *team = kb_var_new(b, "team", ktype(T_I64));
    KBlock body = numbers(&c, b, team);
    kblock_rewrite(b, &f->body, &(KRewriter){.env = &c, .leave = place});
    vec_append(a, &body, &c.loop->body[0]);
    c.loop->body[0] = body;
    c.loop->var = team;
    vec_append(a, &first, &f->body);
    f->body = first;
}
