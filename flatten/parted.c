/* Rule G11: branches whose condition varies with the nest around them, with parallelism inside.
 *
 *     S |- if c then b1 else b2      =>   the elements of S, parted by c; S1 |- b1; S2 |- b2, and
 *                                         the results go to their places
 *
 * Rows that branches give (arrays whose size varies) are put on a shelf (carried.c) and brought
 * into order. Where branches only choose between rows, and compute numbers, nothing is parted: the
 * points of all that are chosen are read in one construct, each in the branch that its row takes.
 */
#include "flatten/rules.h"

static const MapNest host_nest;

/* --- G11: branches -------------------------------------------------------------------------- */

/* Results of one branch for its part of S, if there is any. */
static Atoms branch_results(Flat *fl, const MapNest *S, Subset part, const Body *b, const Stm *s,
                            const Atoms *results, Bld *out)
{
    Ctx *cx = fl->cx;
    Loc loc = s->exp->loc;
    Flat inner = *fl;
    inner.depth++;
    Bld some = bld_new(cx), none = bld_new(cx);
    Atoms put = {0};
    vec_append(cx->perm, &put, results);
    MapNest N = nest_of_subset(fl, S, part, NULL, loc);
    Atoms made = flatten_body(&inner, &N, b, &some), vals = {0};
    Var *elem;
    MapNest R = nest_of_subset(fl, S, part, &elem, loc);
    for (int k = 0; k < made.n; k++) {
        Var *v = var_like(cx, s->pat.at[k]);
        nest_extend(fl, &R, v, made.at[k]);
        vec_push(cx->perm, &vals, atom_var(v));
    }
    put_rows(fl, &R, atom_var(elem), &vals, &put, loc, &some);
    Atom any = bld_exp(out, "any", exp_binop(cx, loc, OP_LT, atom_i64(0), part.n));
    Exp *e = exp_if(cx, loc, any, bld_body(&some, put), bld_body(&none, *results));
    return bld_exps(out, "put", e);
}

/* The elements of S, of which there are so many, by the branch that they take. */
static void part_by(Flat *fl, const MapNest *S, const Exp *e, Atom rows, Subset *yes, Subset *no,
                    Bld *out)
{
    Ctx *cx = fl->cx;
    MapNest H = nest_push(fl, &host_nest, rows, NULL, NULL);
    Bld pre = bld_new(cx), none = bld_new(cx);
    define_row(fl, S, atom_var(H.dims.at[0].idx), e->loc, &pre);
    H.dims.at[0].pre = pre.stms;
    yes->n = count_flags(fl, &H, &none, e->branch.test, e->loc, out);
    part_places(fl, &H, &none, e->branch.test, yes, no, e->loc, out);
}

/* Rule G11: if c then e1 else e2 under S, where c varies: the elements of S are parted by c, each
 * branch goes on under those that take it. */
Atoms rule_g11(Flat *fl, const MapNest *S0, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    MapNest S = nest_copy(fl, S0);
    log_rule(fl, "G11", S0, e, "each branch for its own elements");
    keep_rows(fl, &S, out);
    Atom rows = par_of_nest(fl, &S, out);
    Subset yes = {.n = rows}, no = {.n = rows};
    part_by(fl, &S, e, rows, &yes, &no, out);
    Atoms results = blank_rows(fl, rows, &s->pat, e->loc, out);
    results = branch_results(fl, &S, yes, e->branch.then_, s, &results, out);
    results = branch_results(fl, &S, no, e->branch.else_, s, &results, out);
    for (int k = 0; k < results.n; k++) {
        results.at[k].var->base = plural(fl, s->pat.at[k]->base, S.dims.n);
        varset_add(fl->fresh, results.at[k].var);
        results.at[k] = shape_rows(fl, &S, results.at[k], e->loc, out);
    }
    return results;
}

/* --- Branches that give rows ------------------------------------------------------------------ */

typedef struct {
    Flat *fl;
    const MapNest *S;
    const Stm *s;
    VarSet *variant;
    Given given; /* before all are there, of rows what is on the shelves */
    VEC(Shelf) shelves;
} Parting;

static bool is_size(const Parting *p, int k)
{
    for (int c = 0; c < p->given.sizes.n; c++)
        if (p->given.sizes.at[c].at == k)
            return true;
    return false;
}

/* The number of the size that result k has as rows; -1: it is none. */
static int size_of(const Parting *p, int k)
{
    const Var *v = p->s->pat.at[k];
    for (int c = 0; c < p->given.sizes.n && v->type.rank > 0; c++)
        if (atom_eq(v->type.dims[0], p->given.sizes.at[c].width))
            return c;
    return -1;
}

