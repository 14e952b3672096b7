/* Nests run in the order in which their arrays lie.
 *
 *     let yss = segmap^1 <col in transposed; i < m>         let zss = segmap^1 <row in xss; j < n>
 *                        <x in col; j < n> { f x }    ==>                <x in row; i < m> { f x }
 *                                                           let yss = rearrange (1, 0) zss
 *
 * Neighbouring work-items are neighbours in the innermost dimension. Where that goes down the
 * columns of what is read, each access is apart, or a copy is made, and the transposition of the
 * result is another one; with the two innermost dimensions exchanged both are views.
 *
 * Only where rows are read through nests alone, element by element, all of them of transposed
 * arrays, and where the result is transposed, too.
 *
 * And products of matrices stand with their two dimensions side by side, where kernels have blocks
 * of both (kernels/level1/sides.c):
 *
 *     segmap^1 <yss in ysss; i < n> <xss, ys in xsss, yss; k < b> <xs in xss; j < m> {
 *         redomap (+) (*) xs ys }
 *
 *     ==> <xss, yss' in xsss, rearrange (1, 0, 2) ysss; k < b> <ys in yss'; i < n> <xs in xss; j <
 * m>
 *
 * SEG dialect, level 1, constructs without constructs inside. Before and after: well-formed. */
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    Uses *us;
    const bool *columns; /* of the body at work: is result k wanted by columns? NULL: none is */
} Turn;

/* A transposition, as far as the innermost dimension goes. */
static bool is_turned(const Exp *e)
{
    if (!e || e->kind != E_REARRANGE)
        return false;
    int last = atom_type(e->rearrange.arr).rank - 1;
    return e->rearrange.perm[last] != last;
}

static int place_in(const Vars *vs, Atom a)
{
    for (int k = 0; a.var && k < vs->n; k++)
        if (vs->at[k] == a.var)
            return k;
    return -1;
}

static bool is_bound_by(const Nest *nest, Atom a)
{
    for (int d = 0; d < nest->n; d++)
        if (place_in(&nest->at[d].xs, a) >= 0)
            return true;
    return false;
}

/* The rows of the last dimension but one are of transposed arrays, and only the last one reads
 * them; is there one? */
static bool reads_columns(const Turn *T, const Exp *e)
{
    const NestDim *out = &e->seg.nest.at[e->seg.nest.n - 2], *in = out + 1;
    VarSet *used = varmap_new(T->cx->scratch);
    bool any = false;
    free_in_body(used, e->seg.body);
    for (int k = 0; k < out->xs.n; k++) {
        const Var *x = out->xs.at[k];
        Atom arr = out->arrs.at[k];
        if (x->type.rank == 0)
            continue;
        if (varset_has(used, x) || is_bound_by(&e->seg.nest, arr) || !uses_stable(T->us, arr) ||
            !is_turned(uses_def(T->us, arr)))
            return false;
        any = true;
    }
    for (int k = 0; k < in->xs.n;
         k++) /* rows of rows would want a view in each element of the nest */
        if (in->xs.at[k]->type.rank > 0 && place_in(&out->xs, in->arrs.at[k]) >= 0)
            return false;
    return any;
}

/* Is v, bound in b, wanted by columns only? */
static bool wanted_by_columns(const Turn *T, const Body *b, const Var *v)
{
    uintptr_t good = 0;
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        good += is_turned(e) && e->rearrange.arr.var == v;
    }
    for (int k = 0; T->columns && k < b->res.n; k++)
        good += T->columns[k] && b->res.at[k].var == v;
    return good > 0 && good == uses_count(T->us, v);
}

static bool gives_columns(const Turn *T, const Body *b, const Stm *s)
{
    for (int j = 0; j < s->pat.n; j++)
        if (!uses_stable(T->us, atom_var(s->pat.at[j])) ||
            atom_type(s->exp->seg.body->res.at[j]).rank > 0 ||
            !wanted_by_columns(T, b, s->pat.at[j]))
            return false;
    return true;
}

static bool can_turn(const Turn *T, const Body *b, const Stm *s)
{
    const Exp *e = s->exp;
    ArenaMark mark = arena_mark(T->cx->scratch);
    bool can = e->kind == E_SEGMAP && e->seg.level == 1 && e->seg.nest.n >= 2 &&
               !nest_is_ragged(&e->seg.nest) && !body_has_seg(e->seg.body) && reads_columns(T, e) &&
               gives_columns(T, b, s);
    arena_reset(T->cx->scratch, mark);
    return can;
}

/* arr with dimensions d and d + 1 exchanged. */
static Exp *exchanged(Ctx *cx, Loc loc, Atom arr, int d)
{
    int rank = atom_type(arr).rank, *perm = NEWN(cx->perm, int, rank);
    for (int k = 0; k < rank; k++)
        perm[k] = k == d ? d + 1 : k == d + 1 ? d : k;
    return exp_rearrange(cx, loc, perm, arr);
}

static void push_input(Ctx *cx, NestDim *nd, Var *x, Atom arr)
{
    vec_push(cx->perm, &nd->xs, x);
    vec_push(cx->perm, &nd->arrs, arr);
}

