/* Filters, known again by what the frontend makes of them: of xs, those with a flag,
 *
 *     let (counts, flags) = scanomap n (xs) (+) 0 \x -> (i64 flag, flag)
 *     let count           = if n == 0 then 0 else counts[n - 1]
 *     let memory          = scratch [n]
 *     let all             = scatter n (flags, counts, xs) into memory \(flag, c, x) ->
 *                             (flag * c - 1, x)
 *     let kept            = all[0:count:1] */
#include "ir/filters/kept.h"

static const Exp *def_of(const VarMap *defs, Atom a)
{
    return a.var ? varmap_get(defs, a.var) : NULL;
}

/* --- What a filter looks like --------------------------------------------------------------- */

static const Exp *op_of(const VarMap *defs, Atom a, PrimOp op)
{
    const Exp *e = def_of(defs, a);
    return e && e->kind == E_PRIM && e->prim.op == op && e->prim.type == T_I64 ? e : NULL;
}

/* The bool that a is 1 or 0 for; its var is NULL where there is none. */
static Atom flag_of(const VarMap *defs, Atom a)
{
    const Exp *e = def_of(defs, a);
    return e && e->kind == E_CONV && e->conv.from == T_BOOL ? e->conv.arg : (Atom){0};
}

/* The number of the result that is the flags, where a scan counts and maps them out; 0: none. */
static int counted(const VarMap *defs, const Exp *e)
{
    const Exp *sum = e->kind == E_SCANOMAP && e->soac.nes.n == 1 ? lambda_op(e->soac.op) : NULL;
    if (!sum || sum->prim.op != OP_ADD || sum->prim.type != T_I64 ||
        !atom_is_int(e->soac.nes.at[0], 0))
        return 0;
    const Atoms *res = &e->soac.fn->body->res;
    Atom flag = flag_of(defs, res->at[0]);
    int j = res->n - 1;
    while (j > 0 && (!flag.var || res->at[j].var != flag.var))
        j--;
    return j;
}

/* The number of the scan's result that the scatter's parameter is an element of; -1: none. */
static int result_of(const Stm *scan, const Exp *scatter, Atom a)
{
    int k = vars_find(&scatter->soac.fn->params, a.var);
    return k < 0 ? -1 : vars_find(&scan->pat, scatter->soac.arrs.at[k].var);
}

/* Is a, in the scatter's function, flag * count - 1? */
static bool is_place(const VarMap *defs, const Stm *scan, const Exp *scatter, Atom a, int flags)
{
    const Exp *less = op_of(defs, a, OP_SUB);
    const Exp *product = less ? op_of(defs, less->prim.args.at[0], OP_MUL) : NULL;
    if (!product || !atom_is_int(less->prim.args.at[1], 1))
        return false;
    for (int k = 0; k < 2; k++) {
        Atom flag = flag_of(defs, product->prim.args.at[k]);
        if (flag.var && result_of(scan, scatter, flag) == flags &&
            result_of(scan, scatter, product->prim.args.at[1 - k]) == 0)
            return true;
    }
    return false;
}

/* Does the scatter write what is kept, in front, into new arrays of that width? */
static bool writes_kept(const VarMap *defs, const Stm *scan, const Stm *s, int flags)
{
    const Exp *e = s->exp;
    Atom width = scan->exp->soac.width;
    if (e->kind != E_SCATTER || !atom_eq(e->soac.width, width))
        return false;
    for (int k = 0; k < e->soac.dests.n; k++) {
        const Exp *made = def_of(defs, e->soac.dests.at[k].arr);
        if (e->soac.dests.at[k].rank != 1 || !made || made->kind != E_SCRATCH ||
            !atom_eq(made->scratch.type.dims[0], width) ||
            !is_place(defs, scan, e, e->soac.fn->body->res.at[k], flags))
            return false;
    }
    return e->soac.dests.n > 0;
}

/* Is `a` the last index of width w? */
static bool is_last(const VarMap *defs, Atom a, Atom w)
{
    if (!a.var)
        return !w.var && a.c.i == w.c.i - 1;
    const Exp *e = op_of(defs, a, OP_SUB), *more = op_of(defs, w, OP_ADD);
    return (e && atom_eq(e->prim.args.at[0], w) && atom_is_int(e->prim.args.at[1], 1)) ||
           (more && atom_eq(more->prim.args.at[0], a) && atom_is_int(more->prim.args.at[1], 1));
}

static bool is_last_of(const VarMap *defs, const Exp *e, const Var *counts, Atom w)
{
    return e && e->kind == E_INDEX && e->index.arr.var == counts && e->index.at.n == 1 &&
           !e->index.at.at[0].is_slice && is_last(defs, e->index.at.at[0].start, w);
}

/* Is e the last of the counts, 0 if there is none? */
static bool is_count(const VarMap *defs, const Exp *e, const Var *counts, Atom w)
{
    if (e->kind != E_IF)
        return is_last_of(defs, e, counts, w);
    const Exp *test = op_of(defs, e->branch.test, OP_EQ);
    const Body *none = e->branch.then_, *some = e->branch.else_;
    return test && atom_eq(test->prim.args.at[0], w) && atom_is_int(test->prim.args.at[1], 0) &&
           none->res.n == 1 && atom_is_int(none->res.at[0], 0) &&
           is_last_of(defs, def_of(defs, some->res.at[0]), counts, w);
}

/* --- Its statements ------------------------------------------------------------------------- */

static void add_used(const Vars *pat, const VarSet *used, VarSet *to)
{
    for (int k = 1; k < pat->n; k++)
        if (varset_has(used, pat->at[k]))
            varset_add(to, pat->at[k]);
}

/* Finds who uses the scan's results; false: others than filters have use the counts. */
static bool find_users(Ctx *cx, const VarMap *defs, const Body *b, Kept *k)
{
    const Vars *pat = &k->scan->pat;
    for (int i = k->from + 1; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        VarSet *used = varmap_new(cx->perm);
        free_in_stm(used, s);
        if (!varset_has(used, pat->at[0])) {
            add_used(pat, used, k->elsewhere);
        } else if (s->pat.n == 1 && is_count(defs, s->exp, pat->at[0], k->scan->exp->soac.width)) {
            varset_add(k->counts, s->pat.at[0]);
        } else if (!k->scatter && writes_kept(defs, k->scan, s, k->flags)) {
            k->scatter = s;
            k->to = i;
        } else {
            return false;
        }
    }
    VarSet *given = varmap_new(cx->perm);
    for (int j = 0; j < b->res.n; j++)
        if (b->res.at[j].var)
            varset_add(given, b->res.at[j].var);
    add_used(pat, given, k->elsewhere);
    return k->scatter && !varset_has(given, pat->at[0]);
}

bool kept_find(Ctx *cx, const VarMap *defs, const Body *b, int at, Kept *k)
{
    *k = (Kept){.scan = &b->stms.at[at], .from = at};
    k->flags = counted(defs, k->scan->exp);
    if (!k->flags)
        return false;
    k->counts = varmap_new(cx->perm);
    k->elsewhere = varmap_new(cx->perm);
    return find_users(cx, defs, b, k);
}
