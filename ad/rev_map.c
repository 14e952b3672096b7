/* Maps in reverse: a map over the same arrays and the adjoints of the results, whose function runs
 * the forward and then the reverse sweep. Adjoints of elements are elements of its results, those
 * of free scalars are summed, those of free arrays leave in pieces (pieces.c).
 *
 * Where one element alone has an adjoint, as that which is the least, only its iteration is gone
 * through, if it is there: adjoints are linear in seeds, so that the others give zeros. */
#include "ad/reverse.h"

typedef struct {
    Rev *r;
    const Stm *s;
    Lambda *fn; /* with fresh names */
    Rev in;
    Iterations its;
} MapBack;

static VarSet *widths_inside(const Rev *r, Atom width)
{
    VarSet *all = varmap_new(r->cx->perm);
    for (int i = 0; (i = ptrmap_next(r->widths, i)) >= 0; i++)
        varset_add(all, ptrmap_key(r->widths, i));
    if (width.var)
        varset_add(all, width.var);
    return all;
}

/* Rows of active arrays are apart like arrays outside: what is read of them at some places leaves
 * the map in pieces, instead of being the row's adjoint, mostly zeros. */
static void begin(MapBack *M)
{
    Rev *r = M->r;
    const Exp *e = M->s->exp;
    VarSet *inside = varmap_new(r->cx->perm);
    M->in = rev_inner(r);
    M->in.inside = inside;
    M->in.widths = widths_inside(r, e->soac.width);
    M->its.L = rev_lift_new(&M->in, r, e->loc, e->soac.width);
    bound_in_body(M->its.L.bound, M->fn->body);
    bound_in_body(inside, M->fn->body);
    for (int i = 0; i < M->fn->params.n; i++) {
        Var *p = M->fn->params.at[i];
        Atom arr = e->soac.arrs.at[i];
        const Exp *def = arr.var ? varmap_get(r->defs, arr.var) : NULL;
        varset_add(M->its.L.bound, p);
        if (p->type.rank == 0 || !rev_active(r, arr))
            varset_add(inside, p);
        if (rev_active(r, arr))
            varset_add(r->active, p);
        if (def && def->kind == E_IOTA && atom_is_int(def->iota.start, 0) &&
            atom_is_int(def->iota.stride, 1))
            varset_add(M->its.L.own, p);
    }
    ad_activity(r->active, M->fn->body);
}

/* The value that arr has everywhere, if it was made by replicate. */
static const Exp *filled(const Rev *r, Atom arr)
{
    for (int i = r->bl.stms.n - 1; i >= 0; i--)
        if (r->bl.stms.at[i].pat.n == 1 && r->bl.stms.at[i].pat.at[0] == arr.var)
            return r->bl.stms.at[i].exp->kind == E_REPLICATE ? r->bl.stms.at[i].exp : NULL;
    return NULL;
}

/* A row of what e makes. */
static Atom filled_row(MapBack *M, const Exp *e)
{
    const Atoms *dims = &e->replicate.dims;
    return ad_filled(&M->in.bl, e->loc, dims->at + 1, dims->n - 1, e->replicate.val);
}

static void seeds(MapBack *M)
{
    Rev *r = M->r;
    Loc loc = M->its.L.loc;
    vec_append(r->cx->perm, &M->its.params, &M->fn->params);
    vec_append(r->cx->perm, &M->its.arrs, &M->s->exp->soac.arrs);
    for (int j = 0; j < M->s->pat.n; j++) {
        if (!rev_has(r, M->s->pat.at[j]))
            continue;
        Atom arr = rev_take(r, M->s->pat.at[j]);
        const Exp *same = filled(r, arr);
        if (same) {
            rev_add(&M->in, loc, M->fn->body->res.at[j], filled_row(M, same));
            continue;
        }
        Var *seed = var_new(r->cx, "seed", type_row(atom_type(arr)), loc);
        varset_add(M->its.L.bound, seed);
        vec_push(r->cx->perm, &M->its.params, seed);
        ad_atom(r->cx, &M->its.arrs, arr);
        rev_add(&M->in, loc, M->fn->body->res.at[j], atom_var(seed));
    }
}

