/* What turns of a loop add up is summed over all turns at once, behind the loop.
 *
 *     loop (s = s0, ..) for k < n do                loop (ys = scratch, ..) for k < n do
 *       let x = xs[k], y = ..                ==>      let x = xs[k], y = ..
 *       in (s + product x^T y, ..)                    in (ys with [k] = y, ..)
 *                                                   s := s0 + product (flat xs)^T (flat ys)
 *
 * as the adjoints of what all turns multiply with: a product of few elements, whose sums are short,
 * for each turn becomes one whose sums are n times as long, which the device is filled with. What
 * it is of, matrices of a turn, stand behind each other.
 *
 * Such a matrix is a row of an array that is there, by the number of the turn (from the first or
 * the last on), or is kept: for each that is there one of its size, so that memory at most doubles.
 * A sum of one matrix is no reason to keep it. Nobody else looks at the sum in the loop.
 *
 * SOAC dialect, host level; before fusion, which makes one of what is added and its addition.
 * Before: well-formed. After: well-formed; views that nobody uses are left. */
#include "ir/passes/uses.h"

typedef struct {
    Ctx *cx;
    const Uses *us;
    const Stm *s; /* the loop */
    VarSet *bound;
    Vars top;        /* bound by statements of its body */
    Atom turn;       /* by what number arrays are read; no variable: by none so far */
    Types rows;      /* of those, what may be kept beside them */
    Atom n;          /* turns, at least 0 */
    Vars keep, now;  /* what is kept; the loop's parameters that hold it */
    VarMap *behind;  /* Var -> Var *: of what is kept, the array behind the loop */
    VarSet *gone;    /* what the loop makes no more */
    Atom width, all; /* of a turn's sums; of those of all turns */
    Bld out;         /* what is behind the loop */
} Sums;

/* What one sum is of. */
typedef struct {
    VarSet *rows; /* parameters of its maps */
    Vars keep;    /* to keep for it */
    Types left;   /* of Sums.rows */
    Atom turn;
    Atom width; /* of a turn's reduction */
    int arrs;   /* of the reduction */
} Want;

/* --- What turns read -------------------------------------------------------------------------- */

static bool varies(const Sums *S, Atom a)
{
    return a.var && varset_has(S->bound, a.var);
}

/* The number of the last turn. */
static bool is_last(const Sums *S, Atom a)
{
    const Atom n = S->s->exp->loop.bound;
    const Exp *e = uses_def(S->us, a);
    if (!a.var)
        return !n.var && a.c.i == n.c.i - 1;
    return e && e->kind == E_PRIM && e->prim.op == OP_SUB && atom_eq(e->prim.args.at[0], n) &&
           atom_is_int(e->prim.args.at[1], 1);
}

/* A turn's number, or what is as far from the last one. */
static bool is_turn(const Sums *S, Atom a)
{
    const Exp *l = S->s->exp, *e = uses_def(S->us, a);
    if (!a.var || a.var == l->loop.i)
        return a.var != NULL;
    return vars_find(&S->top, a.var) >= 0 && e && e->kind == E_PRIM && e->prim.op == OP_SUB &&
           e->prim.args.at[1].var == l->loop.i && is_last(S, e->prim.args.at[0]);
}

static bool is_whole(const DimIndex *at, Atom size)
{
    return at->is_slice && atom_is_int(at->start, 0) && atom_is_int(at->stride, 1) &&
           atom_eq(at->n, size);
}

/* Is e the row of an array outside that has the number of the turn? No turn can consume it. */
static bool reads_turn(const Sums *S, const Exp *e)
{
    if (!e || e->kind != E_INDEX || !e->index.safe || varies(S, e->index.arr) ||
        e->index.at.at[0].is_slice || !is_turn(S, e->index.at.at[0].start))
        return false;
    Type t = atom_type(e->index.arr);
    for (int d = 1; d < t.rank; d++)
        if (!is_whole(&e->index.at.at[d], t.dims[d]))
            return false;
    return true;
}

static bool type_varies(const Sums *S, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (varies(S, t.dims[d]))
            return true;
    return false;
}

/* Takes a row of that type out of those beside which one may be kept. */
static bool take_row(Ctx *cx, Types *rows, Type t)
{
    Types left = {0};
    bool taken = false;
    for (int i = 0; i < rows->n; i++) {
        bool this = !taken && type_eq(rows->at[i], t);
        taken |= this;
        if (!this)
            vec_push(cx->perm, &left, rows->at[i]);
    }
    *rows = left;
    return taken;
}

