/* What the rules of reverse mode are not made for, in forms for which there is one.
 *
 *     redomap op f         =>  map f, reduce op
 *     loop while           =>  a loop that counts the turns, a loop of so many turns
 *     #[stripmine(n)] loop =>  a nest of loops, n deep
 *     reduce (map2 op)     =>  map (reduce op) over the columns
 *     reduce (op1, op2)    =>  reduce op1, reduce op2
 *     reduce op, scan op   =>  a loop, for operators on arrays
 *
 * Only where a result depends on what is differentiated: the rest stays as it is. */
#include "ad/reverse.h"

enum { MOST_SCANNED = 4 }; /* values that depend on each other in a scan: matrices of 4 x 4 */

static void put(Rev *r, Vars pat, Exp *e, Stms *out)
{
    Stm s = {pat, e};
    ad_activity_stm(r->active, &s);
    rev_expand(r, &s, out);
}

static void put_all(Rev *r, const Stms *ss, Stms *out)
{
    for (int i = 0; i < ss->n; i++)
        put(r, ss->at[i].pat, ss->at[i].exp, out);
}

static Vars one_var(Ctx *cx, Var *v)
{
    Vars vs = {0};
    vec_push(cx->perm, &vs, v);
    return vs;
}

/* What is built, then pat as its results. */
static void put_named(Rev *r, const Bld *bl, const Vars *pat, const Atoms *res, Loc loc, Stms *out)
{
    put_all(r, &bl->stms, out);
    for (int i = 0; i < pat->n; i++)
        put(r, one_var(r->cx, pat->at[i]), exp_atom(r->cx, loc, res->at[i]), out);
}

/* --- Functions in front, while loops -------------------------------------------------------- */

static void expand_mapped(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    int n = e->soac.nes.n;
    Exp *m = exp_map(cx, e->loc, e->soac.width, e->soac.arrs, e->soac.fn);
    Vars mapped = {0}, folded = {0};
    Atoms arrs = {0};
    for (int i = 0; i < s->pat.n; i++) {
        Type t = type_array(cx, atom_type(e->soac.fn->body->res.at[i]), e->soac.width);
        Var *v = i < n ? var_new(cx, "mapped", t, e->loc) : s->pat.at[i];
        vec_push(cx->perm, &mapped, v);
        if (i < n) {
            ad_atom(cx, &arrs, atom_var(v));
            vec_push(cx->perm, &folded, s->pat.at[i]);
        }
    }
    put(r, mapped, m, out);
    Exp *f = ad_soac(cx, exp_is(e, F_FOLD) ? E_REDUCE : E_SCAN, e->loc, e->soac.width, arrs);
    f->soac.op = e->soac.op;
    f->soac.nes = e->soac.nes;
    f->soac.comm = e->soac.comm;
    f->attrs = e->attrs;
    put(r, folded, f, out);
}

/* Does fn give its parameters, each once, in order? */
static bool is_identity(const Lambda *fn)
{
    bool same = fn->params.n == fn->body->res.n;
    for (int i = 0; same && i < fn->params.n; i++)
        same = fn->body->res.at[i].var == fn->params.at[i];
    return same;
}

static void expand_write(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Exp *m = exp_map(cx, e->loc, e->soac.width, e->soac.arrs, e->soac.fn);
    Vars mapped = exp_pat(cx, "mapped", m);
    Types ts = {0};
    for (int i = 0; i < mapped.n; i++)
        vec_push(cx->perm, &ts, type_row(mapped.at[i]->type));
    put(r, mapped, m, out);
    Exp *w = exp_new(cx, e->kind, e->loc);
    *w = *e;
    w->soac.arrs = atoms_of_vars(cx, &mapped);
    w->soac.fn = ad_identity(cx, e->loc, &ts);
    put(r, s->pat, w, out);
}

