/* What the forward sweep of a loop keeps for the reverse one, in arrays with a row for each turn:
 * of what it carries, that alone which a turn of the reverse sweep reads; and of what a turn makes,
 * what it folds something for (products, scans), if that is no larger than what the loop carries:
 * it takes much longer to be computed again than to be read.
 *
 *     loop (x = x0) for i < n do           loop (x = x0, xs = scratch) for i < n do
 *       f x w i                      =>      let xs = xs with [i] = x
 *                                            in (f x w i, xs)
 *
 * An array whose size changes from turn to turn has no rows. They are behind each other then, and
 * where each begins is kept, too; how many elements there are in all is counted first:
 *
 *     loop (m, x: [m]) ..            =>    loop (m, x: [m], all = 0) .. all + m
 *                                          loop (m, x: [m], from, xs: [all], at: [n]) ..
 *                                            xs with [from : from + m] = x, at with [i] = from
 *
 * of which first loop little is left but sizes. */
#include "ad/reverse.h"

typedef struct {
    const Turns *T;
    Ints kept;  /* the loop's parameters that are kept, */
    Vars elems; /* and what the turns read of others */
} Tape;

static bool size_changes(const Exp *loop, Type t)
{
    for (int d = 0; d < t.rank; d++)
        if (t.dims[d].var && vars_find(&loop->loop.params, t.dims[d].var) >= 0)
            return true;
    return false;
}

/* --- What is needed ------------------------------------------------------------------------- */

static bool changes_in_turn(const Tape *P, const VarSet *bound, Type t)
{
    return ad_type_varies(bound, t) || size_changes(P->T->copy, t);
}

/* Of an array that is read at some places alone, what is read there is kept, not all of it: adds
 * the statements' variables. */
static bool elements_do(Tape *P, const Body *turn, Var *p)
{
    Ctx *cx = P->T->r->cx;
    Vars elems = {0};
    VarSet *bound = varmap_new(cx->perm), *forward = varmap_new(cx->perm);
    bound_in_body(bound, turn);
    const Stms *fwd = &P->T->in->fwd;
    for (int i = 0; i < fwd->n; i++)
        if (fwd->at[i].pat.n == 1)
            varset_add(forward, fwd->at[i].pat.at[0]);
    for (int i = 0; i < turn->stms.n; i++) {
        const Stm *s = &turn->stms.at[i];
        VarSet *free = varmap_new(cx->perm);
        free_in_stm(free, s);
        if (!varset_has(free, p))
            continue;
        Var *x = s->pat.at[0];
        if (s->exp->kind != E_INDEX || s->exp->index.arr.var != p || !varset_has(forward, x) ||
            x->type.rank == p->type.rank || changes_in_turn(P, bound, x->type))
            return false;
        vec_push(cx->perm, &elems, x);
    }
    for (int i = 0; i < turn->res.n; i++)
        if (turn->res.at[i].var == p)
            return false;
    vec_append(cx->perm, &P->elems, &elems);
    return p->type.rank > 0;
}

/* What a turn of the reverse loop needs of the loop's parameters; sizes come before arrays. */
static void choose_kept(Tape *P, const Body *turn)
{
    Ctx *cx = P->T->r->cx;
    const Vars *ps = &P->T->copy->loop.params;
    VarSet *free = varmap_new(cx->perm), *whole = varmap_new(cx->perm);
    free_in_body(free, turn);
    for (int j = 0; j < ps->n; j++) {
        Var *p = ps->at[j];
        if (!varset_has(free, p) || elements_do(P, turn, p))
            continue;
        varset_add(whole, p);
        for (int d = 0; d < p->type.rank; d++)
            if (p->type.dims[d].var)
                varset_add(whole, p->type.dims[d].var);
    }
    for (int arrays = 0; arrays < 2; arrays++)
        for (int j = 0; j < ps->n; j++)
            if (varset_has(whole, ps->at[j]) && (ps->at[j]->type.rank > 0) == arrays)
                vec_push(cx->perm, &P->kept, j);
}

/* --- What takes long ------------------------------------------------------------------------ */