/* --- Which sums wait -------------------------------------------------------------------------- */

/* What `a` is the transpose of; a itself if it is of one dimension. No variable: neither. */
static Atom matrix_of(const Sums *S, Atom a)
{
    const Exp *e = uses_def(S->us, a);
    if (atom_type(a).rank == 1)
        return a;
    if (e && e->kind == E_REARRANGE && atom_type(a).rank == 2 && e->rearrange.perm[0] == 1)
        return e->rearrange.arr;
    return atom_i64(0);
}

/* Is matrix x of each turn there, or may be kept? */
static bool has_matrix(const Sums *S, Want *w, Atom x)
{
    const Exp *e = uses_def(S->us, x);
    if (!varies(S, x))
        return false;
    if (reads_turn(S, e)) {
        bool same = !w->turn.var || atom_eq(w->turn, e->index.at.at[0].start);
        w->turn = e->index.at.at[0].start;
        return same;
    }
    if (vars_find(&S->keep, x.var) >= 0 || vars_find(&w->keep, x.var) >= 0)
        return true;
    if (vars_find(&S->top, x.var) < 0 || !uses_stable(S->us, x) || type_varies(S, x.var->type) ||
        !take_row(S->cx, &w->left, x.var->type))
        return false;
    vec_push(S->cx->perm, &w->keep, x.var);
    return true;
}

/* Is op the addition? */
static bool is_addition(const Lambda *op)
{
    const Exp *e = lambda_op(op);
    return e && e->prim.op == OP_ADD;
}

static bool is_constant_in(const Sums *S, const Lambda *f)
{
    Vars vs = free_vars_lambda(S->cx, f);
    for (int i = 0; i < vs.n; i++)
        if (varset_has(S->bound, vs.at[i]))
            return false;
    return true;
}

/* A sum of rows at hand. */
static bool sums_rows(const Sums *S, Want *w, const Exp *e)
{
    if (!exp_is_fold(e) || e->soac.nes.n != 1 || !e->soac.comm || exp_traps(e) ||
        e->soac.nes.at[0].var || !is_addition(e->soac.op))
        return false;
    Const zero = e->soac.nes.at[0].c;
    if (prim_is_float(zero.type) ? zero.f != 0 : zero.i != 0)
        return false;
    if (e->soac.fn && (e->soac.fn->body->res.n != 1 || !is_constant_in(S, e->soac.fn)))
        return false;
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom a = e->soac.arrs.at[k];
        if (!a.var || atom_type(a).rank != 1 ||
            (!varset_has(w->rows, a.var) && !has_matrix(S, w, a)))
            return false;
    }
    w->width = e->soac.width;
    w->arrs = e->soac.arrs.n;
    return !varies(S, w->width);
}

/* A map of sums, in maps, of rows of transposed matrices. */
static bool is_of_sums(const Sums *S, Want *w, const Exp *e)
{
    if (e->kind != E_MAP)
        return sums_rows(S, w, e);
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom x = matrix_of(S, e->soac.arrs.at[k]);
        if (!x.var || atom_type(x).rank != 2 || !has_matrix(S, w, x))
            return false;
        varset_add(w->rows, e->soac.fn->params.at[k]);
    }
    const Body *b = e->soac.fn->body;
    for (int i = 0; i < b->stms.n - 1; i++)
        if (b->stms.at[i].exp->kind != E_REARRANGE)
            return false;
    const Stm *last = b->stms.n ? &vec_last(&b->stms) : NULL;
    return last && last->pat.n == 1 && b->res.n == 1 && b->res.at[0].var == last->pat.at[0] &&
           !varies(S, e->soac.width) && is_of_sums(S, w, last->exp);
}

/* Of an addition of arrays, element by element: the two. */
static bool adds(const Exp *e, Atom *a, Atom *b)
{
    if (!e || e->kind != E_MAP || e->soac.arrs.n != 2)
        return false;
    const Lambda *f = e->soac.fn;
    *a = e->soac.arrs.at[0];
    *b = e->soac.arrs.at[1];
    if (is_addition(f))
        return true;
    Atom x, y;
    return f->body->stms.n == 1 && f->body->res.n == 1 && f->body->stms.at[0].pat.n == 1 &&
           f->body->res.at[0].var == f->body->stms.at[0].pat.at[0] &&
           adds(f->body->stms.at[0].exp, &x, &y) &&
           ((x.var == f->params.at[0] && y.var == f->params.at[1]) ||
            (y.var == f->params.at[0] && x.var == f->params.at[1]));
}