/* Pieces of rows, as pieces of the arrays that these are of: at the iteration's number. */
static void lift_rows(MapBack *M)
{
    Ctx *cx = M->r->cx;
    Var *i = NULL;
    for (int k = 0; k < M->fn->params.n; k++) {
        const Adjoint *a = varmap_get(M->in.adjoint, M->fn->params.at[k]);
        if (!a || a->pieces.n == 0)
            continue;
        if (!i) {
            i = var_new(cx, "i", type_prim(T_I64), M->its.L.loc);
            vec_push(cx->perm, &M->its.params, i);
            ad_atom(cx, &M->its.arrs, ad_iota(&M->r->bl, M->its.L.loc, M->its.L.width));
            varset_add(M->its.L.bound, i);
            varset_add(M->its.L.own, i);
        }
        rev_lift_row(&M->its.L, M->fn->params.at[k], M->s->exp->soac.arrs.at[k].var, i);
    }
}

/* --- What the forward sweep keeps ----------------------------------------------------------- */

/* Is it worth to be kept: does it take more than it has elements? */
static bool worth(const MapBack *M, const Stm *s, const VarSet *used)
{
    int d = ad_depth(s->exp);
    bool any = false;
    for (int k = 0; k < s->pat.n; k++) {
        const Var *v = s->pat.at[k];
        if (!varset_has(used, v))
            continue;
        any = true;
        if (v->type.rank >= d || ad_type_varies(M->its.L.bound, v->type))
            return false;
    }
    return any;
}

/* The statements of the forward sweep that are not run again: their results are kept. The reverse
 * map is left without them, and gets those as parameters. */
static Vars keep_results(MapBack *M, const Body *turn)
{
    Ctx *cx = M->r->cx;
    VarSet *used = varmap_new(cx->perm);
    Vars kept = {0};
    Stms rest = {0};
    for (int i = 0; i < turn->stms.n; i++)
        free_in_stm(used, &turn->stms.at[i]);
    for (int i = 0; i < turn->res.n; i++)
        if (turn->res.at[i].var)
            varset_add(used, turn->res.at[i].var);
    for (int i = 0; i < M->in.fwd.n; i++) {
        const Stm *s = &M->in.fwd.at[i];
        if (!worth(M, s, used)) {
            vec_push(cx->perm, &rest, *s);
            continue;
        }
        for (int k = 0; k < s->pat.n; k++)
            if (varset_has(used, s->pat.at[k]))
                vec_push(cx->perm, &kept, s->pat.at[k]);
    }
    M->in.fwd = rest;
    return kept;
}

/* The map as it was, which gives what is kept, too. */
static void keep(MapBack *M, Stms *fwd)
{
    Ctx *cx = M->r->cx;
    const Exp *e = M->s->exp;
    Atoms all = {0};
    vec_append(cx->perm, &all, &M->its.elems);
    vec_append(cx->perm, &all, &M->its.L.sums);
    vec_append(cx->perm, &all, &M->its.L.each);
    Stms before = M->in.fwd;
    Vars kept = keep_results(M, rev_close(&M->in, all));
    if (kept.n == 0) {
        vec_push(cx->perm, fwd, *M->s);
        return;
    }
    Atoms res = {0}, more = atoms_of_vars(cx, &kept);
    vec_append(cx->perm, &res, &M->fn->body->res);
    vec_append(cx->perm, &res, &more);
    Bld bl = {.cx = cx, .stms = before};
    Lambda *fn = rename_lambda(cx, lambda_new(cx, M->fn->params, bld_body(&bl, res)));
    Exp *m = exp_map(cx, e->loc, e->soac.width, e->soac.arrs, fn);
    Stm s = {.exp = m};
    m->attrs = e->attrs;
    vec_append(cx->perm, &s.pat, &M->s->pat);
    for (int i = 0; i < kept.n; i++) {
        Type t = type_array(cx, kept.at[i]->type, e->soac.width);
        Var *arr = var_new(cx, "kept", t, e->loc);
        vec_push(cx->perm, &s.pat, arr);
        vec_push(cx->perm, &M->its.params, kept.at[i]);
        ad_atom(cx, &M->its.arrs, atom_var(arr));
    }
    vec_push(cx->perm, fwd, s);
}

/* --- One element ------------------------------------------------------------------------------ */

/* The result that alone has an adjoint, which is one element's; -1: there is no such. */
static int chosen(const Rev *r, const Stm *s)
{
    int which = -1;
    for (int j = 0; j < s->pat.n; j++) {
        const Adjoint *a = varmap_get(r->adjoint, s->pat.at[j]);
        if (!a)
            continue;
        if (which >= 0 || a->known || a->pieces.n != 1 || !rev_is_element(&a->pieces.at[0]))
            return -1;
        which = j;
    }
    return which;
}