/* The nest with its two innermost dimensions exchanged. */
static Nest turned_nest(Turn *T, Bld *bl, const Exp *e)
{
    Ctx *cx = T->cx;
    const Nest *nest = &e->seg.nest;
    const NestDim *out = &nest->at[nest->n - 2], *in = out + 1;
    NestDim first = {.idx = in->idx, .width = in->width},
            last = {.idx = out->idx, .width = out->width};
    Nest r = {0};
    for (int k = 0; k < out->xs.n; k++)
        if (out->xs.at[k]->type.rank == 0)
            push_input(cx, &last, out->xs.at[k], out->arrs.at[k]);
    for (int k = 0; k < in->xs.n; k++) {
        int row = place_in(&out->xs, in->arrs.at[k]);
        if (row < 0) { /* the same for all of the outer one */
            push_input(cx, &first, in->xs.at[k], in->arrs.at[k]);
            continue;
        }
        Atom whole =
            bld_exp(bl, out->arrs.at[row].var->base, exchanged(cx, e->loc, out->arrs.at[row], 0));
        Var *x = var_new(cx, in->xs.at[k]->base, type_row(atom_type(whole)), in->xs.at[k]->loc);
        push_input(cx, &first, x, whole);
        push_input(cx, &last, in->xs.at[k], atom_var(x));
    }
    for (int d = 0; d < nest->n - 2; d++)
        vec_push(cx->perm, &r, nest->at[d]);
    vec_push(cx->perm, &r, first);
    vec_push(cx->perm, &r, last);
    return r;
}

static void turn_stm(Turn *T, Bld *bl, const Stm *s)
{
    Ctx *cx = T->cx;
    int d = s->exp->seg.nest.n - 2;
    Exp *e = NEW(cx->perm, Exp);
    *e = *s->exp;
    e->seg.nest = turned_nest(T, bl, s->exp);
    Atoms res = bld_exps(bl, "turned", e);
    for (int j = 0; j < s->pat.n; j++) {
        Stm view = {.exp = exchanged(cx, e->loc, res.at[j], d)};
        vec_push(cx->perm, &view.pat, s->pat.at[j]);
        bld_stm(bl, view);
    }
}

/* --- Products -------------------------------------------------------------------------------- */

enum { MOST = 32 }; /* dimensions, as bits of a number */

/* The dimension of the nest that binds a, as number *k of its variables; -1: none does. */
static int bound_at(const Nest *nest, Atom a, int *k)
{
    for (int d = 0; a.var && d < nest->n; d++)
        if ((*k = place_in(&nest->at[d].xs, a)) >= 0)
            return d;
    return -1;
}

/* The dimensions of which it is told which part of an array outside a is. */
static uint32_t dims_of(const Nest *nest, Atom a)
{
    uint32_t dims = 0;
    for (int k, d; (d = bound_at(nest, a, &k)) >= 0; a = nest->at[d].arrs.at[k])
        dims |= (uint32_t)1 << d;
    return dims;
}

/* What elements of the nest reduce; NULL: not one array or several, in one reduction. */
static const Atoms *reduced(const Exp *e)
{
    const Exp *fold = NULL;
    if (e->kind == E_SEGRED)
        return &vec_last(&e->seg.nest).arrs;
    for (int i = 0; i < e->seg.body->stms.n; i++) {
        const Exp *in = e->seg.body->stms.at[i].exp;
        if (!exp_has_soac(in))
            continue;
        if (fold || !exp_is_fold(in))
            return NULL;
        fold = in;
    }
    return fold && (fold->soac.width.var || fold->soac.width.c.i >= MOST) ? &fold->soac.arrs : NULL;
}

/* Does each of the arrays vary with one of dimensions x and y at most, and some with either? */
static bool are_sides(const Nest *nest, const Atoms *arrs, int x, int y)
{
    bool has[2] = {false, false};
    for (int k = 0; k < arrs->n; k++) {
        uint32_t dims = dims_of(nest, arrs->at[k]);
        bool of_x = dims >> x & 1, of_y = dims >> y & 1;
        if (of_x && of_y)
            return false;
        has[0] |= of_x;
        has[1] |= of_y;
    }
    return has[0] && has[1];
}

/* The dimension that should stand before the last one of those that elements have; -1: none, or it
 * does. */
static int other_side(const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    int last = nest->n - 1 - (e->kind == E_SEGRED);
    const Atoms *arrs = last >= 2 && nest->n <= MOST ? reduced(e) : NULL;
    if (!arrs || are_sides(nest, arrs, last - 1, last))
        return -1;
    int x = last - 2;
    while (x >= 0 && !are_sides(nest, arrs, x, last))
        x--;
    return x;
}

static bool can_move(const Turn *T, const Stm *s)
{
    const Exp *e = s->exp;
    bool can = (e->kind == E_SEGMAP || e->kind == E_SEGRED) && e->seg.level == 1 &&
               !nest_is_ragged(&e->seg.nest) && !body_has_seg(e->seg.body) && other_side(e) >= 0;
    for (int j = 0; can && j < s->pat.n; j++)
        can = uses_stable(T->us, atom_var(s->pat.at[j]));
    return can;
}