/* What turns add to parameter j of the loop, and nothing else happens to it. */
static Atom added(const Sums *S, int j)
{
    const Exp *l = S->s->exp;
    Atom a, b, sum = l->loop.body->res.at[j], none = atom_i64(0);
    Var *p = l->loop.params.at[j];
    if (p->type.rank == 0 || !varies(S, sum) || !adds(uses_def(S->us, sum), &a, &b))
        return none;
    if (b.var == p) {
        b = a;
        a = atom_var(p);
    }
    bool once = uses_count(S->us, p) == 1 && uses_count(S->us, sum.var) == 1;
    if (a.var != p || !once || !b.var || uses_count(S->us, b.var) != 1 ||
        vars_find(&S->top, b.var) < 0 || vars_find(&S->top, sum.var) < 0 ||
        !uses_stable(S->us, l->loop.inits.at[j]) || !uses_stable(S->us, atom_var(p)))
        return none;
    return b;
}

/* --- Behind the loop -------------------------------------------------------------------------- */

static DimIndex all_of(Atom n)
{
    return (DimIndex){.is_slice = true, .start = atom_i64(0), .n = n, .stride = atom_i64(1)};
}

/* Matrix x of all turns. */
static Atom of_turns(Sums *S, Atom x)
{
    const Exp *e = uses_def(S->us, x);
    if (!reads_turn(S, e))
        return atom_var(varmap_get(S->behind, x.var));
    Type t = atom_type(e->index.arr);
    if (atom_eq(t.dims[0], S->n))
        return e->index.arr;
    Exp *part = exp_new(S->cx, E_INDEX, e->loc);
    part->index.arr = e->index.arr;
    part->index.safe = true;
    vec_push(S->cx->perm, &part->index.at, all_of(S->n));
    for (int d = 1; d < t.rank; d++)
        vec_push(S->cx->perm, &part->index.at, all_of(t.dims[d]));
    return bld_exp(&S->out, "turns", part);
}

/* n times that many. */
static Atom of_all_turns(Sums *S, Loc loc, Atom width)
{
    if (!S->all.var || !atom_eq(width, S->width))
        S->all = bld_binop(&S->out, loc, OP_MUL, S->n, width);
    S->width = width;
    return S->all;
}

/* ... its rows one behind the other, and transposed if it is a matrix. */
static Atom flat_turns(Sums *S, Atom x)
{
    static const int turned[] = {1, 0};
    Type t = atom_type(x);
    Loc loc = x.var->loc;
    Exp *r = exp_new(S->cx, E_RESHAPE, loc);
    r->reshape.arr = of_turns(S, x);
    vec_push(S->cx->perm, &r->reshape.dims, of_all_turns(S, loc, t.dims[0]));
    for (int d = 1; d < t.rank; d++)
        vec_push(S->cx->perm, &r->reshape.dims, t.dims[d]);
    Atom flat = bld_exp(&S->out, "flat", r);
    return t.rank == 1 ? flat : bld_exp(&S->out, "turned", exp_rearrange(S->cx, loc, turned, flat));
}

/* e of all turns; `now`: the rows that it sums, as they are then. */
static Exp *of_all(Sums *S, VarMap *now, const Exp *e)
{
    Ctx *cx = S->cx;
    Exp *r = arena_memdup(cx->perm, e, sizeof *e);
    r->soac.arrs = (Atoms){0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Atom a = e->soac.arrs.at[k];
        Var *row = varmap_get(now, a.var);
        vec_push(cx->perm, &r->soac.arrs, row ? atom_var(row) : flat_turns(S, matrix_of(S, a)));
    }
    if (e->kind != E_MAP) {
        r->soac.width = atom_type(r->soac.arrs.at[0]).dims[0];
        r->soac.op = rename_lambda(cx, e->soac.op);
        r->soac.fn = e->soac.fn ? rename_lambda(cx, e->soac.fn) : NULL;
        return r;
    }
    Vars params = {0};
    for (int k = 0; k < e->soac.arrs.n; k++) {
        Var *p = e->soac.fn->params.at[k];
        Type t = type_row(atom_type(r->soac.arrs.at[k]));
        vec_push(cx->perm, &params, var_new(cx, p->base, t, p->loc));
        varmap_put(now, p, params.at[k]);
    }
    Bld in = bld_new(cx);
    Atoms res = {0};
    vec_push(cx->perm, &res,
             bld_exp(&in, "sum", of_all(S, now, vec_last(&e->soac.fn->body->stms).exp)));
    r->soac.fn = lambda_new(cx, params, bld_body(&in, res));
    return r;
}