static void expand_while(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Exp *count = rename_exp(cx, e);
    Var *n = var_new(cx, "turns", type_prim(T_I64), e->loc);
    vec_push(cx->perm, &count->loop.params, n);
    ad_atom(cx, &count->loop.inits, atom_i64(0));
    Bld bl = bld_new(cx);
    Atoms res = {0};
    vec_append(cx->perm, &bl.stms, &count->loop.body->stms);
    vec_append(cx->perm, &res, &count->loop.body->res);
    ad_atom(cx, &res, bld_binop(&bl, e->loc, OP_ADD, atom_var(n), atom_i64(1)));
    count->loop.body = bld_body(&bl, res);
    Stm counting = {exp_pat(cx, "turns", count), count};
    vec_push(cx->perm, out, counting); /* nobody asks for its other results */
    Exp *again = exp_new(cx, E_LOOP, e->loc);
    *again = *e;
    again->loop.kind = LOOP_FOR;
    again->loop.cond = NULL;
    again->loop.i = var_new(cx, "turn", type_prim(T_I64), e->loc);
    again->loop.bound = atom_var(vec_last(&counting.pat));
    put(r, s->pat, again, out);
}

/* --- Strips --------------------------------------------------------------------------------- */

/* Of n turns, for a nest `depth` deep: the power of two above n to the power of 1 - 1 / depth. */
static Atom strip_length(Bld *bl, Loc loc, Atom n, unsigned depth)
{
    Atom zeros = bld_exp(bl, "zeros", exp_unop(bl->cx, loc, OP_CLZ, n));
    Atom bits = bld_binop(bl, loc, OP_SUB, atom_i64(64), ad_i64(bl, loc, zeros));
    Atom inner = bld_binop(bl, loc, OP_MUL, bits, atom_i64(depth - 1));
    Atom up = bld_binop(bl, loc, OP_ADD, inner, atom_i64(depth - 1));
    Atom log = bld_binop(bl, loc, OP_DIV, up, atom_i64(depth));
    return bld_binop(bl, loc, OP_SHL, atom_i64(1), log);
}

/* A turn of the loop over strips: the turns of one, which are the loop's own from `from` on. */
static Exp *strip(Rev *r, const Exp *e, Atom from, Atom count, unsigned depth)
{
    Ctx *cx = r->cx;
    Exp *l = rename_exp(cx, e);
    Bld body = bld_new(cx);
    Var *k = var_new(cx, "k", type_prim(T_I64), e->loc);
    Atom turn = bld_binop(&body, e->loc, OP_ADD, from, atom_var(k));
    PrimType t = l->loop.i->type.elem;
    bld_define(&body, l->loop.i,
               t == T_I64 ? exp_atom(cx, e->loc, turn) : exp_conv(cx, e->loc, t, turn));
    vec_append(cx->perm, &body.stms, &l->loop.body->stms);
    l->attrs = attr_with_strips(e->attrs, depth - 1);
    l->loop.inits = atoms_of_vars(cx, &e->loop.params);
    l->loop.i = k;
    l->loop.bound = count;
    l->loop.body = bld_body(&body, l->loop.body->res);
    return l;
}

/* loop (x) for i < n do f  =>
 *     loop (x) for o < strips do loop (x) for k < min (length, n - o * length) do f
 * of which the outer one keeps what it carries once a strip, and the inner one the turns of the
 * strip that is at work. */
static void expand_strips(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    unsigned depth = attr_strips(e->attrs);
    Bld front = bld_new(cx), in = bld_new(cx);
    Atom n = bld_binop(&front, loc, OP_MAX, ad_i64(&front, loc, e->loop.bound), atom_i64(0));
    Atom length = strip_length(&front, loc, n, depth);
    Atom all =
        bld_binop(&front, loc, OP_ADD, n, bld_binop(&front, loc, OP_SUB, length, atom_i64(1)));
    Exp *l = exp_new(cx, E_LOOP, loc);
    *l = *e;
    l->attrs = attr_with_strips(e->attrs, 1);
    l->loop.i = var_new(cx, "strip", type_prim(T_I64), loc);
    l->loop.bound = bld_binop(&front, loc, OP_DIV, all, length);
    Atom from = bld_binop(&in, loc, OP_MUL, atom_var(l->loop.i), length);
    Atom rest = bld_binop(&in, loc, OP_SUB, n, from);
    Exp *turns = strip(r, e, from, bld_binop(&in, loc, OP_MIN, length, rest), depth);
    Stm inner = {exp_pat(cx, "turned", turns), turns};
    bld_stm(&in, inner);
    l->loop.body = bld_body(&in, atoms_of_vars(cx, &inner.pat));
    put_all(r, &front.stms, out);
    put(r, s->pat, l, out);
}