/* if `some` then result j of the element at position i else 0 */
static Exp *element(Rev *r, const Stm *s, int j, Atom some, Atom i)
{
    Ctx *cx = r->cx;
    const Exp *e = s->exp;
    Type t = type_row(s->pat.at[j]->type);
    Bld yes = bld_new(cx), no = bld_new(cx);
    Atoms args = {0}, x = {0}, zero = {0};
    for (int k = 0; k < e->soac.arrs.n; k++)
        ad_atom(cx, &args, ad_row(&yes, e->loc, e->soac.arrs.at[k], i));
    Atoms res = bld_inline_lambda(&yes, e->soac.fn, &args);
    ad_atom(cx, &x, ad_as(&yes, e->loc, res.at[j], t));
    ad_atom(cx, &zero, ad_zero(&no, e->loc, t));
    return exp_if(cx, e->loc, some, bld_body(&yes, x), bld_body(&no, zero));
}

/* a if test, else b: scalars. */
static Atom either(Bld *bl, Loc loc, Atom test, Atom a, Atom b)
{
    Bld yes = bld_new(bl->cx), no = bld_new(bl->cx);
    return ad_if(bl, loc, test, &yes, a, &no, b);
}

/* Where the position is outside, of an element that is not there, the first one has a seed of zero;
 * so what decides is whether there are elements, which does not vary with the maps around. */
static void rev_chosen(Rev *r, const Stm *s, int j)
{
    Var *v = s->pat.at[j];
    Adjoint *a = rev_adjoint(r, v);
    const Piece p = a->pieces.at[0];
    Type t = type_row(v->type);
    Atom ok = ad_inside(&r->bl, p.loc, &p.idx, v->type), zero = atom_i64(0);
    Atom some = bld_binop(&r->bl, p.loc, OP_LT, zero, s->exp->soac.width);
    Atom i = either(&r->bl, p.loc, ok, p.idx.at[0], zero);
    Stm one = {.exp = element(r, s, j, some, i)};
    Var *y = var_new(r->cx, "chosen", t, v->loc);
    Stms forward = {0}; /* which nobody asks for */
    a->pieces.n = 0;
    vec_push(r->cx->perm, &one.pat, y);
    ad_activity_stm(r->active, &one);
    if (r->inside)
        varset_add(r->inside, y);
    rev_add(r, p.loc, atom_var(y), either(&r->bl, p.loc, ok, p.val, atom_zero(t.elem)));
    if (rev_has(r, y))
        rev_if(r, &one, &forward);
}

/* --- The rule --------------------------------------------------------------------------------- */

void rev_map(Rev *r, const Stm *s, Stms *fwd)
{
    Ctx *cx = r->cx;
    int one = chosen(r, s);
    if (one >= 0) {
        vec_push(cx->perm, fwd, *s);
        rev_chosen(r, s, one);
        return;
    }
    MapBack M = {.r = r, .s = s, .fn = rename_lambda(cx, s->exp->soac.fn)};
    Ints which = {0}; /* of fn's parameters: those with an adjoint */
    begin(&M);
    seeds(&M);
    rev_body(&M.in, M.fn->body);
    rev_lift(&M.its.L, NULL);
    lift_rows(&M);
    for (int i = 0; i < M.fn->params.n; i++) {
        const Adjoint *a = varmap_get(M.in.adjoint, M.fn->params.at[i]);
        int same = a && a->known ? vars_find(&M.its.params, a->dense.var) : -1;
        if (same >= 0) { /* an element of the adjoints as it is */
            rev_add(r, s->exp->loc, s->exp->soac.arrs.at[i], M.its.arrs.at[same]);
        } else if (a && a->known) {
            ad_atom(cx, &M.its.elems, a->dense);
            vec_push(cx->perm, &which, i);
        }
    }
    keep(&M, fwd);
    Atoms res = rev_results(&M.its);
    Lambda *fn = lambda_new(cx, M.its.params, rev_close(&M.in, res));
    Atoms elems = rev_run(&M.its, fn, s->exp->attrs);
    for (int i = 0; i < which.n; i++)
        rev_add(r, s->exp->loc, s->exp->soac.arrs.at[which.at[i]], elems.at[i]);
}