bool rev_like(const Var *v, const Var *p)
{
    enum { MOST = 8 };
    int64_t more = 1;
    bool taken[MOST] = {false}, found = p->type.rank <= MOST;
    for (int d = 0; d < v->type.rank && found; d++) {
        Atom n = v->type.dims[d];
        found = !n.var && (more *= n.c.i) <= MOST;
        for (int k = 0; k < p->type.rank && !found; k++)
            if (!taken[k] && atom_eq(n, p->type.dims[k]))
                taken[k] = found = true;
    }
    return found;
}

static bool like_any(const Tape *P, const Var *v)
{
    const Vars *ps = &P->T->copy->loop.params;
    for (int j = 0; j < ps->n; j++)
        if (ps->at[j]->type.rank > 0 && rev_like(v, ps->at[j]))
            return true;
    return false;
}

/* Does s take long for what the turn reads of it, which no other turn can know before? It folds
 * something, and is no larger than what the loop carries. */
static bool takes_long(const Tape *P, const Stm *s, const VarSet *used, const VarSet *carried)
{
    bool any = false;
    VarSet *free = varmap_new(P->T->r->cx->perm);
    if (!exp_is_soac(s->exp) || !ad_folds(s->exp))
        return false;
    free_in_exp(free, s->exp);
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        if (!varset_has(used, v))
            continue;
        any = true;
        if (v->type.rank == 0 || size_changes(P->T->copy, v->type) || !like_any(P, v))
            return false;
    }
    for (int i = 0; any && (i = ptrmap_next(free, i)) >= 0; i++)
        if (varset_has(carried, ptrmap_key(free, i)))
            return true;
    return false;
}

static VarSet *used_by(Ctx *cx, const Body *b)
{
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < b->stms.n; i++)
        free_in_stm(used, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        if (b->res.at[i].var)
            varset_add(used, b->res.at[i].var);
    return used;
}

/* The turn without the statements of the forward sweep that take long: what is read of them is
 * kept. */
static const Body *without_long(Tape *P, const Body *turn)
{
    Ctx *cx = P->T->r->cx;
    VarSet *used = used_by(cx, turn), *forward = varmap_new(cx->perm);
    VarSet *carried = varmap_new(cx->perm);
    const Vars *ps = &P->T->copy->loop.params;
    Bld rest = bld_new(cx);
    for (int j = 0; j < ps->n; j++)
        varset_add(carried, ps->at[j]);
    for (int i = 0; i < P->T->in->fwd.n; i++)
        for (int k = 0; k < P->T->in->fwd.at[i].pat.n; k++)
            varset_add(forward, P->T->in->fwd.at[i].pat.at[k]);
    for (int i = 0; i < turn->stms.n; i++) {
        const Stm *s = &turn->stms.at[i];
        bool is_forward = s->pat.n > 0 && varset_has(forward, s->pat.at[0]);
        bool kept = is_forward && takes_long(P, s, used, carried);
        if (!kept)
            bld_stm(&rest, *s);
        for (int k = 0; k < s->pat.n; k++) {
            if (exp_uses_any(s->exp, carried))
                varset_add(carried, s->pat.at[k]);
            if (kept && varset_has(used, s->pat.at[k]))
                vec_push(cx->perm, &P->elems, s->pat.at[k]);
        }
    }
    return ad_needed(cx, bld_body(&rest, turn->res));
}

/* --- The forward loop ----------------------------------------------------------------------- */

/* A loop that does what the forward sweep does, with names of its own: its results are those of the
 * loop, then the elements of arrays that are kept. */
static Exp *forward_loop(Tape *P)
{
    Ctx *cx = P->T->r->cx;
    const Exp *e = P->T->copy;
    Vars ps = {0};
    Atoms res = {0}, elems = atoms_of_vars(cx, &P->elems);
    vec_append(cx->perm, &ps, &e->loop.params);
    vec_push(cx->perm, &ps, e->loop.i);
    vec_append(cx->perm, &res, &e->loop.body->res);
    vec_append(cx->perm, &res, &elems);
    Bld bl = {.cx = cx, .stms = P->T->in->fwd};
    Lambda *own = rename_lambda(cx, lambda_new(cx, ps, bld_body(&bl, res)));
    Exp *l = exp_new(cx, E_LOOP, e->loc);
    *l = *P->T->s->exp;
    l->loop.i = own->params.at[--own->params.n];
    l->loop.params = own->params;
    l->loop.body = own->body;
    return l;
}