/* --- Operators ------------------------------------------------------------------------------ */

/* The part of op that combines value j, if nothing else has a part in it. */
static Lambda *part_of(Rev *r, const Lambda *op, int j)
{
    Ctx *cx = r->cx;
    int n = op->body->res.n;
    Atoms res = {0};
    ad_atom(cx, &res, op->body->res.at[j]);
    Bld bl = bld_new(cx);
    bl.stms = op->body->stms;
    Body *b = ad_needed(cx, bld_body(&bl, res));
    VarSet *free = varmap_new(cx->perm);
    free_in_body(free, b);
    for (int i = 0; i < op->params.n; i++)
        if (i % n != j && varset_has(free, op->params.at[i]))
            return NULL;
    Vars ps = {0};
    vec_push(cx->perm, &ps, op->params.at[j]);
    vec_push(cx->perm, &ps, op->params.at[n + j]);
    return rename_lambda(cx, lambda_new(cx, ps, b));
}

/* Each value by itself, if its operator does not depend on the others. */
static bool expand_parts(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    int n = e->soac.nes.n, rank = e->soac.dests.n ? e->soac.dests.at[0].rank : 0;
    VEC(Lambda *) ops = {0};
    for (int j = 0; j < n; j++) {
        Lambda *op = n > 1 ? part_of(r, e->soac.op, j) : NULL;
        if (!op)
            return false;
        vec_push(cx->perm, &ops, op);
    }
    for (int j = 0; j < n; j++) {
        Exp *p = exp_new(cx, e->kind, e->loc);
        *p = *e;
        p->soac.op = ops.at[j];
        p->soac.nes = p->soac.arrs = (Atoms){0};
        p->soac.dests = (Dests){0};
        ad_atom(cx, &p->soac.nes, e->soac.nes.at[j]);
        for (int d = 0; d < rank; d++)
            ad_atom(cx, &p->soac.arrs, e->soac.arrs.at[d]);
        ad_atom(cx, &p->soac.arrs, e->soac.arrs.at[rank + j]);
        if (rank) {
            Types ts = {0};
            vec_push(cx->perm, &p->soac.dests, e->soac.dests.at[j]);
            for (int i = 0; i < p->soac.arrs.n; i++)
                vec_push(cx->perm, &ts, type_row(atom_type(p->soac.arrs.at[i])));
            p->soac.fn = ad_identity(cx, e->loc, &ts);
        }
        put(r, one_var(cx, s->pat.at[j]), p, out);
    }
    return true;
}

/* op's map, as an operator on elements. */
static Lambda *elements_op(Ctx *cx, const Lambda *op, const Exp *m)
{
    Lambda *f = rename_lambda(cx, m->soac.fn);
    Vars ps = {0};
    for (int i = 0; i < op->params.n; i++)
        for (int k = 0; k < m->soac.arrs.n; k++)
            if (m->soac.arrs.at[k].var == op->params.at[i]) {
                vec_push(cx->perm, &ps, f->params.at[k]);
                break;
            }
    return lambda_new(cx, ps, f->body);
}