/* Result j of the loop, to which turns would add `sum`. */
static void sum_behind(Sums *S, int j, Atom sum)
{
    const Exp *l = S->s->exp;
    Subst *su = subst_new(S->cx);
    Exp *all = of_all(S, varmap_new(S->cx->perm), uses_def(S->us, sum));
    subst_add(su, l->loop.params.at[j], l->loop.inits.at[j]);
    subst_add(su, sum.var, bld_exp(&S->out, "sums", all));
    bld_define(&S->out, S->s->pat.at[j],
               subst_exp(S->cx, su, uses_def(S->us, l->loop.body->res.at[j])));
}

/* --- The loop --------------------------------------------------------------------------------- */

/* Chooses the sum that is added to parameter j. */
static bool choose(Sums *S, Atom sum, bool product)
{
    Want w = {.rows = varmap_new(S->cx->perm), .left = S->rows, .turn = S->turn};
    if (!is_of_sums(S, &w, uses_def(S->us, sum)) || (product ? w.arrs < 2 : w.keep.n > 0))
        return false;
    S->rows = w.left;
    S->turn = w.turn;
    vec_append(S->cx->perm, &S->keep, &w.keep);
    return true;
}

/* Products first, for which matrices are kept, of which there are sums, too. */
static int choose_all(Sums *S, Atom *sums)
{
    int n = 0, all = S->s->exp->loop.params.n;
    for (int only = 0; only < 2 && (only == 0 || n > 0); only++)
        for (int j = 0; j < all; j++) {
            Atom sum = sums[j].var ? atom_i64(0) : added(S, j);
            if (sum.var && choose(S, sum, only == 0)) {
                sums[j] = sum;
                n++;
            }
        }
    return n;
}

static void find_rows(Sums *S)
{
    const Exp *l = S->s->exp;
    const Body *b = l->loop.body;
    VarSet *read = varmap_new(S->cx->scratch);
    bound_in_body(S->bound, b);
    varset_add(S->bound, l->loop.i);
    for (int j = 0; j < l->loop.params.n; j++)
        varset_add(S->bound, l->loop.params.at[j]);
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        vec_append(S->cx->perm, &S->top, &s->pat);
        if (!reads_turn(S, s->exp) || varset_has(read, s->exp->index.arr.var))
            continue;
        varset_add(read, s->exp->index.arr.var);
        vec_push(S->cx->perm, &S->rows, s->pat.at[0]->type);
    }
}

/* A parameter for each matrix that is kept, and the array behind the loop. */
static void add_kept(Sums *S, Bld *before, Exp *l, Stm *s)
{
    Ctx *cx = S->cx;
    for (int k = 0; k < S->keep.n; k++) {
        const Var *x = S->keep.at[k];
        Exp *room = exp_new(cx, E_SCRATCH, x->loc);
        room->scratch.type = type_array(cx, x->type, S->n);
        Var *p = var_new(cx, "kept", room->scratch.type, x->loc), *after = var_like(cx, p);
        vec_push(cx->perm, &l->loop.inits, bld_exp(before, "kept", room));
        vec_push(cx->perm, &l->loop.params, p);
        vec_push(cx->perm, &S->now, p);
        vec_push(cx->perm, &s->pat, after);
        varmap_put(S->behind, x, after);
    }
}

/* What turns add to parameter j goes, with its views of matrices. */
static void goes(Sums *S, int j, Atom sum)
{
    const Atoms *arrs = &uses_def(S->us, sum)->soac.arrs;
    varset_add(S->gone, sum.var);
    varset_add(S->gone, S->s->exp->loop.body->res.at[j].var);
    for (int k = 0; k < arrs->n; k++)
        if (atom_type(arrs->at[k]).rank == 2 && uses_count(S->us, arrs->at[k].var) == 1)
            varset_add(S->gone, arrs->at[k].var);
}

static bool is_gone(const Sums *S, const Stm *s)
{
    return s->pat.n == 1 && varset_has(S->gone, s->pat.at[0]);
}