static Atom elements(Bld *bl, Loc loc, Type t)
{
    return ad_product(bl, loc, t.dims, t.rank);
}

/* How many elements the parameters js have in all turns. */
static Atoms count(Tape *P, const Ints *js, Stms *fwd)
{
    Ctx *cx = P->T->r->cx;
    Exp *l = rename_exp(cx, P->T->s->exp);
    Bld body = bld_new(cx);
    Atoms res = {0}, totals = {0};
    vec_append(cx->perm, &body.stms, &l->loop.body->stms);
    vec_append(cx->perm, &res, &l->loop.body->res);
    for (int k = 0; k < js->n; k++) {
        Atom n = elements(&body, l->loc, l->loop.params.at[js->at[k]]->type);
        Var *all = var_new(cx, "all", type_prim(T_I64), l->loc);
        ad_atom(cx, &res, bld_binop(&body, l->loc, OP_ADD, atom_var(all), n));
        vec_push(cx->perm, &l->loop.params, all);
        ad_atom(cx, &l->loop.inits, atom_i64(0));
    }
    l->loop.body = bld_body(&body, res);
    Stm s = {exp_pat(cx, "all", l), l};
    vec_push(cx->perm, fwd, s);
    for (int k = 0; k < js->n; k++)
        ad_atom(cx, &totals, atom_var(s.pat.at[s.pat.n - js->n + k]));
    return totals;
}

/* The loop under construction: what it carries besides. */
typedef struct {
    Exp *l;
    Atom turn;
    Stm s;
    Vars params, tapes; /* tapes: what comes out, for each thing that is kept */
    Atoms inits, res;
    Bld front;         /* of the loop */
    Bld begin, behind; /* of a turn */
} Keeping;

/* Carries another value, whose next one is returned by the caller to K->res. */
static Atom carry(Ctx *cx, Keeping *K, Type t, Atom init, Var **out)
{
    Var *p = var_new(cx, "kept", t, K->l->loc);
    *out = var_new(cx, "kept", t, K->l->loc);
    vec_push(cx->perm, &K->params, p);
    ad_atom(cx, &K->inits, init);
    vec_push(cx->perm, &K->s.pat, *out);
    return atom_var(p);
}

static Atom blank(Keeping *K, Type t)
{
    Exp *e = exp_new(K->front.cx, E_SCRATCH, K->l->loc);
    e->attrs = attr_with_strips(ATTR_KEPT, attr_strips(K->l->attrs));
    e->scratch.type = t;
    return bld_exp(&K->front, "kept", e);
}

static void keep_row(Ctx *cx, Keeping *K, Bld *bl, Atom n, Atom val)
{
    Type t = type_array(cx, atom_type(val), n);
    Var *tape;
    Atom p = carry(cx, K, t, blank(K, t), &tape);
    DimIndexes at = ad_row_at(cx, t, K->turn);
    ad_atom(cx, &K->res, ad_with(bl, K->l->loc, p, &at, val, true));
    vec_push(cx->perm, &K->tapes, tape);
}

static DimIndexes part_at(Ctx *cx, Atom from, Atom n)
{
    DimIndexes at = {0};
    vec_push(cx->perm, &at, (DimIndex){true, from, n, atom_i64(1)});
    return at;
}

/* All elements behind those of the turns before; `total` in all. Its tape is two: where each turn's
 * begin, and the elements. */
static void keep_part(Ctx *cx, Keeping *K, Atom n, Atom total, Atom val)
{
    Loc loc = K->l->loc;
    Type t = type_array(cx, type_prim(atom_type(val).elem), total);
    Var *none, *tape;
    Atom from = carry(cx, K, type_prim(T_I64), atom_i64(0), &none);
    Atom size = elements(&K->begin, loc, atom_type(val));
    ad_atom(cx, &K->res, bld_binop(&K->begin, loc, OP_ADD, from, size));
    keep_row(cx, K, &K->begin, n, from);
    Atom p = carry(cx, K, t, blank(K, t), &tape);
    DimIndexes at = part_at(cx, from, size);
    Atom flat = ad_as(&K->begin, loc, val, type_array(cx, type_prim(t.elem), size));
    ad_atom(cx, &K->res, ad_with(&K->begin, loc, p, &at, flat, true));
    vec_push(cx->perm, &K->tapes, tape);
}