/* fold (map op) nes xss  =>  map (\ne xs -> fold op ne xs) nes (transpose xss) */
static void expand_columns(Rev *r, const Stm *s, const Exp *m, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    bool scan = e->kind == E_SCAN;
    Bld bl = bld_new(cx), in = bld_new(cx);
    Vars ps = {0};
    Atoms arrs = {0}, nes = {0}, cols = {0};
    for (int j = 0; j < e->soac.nes.n; j++) {
        ad_atom(cx, &arrs, e->soac.nes.at[j]);
        vec_push(cx->perm, &ps, var_new(cx, "ne", type_row(atom_type(e->soac.nes.at[j])), loc));
        ad_atom(cx, &nes, atom_var(vec_last(&ps)));
    }
    for (int j = 0; j < e->soac.arrs.n; j++) {
        Atom t = ad_transposed(&bl, loc, e->soac.arrs.at[j]);
        ad_atom(cx, &arrs, t);
        vec_push(cx->perm, &ps, var_new(cx, "column", type_row(atom_type(t)), loc));
        ad_atom(cx, &cols, atom_var(vec_last(&ps)));
    }
    Exp *f = ad_soac(cx, e->kind, loc, e->soac.width, cols);
    f->soac.nes = nes;
    f->soac.op = elements_op(cx, e->soac.op, m);
    f->soac.comm = e->soac.comm;
    Atoms res = bld_exps(&in, "folded", f);
    Exp *map = exp_map(cx, loc, m->soac.width, arrs, lambda_new(cx, ps, bld_body(&in, res)));
    Atoms made = bld_exps(&bl, "folded", map), final = {0};
    for (int j = 0; j < made.n; j++)
        ad_atom(cx, &final, scan ? ad_transposed(&bl, loc, made.at[j]) : made.at[j]);
    put_named(r, &bl, &s->pat, &final, loc, out);
}

/* The elements one after the other, for operators that no rule is for. */
static void expand_loop(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    int n = e->soac.nes.n;
    bool scan = e->kind == E_SCAN;
    Bld front = bld_new(cx), in = bld_new(cx);
    Exp *l = exp_new(cx, E_LOOP, loc);
    l->loop.kind = LOOP_FOR;
    l->loop.i = var_new(cx, "i", type_prim(T_I64), loc);
    l->loop.bound = e->soac.width;
    l->attrs = ATTR_SEQUENTIAL & e->attrs;
    Atoms args = {0}, res = {0};
    for (int j = 0; j < n; j++) {
        Var *acc = var_new(cx, "acc", atom_type(e->soac.nes.at[j]), loc);
        vec_push(cx->perm, &l->loop.params, acc);
        ad_atom(cx, &l->loop.inits, e->soac.nes.at[j]);
        ad_atom(cx, &args, atom_var(acc));
    }
    for (int j = 0; j < n; j++)
        ad_atom(cx, &args, ad_row(&in, loc, e->soac.arrs.at[j], atom_var(l->loop.i)));
    res = bld_inline_lambda(&in, e->soac.op, &args);
    Vars pat = {0};
    for (int j = 0; scan && j < n; j++) {
        Type t = s->pat.at[j]->type;
        Var *all = var_new(cx, "all", t, loc);
        vec_push(cx->perm, &l->loop.params, all);
        ad_atom(cx, &l->loop.inits, ad_scratch(&front, loc, t));
        DimIndexes at = ad_row_at(cx, t, atom_var(l->loop.i));
        ad_atom(cx, &res, ad_with(&in, loc, atom_var(all), &at, res.at[j], true));
        vec_push(cx->perm, &pat, var_new(cx, "acc", atom_type(e->soac.nes.at[j]), loc));
    }
    vec_append(cx->perm, &pat, &s->pat);
    l->loop.body = bld_body(&in, res);
    put_all(r, &front.stms, out);
    put(r, pat, l, out);
}

/* The same of a histogram by an operator that depends on what is differentiated besides its
 * operands. */