/* The nest as it will be; `to`: where each dimension of the one before will stand. */
typedef struct {
    const Nest *from;
    const int *to;
    Nest nest;
    Bld *bl;
} Moved;

/* x, which `from` binds, is bound through the dimensions in their new order. */
static void move_input(Turn *T, Moved *m, Var *x, Loc loc)
{
    Ctx *cx = T->cx;
    int dims[MOST], n = 0, k, d;
    Atom arr = atom_var(x);
    while ((d = bound_at(m->from, arr, &k)) >= 0) { /* innermost first */
        arr = m->from->at[d].arrs.at[k];
        dims[n++] = d;
    }
    int rank = atom_type(arr).rank, *perm = NEWN(cx->perm, int, rank);
    bool turned = false;
    for (int i = 0; i < rank; i++)
        perm[i] = i;
    for (int i = 1; i < n; i++) /* outermost first, by insertion */
        for (int j = i; j > 0 && m->to[dims[n - 1 - perm[j]]] < m->to[dims[n - 1 - perm[j - 1]]];
             j--) {
            int p = perm[j];
            perm[j] = perm[j - 1];
            perm[j - 1] = p;
            turned = true;
        }
    if (turned)
        arr = bld_exp(m->bl, arr.var->base, exp_rearrange(cx, loc, perm, arr));
    for (int i = 0; i < n; i++) {
        Var *v = i == n - 1 ? x : var_new(cx, x->base, type_row(atom_type(arr)), x->loc);
        push_input(cx, &m->nest.at[m->to[dims[n - 1 - perm[i]]]], v, arr);
        arr = atom_var(v);
    }
}

static bool is_used(const VarSet *used, const Exp *e, const Nest *nest, const Var *x)
{
    return varset_has(used, x) ||
           (e->kind == E_SEGRED &&
            place_in(&vec_last(nest).xs, atom_var((Var *)(uintptr_t)x)) >= 0);
}

/* The same construct, dimension `from` of its nest before the last one that elements have. */
static void move_stm(Turn *T, Bld *bl, const Stm *s, int from)
{
    Ctx *cx = T->cx;
    Exp *e = NEW(cx->perm, Exp);
    *e = *s->exp;
    const Nest *nest = &s->exp->seg.nest;
    int before = nest->n - 2 - (e->kind == E_SEGRED), *to = NEWN(cx->perm, int, nest->n);
    Moved m = {.from = nest, .to = to, .bl = bl};
    VarSet *used = varmap_new(cx->perm);
    for (int d = 0; d < nest->n; d++)
        to[d] = d == from ? before : d - (d > from && d <= before);
    for (int p = 0; p < nest->n; p++)
        for (int d = 0; d < nest->n; d++)
            if (to[d] == p)
                vec_push(cx->perm, &m.nest,
                         ((NestDim){.idx = nest->at[d].idx, .width = nest->at[d].width}));
    free_in_body(used, e->seg.body);
    if (e->seg.op)
        free_in_lambda(used, e->seg.op);
    for (int d = 0; d < nest->n; d++)
        for (int k = 0; k < nest->at[d].xs.n; k++)
            if (is_used(used, e, nest, nest->at[d].xs.at[k]))
                move_input(T, &m, nest->at[d].xs.at[k], e->loc);
    e->seg.nest = m.nest;
    Atoms res = bld_exps(bl, "turned", e);
    for (int j = 0; j < s->pat.n; j++) {
        int rank = s->pat.at[j]->type.rank, *perm = NEWN(cx->perm, int, rank);
        for (int k = 0; k < rank; k++)
            perm[k] = k < nest->n ? to[k] : k;
        Stm view = {.exp = exp_rearrange(cx, e->loc, perm, res.at[j])};
        vec_push(cx->perm, &view.pat, s->pat.at[j]);
        bld_stm(bl, view);
    }
}

/* --- Bodies ---------------------------------------------------------------------------------- */

static Body *turn_body(void *env, Body *b);

/* A loop or branch; the results of a branch are wanted as what it gives is. */
static Exp *turn_inside(const Turn *T, const Body *b, const Stm *s)
{
    Turn inner = *T;
    bool *columns = NEWN(T->cx->perm, bool, s->pat.n);
    for (int k = 0; k < s->pat.n; k++)
        columns[k] = s->exp->kind == E_IF && wanted_by_columns(T, b, s->pat.at[k]);
    inner.columns = columns;
    return exp_map_parts(T->cx, s->exp, &(ExpMapper){.env = &inner, .body = turn_body});
}

static Body *turn_body(void *env, Body *b)
{
    Turn *T = env;
    Bld bl = bld_new(T->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (can_turn(T, b, &s)) {
            turn_stm(T, &bl, &s);
            continue;
        }
        if (can_move(T, &s)) {
            move_stm(T, &bl, &s, other_side(s.exp));
            continue;
        }
        if (s.exp->kind == E_LOOP || s.exp->kind == E_IF)
            s.exp = turn_inside(T, b, &s);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Prog *pass_interchange(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Turn T = {cx, uses_entry(cx, &en), NULL};
        en.body = turn_body(&T, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