static bool in_parts(const Tape *P, int j)
{
    return size_changes(P->T->copy, P->T->copy->loop.params.at[j]->type);
}

/* The loop, which keeps parameters and elements: in arrays that are behind its results. */
static Vars keep(Tape *P, Stms *fwd)
{
    Ctx *cx = P->T->r->cx;
    Exp *l = forward_loop(P);
    int n = P->T->s->pat.n;
    Ints parts = {0};
    for (int k = 0; k < P->kept.n; k++)
        if (in_parts(P, P->kept.at[k]))
            vec_push(cx->perm, &parts, P->kept.at[k]);
    Atoms totals = parts.n ? count(P, &parts, fwd) : (Atoms){0};
    Keeping K = {.l = l, .s = {.exp = l}, .front = bld_new(cx), .begin = bld_new(cx)};
    K.behind = bld_new(cx);
    vec_append(cx->perm, &K.params, &l->loop.params);
    vec_append(cx->perm, &K.inits, &l->loop.inits);
    vec_append(cx->perm, &K.s.pat, &P->T->s->pat);
    for (int j = 0; j < n; j++)
        ad_atom(cx, &K.res, l->loop.body->res.at[j]);
    K.turn = ad_i64(&K.begin, l->loc, atom_var(l->loop.i));
    for (int k = 0, part = 0; k < P->kept.n; k++) {
        Atom val = atom_var(l->loop.params.at[P->kept.at[k]]);
        if (in_parts(P, P->kept.at[k]))
            keep_part(cx, &K, P->T->n, totals.at[part++], val);
        else
            keep_row(cx, &K, &K.begin, P->T->n, val);
    }
    for (int k = 0; k < P->elems.n; k++)
        keep_row(cx, &K, &K.behind, P->T->n, l->loop.body->res.at[n + k]);
    vec_append(cx->perm, &K.begin.stms, &l->loop.body->stms);
    vec_append(cx->perm, &K.begin.stms, &K.behind.stms);
    l->loop.params = K.params;
    l->loop.inits = K.inits;
    l->loop.body = bld_body(&K.begin, K.res);
    vec_append(cx->perm, fwd, &K.front.stms);
    vec_push(cx->perm, fwd, K.s);
    return K.tapes;
}

/* --- The reverse loop ----------------------------------------------------------------------- */

/* v is what the turn has in the next tapes. */
static void find(Tape *P, Bld *bl, Var *v, bool part, const Vars *tapes, int *at)
{
    Ctx *cx = P->T->r->cx;
    Loc loc = P->T->copy->loc;
    Atom row = ad_row(bl, loc, atom_var(tapes->at[(*at)++]), P->T->turn);
    if (part) {
        DimIndexes there = part_at(cx, row, elements(bl, loc, v->type));
        row = ad_as(bl, loc, ad_at(bl, loc, atom_var(tapes->at[(*at)++]), &there, true), v->type);
    }
    bld_define(bl, v, exp_atom(cx, loc, row));
}

Body *rev_from_tape(const Turns *T, const Body *turn, Stms *fwd, Bld *front)
{
    Ctx *cx = T->r->cx;
    Tape P = {.T = T};
    turn = without_long(&P, turn);
    choose_kept(&P, turn);
    if (P.kept.n + P.elems.n == 0) {
        vec_push(cx->perm, fwd, *T->s);
        return bld_body(&(Bld){.cx = cx, .stms = turn->stms}, turn->res);
    }
    Vars tapes = keep(&P, fwd);
    int at = 0;
    for (int i = 0; i < P.kept.n; i++)
        find(&P, front, T->copy->loop.params.at[P.kept.at[i]], in_parts(&P, P.kept.at[i]), &tapes,
             &at);
    for (int i = 0; i < P.elems.n; i++)
        find(&P, front, P.elems.at[i], false, &tapes, &at);
    Bld rest = bld_new(cx);
    for (int i = 0; i < turn->stms.n; i++)
        if (turn->stms.at[i].pat.n != 1 || vars_find(&P.elems, turn->stms.at[i].pat.at[0]) < 0)
            bld_stm(&rest, turn->stms.at[i]);
    return bld_body(&rest, turn->res);
}