static void find_sizes(Parting *p)
{
    const Vars *pat = &p->s->pat;
    for (int k = 0; k < pat->n; k++) {
        if (!is_row_of(p->variant, pat, pat->at[k]) || size_of(p, k) >= 0)
            continue;
        Atom size = pat->at[k]->type.dims[0];
        vec_push(p->fl->cx->perm, &p->given.sizes,
                 (SizeGiven){vars_find(pat, size.var), size, {0}});
    }
}

/* Memory for all results. */
static void begin_results(Parting *p, Atom rows, Bld *out)
{
    Flat *fl = p->fl;
    Loc loc = p->s->exp->loc;
    for (int c = 0; c < p->given.sizes.n; c++)
        vec_push(fl->cx->perm, &p->shelves, shelf_of(fl, rows, loc, out));
    for (int k = 0; k < p->s->pat.n; k++) {
        Vars one = {0};
        Atom a = {0};
        vec_push(fl->cx->perm, &one, p->s->pat.at[k]);
        if (size_of(p, k) >= 0)
            a = shelf_blank(fl, atom_i64(0), p->s->pat.at[k], loc, out);
        else if (!is_size(p, k))
            a = blank_rows(fl, rows, &one, loc, out).at[0];
        vec_push(fl->cx->perm, &p->given.vals, a);
    }
}

/* Those of vals that are rows of size c; -1: that are none. */
static Atoms some_of(const Parting *p, const Atoms *vals, int c)
{
    Atoms r = {0};
    for (int k = 0; k < vals->n; k++)
        if (size_of(p, k) == c && !is_size(p, k))
            vec_push(p->fl->cx->perm, &r, vals->at[k]);
    return r;
}

static void put_some(const Parting *p, Atoms *vals, int c, const Atoms *some)
{
    for (int k = 0, m = 0; k < vals->n; k++)
        if (size_of(p, k) == c && !is_size(p, k))
            vals->at[k] = some->at[m++];
}

/* What the branch gave for its part of S goes to its places. */
static void put_branch(Parting *p, Subset part, const Atoms *made, const RowsList *rows, Bld *out)
{
    Flat *fl = p->fl;
    Loc loc = p->s->exp->loc;
    Var *elem;
    MapNest R = nest_of_subset(fl, p->S, part, &elem, loc);
    Atoms vals = {0}, dests = some_of(p, &p->given.vals, -1);
    for (int k = 0, m = 0; k < p->s->pat.n; k++) {
        if (is_size(p, k) || size_of(p, k) >= 0)
            continue;
        Var *v = var_like(fl->cx, p->s->pat.at[k]);
        nest_extend(fl, &R, v, made->at[m++]);
        vec_push(fl->cx->perm, &vals, atom_var(v));
    }
    put_rows(fl, &R, atom_var(elem), &vals, &dests, loc, out);
    put_some(p, &p->given.vals, -1, &dests);
    for (int c = 0; c < rows->n; c++) {
        const Rows *r = &rows->at[c];
        Var *width = var_new(fl->cx, "n", type_prim(T_I64), loc);
        know_sizes(fl, &R, width, r->sizes, loc);
        Atoms views = {0}, data = some_of(p, &p->given.vals, c);
        for (int k = 0; k < r->data.n; k++) {
            Type row = type_row(atom_type(r->data.at[k]));
            Var *v = var_new(fl->cx, r->data.at[k].var->base,
                             type_array(fl->cx, row, atom_var(width)), loc);
            know_row(fl, &R, v, r->data.at[k], atom_var(width), known_ragged(&R, width), loc);
            vec_push(fl->cx->perm, &views, atom_var(v));
        }
        shelve_rows(fl, &R, atom_var(elem), atom_var(width), &views, &p->shelves.at[c], &data, loc,
                    out);
        put_some(p, &p->given.vals, c, &data);
    }
}

static bool branch_rows(Parting *p, Subset part, const Body *b, Bld *out)
{
    Flat *fl = p->fl, inner = *fl;
    inner.depth++;
    RowsList rows = {0};
    Atoms made = {0};
    Body values = {.stms = b->stms, .res = some_of(p, &b->res, -1)};
    for (int c = 0; c < p->given.sizes.n; c++) {
        const SizeGiven *size = &p->given.sizes.at[c];
        Rows r = {.width = size->at >= 0 ? b->res.at[size->at] : size->width};
        r.arrs = some_of(p, &b->res, c);
        vec_push(fl->cx->perm, &rows, r);
    }
    MapNest N = nest_of_subset(fl, p->S, part, NULL, p->s->exp->loc);
    if (!rule_g6_rows(&inner, &N, &values, &rows, &made, out))
        return false;
    put_branch(p, part, &made, &rows, out);
    return true;
}