/* The turn's statements but for those of sums, and what it keeps. */
static Body *turn_of(Sums *S, const Atom *sums)
{
    Ctx *cx = S->cx;
    const Body *b = S->s->exp->loop.body;
    Bld bl = bld_new(cx);
    Atoms res = {0};
    for (int i = 0; i < b->stms.n; i++)
        if (!is_gone(S, &b->stms.at[i]))
            bld_stm(&bl, b->stms.at[i]);
    for (int j = 0; j < b->res.n; j++)
        if (!sums[j].var)
            vec_push(cx->perm, &res, b->res.at[j]);
    for (int k = 0; k < S->keep.n; k++) {
        Var *x = S->keep.at[k], *p = S->now.at[k];
        Exp *e = exp_new(cx, E_UPDATE, x->loc);
        e->update.arr = atom_var(p);
        e->update.val = atom_var(x);
        e->update.safe = true;
        vec_push(cx->perm, &e->update.at, ((DimIndex){.start = S->turn}));
        for (int d = 0; d < x->type.rank; d++)
            vec_push(cx->perm, &e->update.at, all_of(x->type.dims[d]));
        vec_push(cx->perm, &res, bld_exp(&bl, "kept", e));
    }
    return bld_body(&bl, res);
}

/* The number of turns, which may be said by a negative number. */
static Atom turns_of(Sums *S, Bld *before)
{
    Atom n = S->s->exp->loop.bound;
    const Exp *e = uses_def(S->us, n);
    bool most = e && e->kind == E_PRIM && e->prim.op == OP_MAX;
    if ((!n.var && n.c.i >= 0) || (most && atom_is_int(e->prim.args.at[1], 0)))
        return n;
    return bld_exp(before, "turns", exp_binop(S->cx, S->s->exp->loc, OP_MAX, n, atom_i64(0)));
}

/* Writes the loop with its sums behind it; false: there are none. */
static bool sums_wait(Ctx *cx, const Uses *us, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    Sums S = {.cx = cx, .us = us, .s = s, .out = bld_new(cx)};
    if (e->loop.kind != LOOP_FOR || e->loop.i->type.elem != T_I64 || attr_strips(e->attrs))
        return false;
    S.bound = varmap_new(cx->perm);
    S.behind = varmap_new(cx->perm);
    S.gone = varmap_new(cx->perm);
    find_rows(&S);
    Atom *sums = NEWN(cx->perm, Atom, e->loop.params.n);
    if (S.rows.n == 0 || choose_all(&S, sums) == 0)
        return false;
    S.turn = S.turn.var ? S.turn : atom_var(e->loop.i);
    S.n = turns_of(&S, out);
    Exp *l = arena_memdup(cx->perm, e, sizeof *e);
    Stm loop = {.exp = l};
    l->loop.params = (Vars){0};
    l->loop.inits = (Atoms){0};
    for (int j = 0; j < e->loop.params.n; j++) {
        if (sums[j].var) {
            goes(&S, j, sums[j]);
            continue;
        }
        vec_push(cx->perm, &l->loop.params, e->loop.params.at[j]);
        vec_push(cx->perm, &l->loop.inits, e->loop.inits.at[j]);
        vec_push(cx->perm, &loop.pat, s->pat.at[j]);
    }
    add_kept(&S, out, l, &loop);
    l->loop.body = turn_of(&S, sums);
    bld_stm(out, loop);
    for (int j = 0; j < e->loop.params.n; j++)
        if (sums[j].var)
            sum_behind(&S, j, sums[j]);
    vec_append(cx->perm, &out->stms, &S.out.stms);
    return true;
}

/* --- Entries ---------------------------------------------------------------------------------- */

typedef struct {
    Ctx *cx;
    const Uses *us;
} Host;

static Body *host_body(void *env, Body *b)
{
    Host *h = env;
    ExpMapper m = {.env = env, .body = host_body};
    Bld bl = bld_new(h->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (s.exp->kind == E_LOOP && sums_wait(h->cx, h->us, &s, &bl))
            continue;
        if (s.exp->kind == E_LOOP || s.exp->kind == E_IF)
            s.exp = exp_map_parts(h->cx, s.exp, &m);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

Prog *pass_turn_sums(Ctx *cx, const Prog *in)
{
    Prog *p = NEW(cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        Host h = {cx, uses_entry(cx, &en)};
        en.body = host_body(&h, en.body);
        vec_push(cx->perm, &p->entries, en);
    }
    return p;
}