static void expand_bins(Rev *r, const Stm *s, Stms *out)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Loc loc = e->loc;
    int n = e->soac.nes.n, rank = e->soac.dests.at[0].rank;
    Bld in = bld_new(cx), yes = bld_new(cx), no = bld_new(cx);
    Exp *l = exp_new(cx, E_LOOP, loc);
    l->loop.kind = LOOP_FOR;
    l->loop.i = var_new(cx, "i", type_prim(T_I64), loc);
    l->loop.bound = e->soac.width;
    Atoms idx = {0}, args = {0}, bins = {0}, made = {0};
    for (int k = 0; k < rank; k++)
        ad_atom(cx, &idx, ad_row(&in, loc, e->soac.arrs.at[k], atom_var(l->loop.i)));
    Atom ok = ad_inside(&in, loc, &idx, s->pat.at[0]->type);
    for (int j = 0; j < n; j++) {
        Var *b = var_new(cx, "bins", s->pat.at[j]->type, loc);
        vec_push(cx->perm, &l->loop.params, b);
        ad_atom(cx, &l->loop.inits, e->soac.dests.at[j].arr);
        ad_atom(cx, &bins, atom_var(b));
        ad_atom(cx, &args,
                bld_exp(&yes, "bin", exp_index(cx, loc, bins.at[j], idx.at, rank, true)));
    }
    for (int j = 0; j < n; j++)
        ad_atom(cx, &args, ad_row(&yes, loc, e->soac.arrs.at[rank + j], atom_var(l->loop.i)));
    Atoms vals = bld_inline_lambda(&yes, e->soac.op, &args);
    for (int j = 0; j < n; j++) {
        const Exp *at = exp_index(cx, loc, bins.at[j], idx.at, rank, true);
        ad_atom(cx, &made, ad_with(&yes, loc, bins.at[j], &at->index.at, vals.at[j], true));
    }
    Exp *c = exp_if(cx, loc, ok, bld_body(&yes, made), bld_body(&no, bins));
    l->loop.body = bld_body(&in, bld_exps(&in, "bins", c));
    put(r, s->pat, l, out);
}

static bool any_active(const Rev *r, const Atoms *as)
{
    for (int i = 0; i < as->n; i++)
        if (rev_active(r, as->at[i]))
            return true;
    return false;
}

static bool needs_loop(const Rev *r, const Exp *e)
{
    int floats = 0;
    bool arrays = false, mixed = false;
    PrimType elem = T_F64;
    for (int j = 0; j < e->soac.nes.n; j++) {
        Type t = atom_type(e->soac.nes.at[j]);
        arrays = arrays || t.rank > 0;
        if (!ad_is_float(t))
            continue;
        mixed = mixed || (floats++ && t.elem != elem);
        elem = t.elem;
    }
    return arrays || (e->kind == E_SCAN && (mixed || floats > MOST_SCANNED)) ||
           rev_active_inside(r, e->soac.op) || any_active(r, &e->soac.nes);
}

static void expand_fold(Rev *r, const Stm *s, Stms *out)
{
    const Exp *m = ad_map_of(s->exp->soac.op);
    bool plain = !rev_active_inside(r, s->exp->soac.op);
    if (plain && expand_parts(r, s, out))
        return;
    if (plain && m)
        expand_columns(r, s, m, out);
    else if (needs_loop(r, s->exp))
        expand_loop(r, s, out);
    else
        vec_push(r->cx->perm, out, *s);
}

void rev_expand(Rev *r, const Stm *s, Stms *out)
{
    const Exp *e = s->exp;
    bool active = false;
    for (int i = 0; i < s->pat.n; i++)
        active = active || varset_has(r->active, s->pat.at[i]);
    if (!active) {
        vec_push(r->cx->perm, out, *s);
        return;
    }
    switch ((int)e->kind) {
    case E_REDOMAP:
    case E_SCANOMAP: expand_mapped(r, s, out); return;
    case E_REDUCE:
    case E_SCAN: expand_fold(r, s, out); return;
    case E_SCATTER:
    case E_HIST:
        if (!is_identity(e->soac.fn))
            expand_write(r, s, out);
        else if (e->kind == E_HIST && rev_active_inside(r, e->soac.op))
            expand_bins(r, s, out);
        else if (e->kind == E_SCATTER || !expand_parts(r, s, out))
            vec_push(r->cx->perm, out, *s);
        return;
    case E_LOOP:
        if (e->loop.kind == LOOP_WHILE) {
            expand_while(r, s, out);
            return;
        }
        if (attr_strips(e->attrs) > 1) {
            expand_strips(r, s, out);
            return;
        }
        break;
    default: break;
    }
    vec_push(r->cx->perm, out, *s);
}