bool part_rows(Flat *fl, MapNest *S0, const Stm *s, Bld *out)
{
    const Exp *e = s->exp;
    int log_at = fl->log->n;
    Budget before = *fl->budget;
    Bld bl = bld_new(fl->cx);
    MapNest S = nest_copy(fl, S0);
    log_rule(fl, "G11", S0, e, "each branch for its own elements, which give rows");
    keep_rows(fl, &S, &bl);
    Parting p = {.fl = fl, .S = &S, .s = s, .variant = varmap_new(fl->cx->perm)};
    nest_vars(&S, p.variant);
    find_sizes(&p);
    Atom rows = par_of_nest(fl, &S, &bl);
    Subset yes = {.n = rows}, no = {.n = rows};
    part_by(fl, &S, e, rows, &yes, &no, &bl);
    begin_results(&p, rows, &bl);
    if (!branch_rows(&p, yes, e->branch.then_, &bl) || !branch_rows(&p, no, e->branch.else_, &bl)) {
        fl->log->n = log_at;
        *fl->budget = before;
        return false;
    }
    for (int c = 0; c < p.given.sizes.n; c++) {
        Atoms data = some_of(&p, &p.given.vals, c);
        p.given.sizes.at[c].rows = shelf_in_order(fl, rows, &p.shelves.at[c], &data, e->loc, &bl);
        put_some(&p, &p.given.vals, c, &data);
    }
    know_given(fl, &S, &s->pat, &p.given, e->loc, &bl);
    vec_append(fl->cx->perm, &out->stms, &bl.stms);
    *S0 = S;
    return true;
}

/* --- Branches that choose ------------------------------------------------------------------- */

/* The branch that binds result a of b, as its number *k; NULL: none does. */
static const Stm *choice_of(const Body *b, Atom a, int *k)
{
    for (int i = 0; i < b->stms.n; i++) {
        *k = a.var ? vars_find(&b->stms.at[i].pat, a.var) : -1;
        if (*k >= 0)
            return b->stms.at[i].exp->kind == E_IF ? &b->stms.at[i] : NULL;
    }
    return NULL;
}

/* Element j of result k of b. */
static Body *element_of_side(Flat *fl, const Body *b, int k, const Var *like, Atom j)
{
    Ctx *cx = fl->cx;
    Bld bl = bld_new(cx);
    int inner;
    Atom a = b->res.at[k], x;
    const Stm *choice = choice_of(b, a, &inner);
    const Exp *def = def_of(fl, a);
    vec_append(cx->perm, &bl.stms, &b->stms);
    if (choice) {
        const Exp *e = choice->exp;
        Body *then_ = element_of_side(fl, e->branch.then_, inner, like, j),
             *else_ = element_of_side(fl, e->branch.else_, inner, like, j);
        x = bld_exp(&bl, "x", exp_if(cx, e->loc, e->branch.test, then_, else_));
    } else if (def && def->kind == E_REPLICATE && def->replicate.dims.n == 1) {
        x = def->replicate.val;
    } else {
        x = element_at(fl, a, like, j, &bl);
    }
    VarSet *need = varmap_new(cx->perm);
    Atoms res = {0};
    if (x.var)
        varset_add(need, x.var);
    vec_push(cx->perm, &res, x);
    bl.stms = stms_live(fl->cx, &bl.stms, need, false);
    return rename_body(cx, bld_body(&bl, res));
}

void choose_rows(Flat *fl, MapNest *S, const Stm *s, Bld *out)
{
    Ctx *cx = fl->cx;
    const Exp *e = s->exp;
    VarSet *variant = varmap_new(cx->perm);
    Vars rows = {0};
    Bld bl = bld_new(cx);
    nest_vars(S, variant);
    for (int k = 0; k < s->pat.n; k++)
        if (is_row_of(variant, &s->pat, s->pat.at[k]))
            vec_push(cx->perm, &rows, s->pat.at[k]);
    Atom width = rows.at[0]->type.dims[0], j;
    log_rule(fl, "G11", S, e, "the points of what is chosen");
    Ragged r = ragged_of(fl, S, width, e->loc, out);
    MapNest P = numbers_of_points(fl, S, width, &r, e->loc, &j);
    Seg sg = {.kind = E_SEGMAP, .S = &P, .loc = e->loc};
    for (int k = 0; k < s->pat.n; k++) {
        if (vars_find(&rows, s->pat.at[k]) < 0)
            continue;
        Var like = {.base = "x", .type = type_row(s->pat.at[k]->type), .loc = e->loc};
        Body *then_ = element_of_side(fl, e->branch.then_, k, &like, j),
             *else_ = element_of_side(fl, e->branch.else_, k, &like, j);
        Exp *x = exp_if(cx, e->loc, e->branch.test, then_, else_);
        vec_push(cx->perm, &sg.res, bld_exp(&bl, "x", x));
    }
    sg.stms = bl.stms;
    Atoms made = bind_fresh(fl, &P, &rows, seg_make(fl, &sg), out);
    for (int k = 0; k < rows.n; k++)
        know_row(fl, S, rows.at[k], made.at[k], width, &r, e->loc);
}
