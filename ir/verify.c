/* Checks the invariants of ir.h: single binding, scopes, types operand by operand, results,
 * dialect, nesting of hardware levels, thresholds; consumption by way of alias.c. The first
 * violation ends the check; the message shows the statement. */
#include "ir/scalar.h"

#include "base/stage.h"

#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>

/* Constructs of this level may stand outside of all others. */
enum { TOP_LEVEL = 1, NO_LEVEL = -1 };

typedef struct {
    Ctx *cx;
    unsigned dialect;
    VarSet *bound; /* ever */
    VarSet *scope; /* now */
    Vars entered;  /* scope as a stack */
    VarMap *same;  /* let x = atom: x -> Atom * */
    VEC(const char *) suffs;
    PtrMap *functions; /* that were met, by their names, too */
    bool in_function;
    int level; /* a parallel construct here must have this level; NO_LEVEL: none may stand here */
    const Stm *stm;
    const char *where; /* what is checked when it is no statement */
    Loc loc;
    const char *msg;
    jmp_buf fail;
} Check;

static void check_body(Check *c, const Body *b);

_Noreturn __attribute__((format(printf, 2, 3))) static void wrong(Check *c, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    const char *text = arena_vprintf(c->cx->perm, fmt, ap);
    va_end(ap);
    if (c->stm) {
        Out o = {0};
        ir_print_stm(&o, c->stm);
        int n = (int)strcspn(o.text, "\n");
        text = arena_printf(c->cx->perm, "%s, in: %.*s%s", text, n < 160 ? n : 160, o.text,
                            n >= 160 || o.text[n + 1] ? " ..." : "");
        out_free(&o);
        c->loc = c->stm->exp->loc;
    } else if (c->where) {
        text = arena_printf(c->cx->perm, "%s, in %s", text, c->where);
    }
    c->msg = text;
    longjmp(c->fail, 1);
}

/* --- Scopes and atoms ----------------------------------------------------------------------- */

static void bind(Check *c, const Var *v)
{
    if (varset_has(c->bound, v))
        wrong(c, "%s is bound twice", var_text(v));
    varset_add(c->bound, v);
    varset_add(c->scope, v);
    vec_push(c->cx->perm, &c->entered, (Var *)(uintptr_t)v);
}

static void leave(Check *c, int mark)
{
    while (c->entered.n > mark)
        varmap_del(c->scope, c->entered.at[--c->entered.n]);
}

static void check_atom(Check *c, Atom a)
{
    if (a.var) {
        if (!varset_has(c->scope, a.var))
            wrong(c, "%s is not in scope", var_text(a.var));
        return;
    }
    if (!const_fits(a.c))
        wrong(c, "a constant that its type %s cannot hold",
              a.c.type < N_PRIM_TYPES ? prim_type_text[a.c.type] : "?");
}

static void want_prim(Check *c, Atom a, PrimType p, const char *what)
{
    Type t = atom_type(a);
    if (t.rank != 0 || t.elem != p)
        wrong(c, "%s %s has type %s instead of %s", what, atom_text(a), type_text(t),
              prim_type_text[p]);
}

static void want_i64(void *env, Atom a)
{
    want_prim(env, a, T_I64, "number");
}

/* A constant size may be negative, and constant sizes of a reshape may differ: behind an assertion
 * that fails, values mean nothing, whether they are known when the program is compiled or not. */
static void check_type(Check *c, Type t)
{
    for (int i = 0; i < t.rank; i++) {
        check_atom(c, t.dims[i]);
        want_prim(c, t.dims[i], T_I64, "size");
    }
}

/* The binders of one list; a size in a type may be bound by the list itself. */
static void bind_all(Check *c, const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        bind(c, vs->at[i]);
    for (int i = 0; i < vs->n; i++)
        check_type(c, vs->at[i]->type);
}

/* --- Equality of sizes and types ------------------------------------------------------------ */

/* A size of a type, with parameters replaced: `from` by `to`, position by position. */
typedef struct {
    const Vars *from;
    const Atoms *to;
} Inst;

static Atom same_as(const Check *c, Atom a)
{
    const Atom *b;
    while (a.var && (b = varmap_get(c->same, a.var)))
        a = *b;
    return a;
}

static bool size_eq(const Check *c, Atom a, Atom b)
{
    return atom_eq(same_as(c, a), same_as(c, b));
}

static Atom instance(const Inst *in, Atom a)
{
    for (int i = 0; in && a.var && i < in->from->n && i < in->to->n; i++)
        if (in->from->at[i] == a.var)
            return in->to->at[i];
    return a;
}

/* Is `t` the type `want`, after instantiating want's sizes? */
static bool type_is(const Check *c, Type t, Type want, const Inst *in)
{
    if (t.elem != want.elem || t.rank != want.rank)
        return false;
    for (int i = 0; i < t.rank; i++)
        if (!size_eq(c, t.dims[i], instance(in, want.dims[i])))
            return false;
    return true;
}

static void want_type_in(Check *c, Atom a, Type want, const Inst *in, const char *what)
{
    Type t = atom_type(a);
    if (!type_is(c, t, want, in))
        wrong(c, "%s %s has type %s instead of %s", what, atom_text(a), type_text(t),
              type_text(want));
}

static void want_type(Check *c, Atom a, Type want, const char *what)
{
    want_type_in(c, a, want, NULL, what);
}

static void want_array(Check *c, Atom a)
{
    if (atom_type(a).rank == 0)
        wrong(c, "%s is not an array", atom_text(a));
}

static void want_count(Check *c, int n, int want, const char *what)
{
    if (n != want)
        wrong(c, "%d %s instead of %d", n, what, want);
}

/* --- Scalar and array operations ------------------------------------------------------------ */

static void check_prim(Check *c, const Exp *e)
{
    const PrimInfo *info = &prim_info[e->prim.op];
    if (!prim_takes(info->operands, e->prim.type))
        wrong(c, "%s does not work on %s", info->text, prim_type_text[e->prim.type]);
    want_count(c, e->prim.args.n, info->arity, "operands");
    for (int i = 0; i < e->prim.args.n; i++)
        want_prim(c, e->prim.args.at[i], e->prim.type, "operand");
}

static void check_at(Check *c, Atom arr, const DimIndexes *at)
{
    want_array(c, arr);
    want_count(c, at->n, atom_type(arr).rank, "positions");
    for (int i = 0; i < at->n; i++) {
        want_prim(c, at->at[i].start, T_I64, "position");
        if (at->at[i].is_slice) {
            want_prim(c, at->at[i].n, T_I64, "size");
            want_prim(c, at->at[i].stride, T_I64, "stride");
        }
    }
}

static void check_update(Check *c, const Exp *e)
{
    check_at(c, e->update.arr, &e->update.at);
    Type t = {atom_type(e->update.arr).elem, 0, NEWN(c->cx->perm, Atom, e->update.at.n)};
    for (int i = 0; i < e->update.at.n; i++)
        if (e->update.at.at[i].is_slice)
            t.dims[t.rank++] = e->update.at.at[i].n;
    want_type(c, e->update.val, t, "value");
}

static void check_concat(Check *c, const Exp *e)
{
    const Atoms *as = &e->concat.arrs;
    want_prim(c, e->concat.n, T_I64, "size");
    if (as->n == 0)
        wrong(c, "concat of nothing");
    Type t = atom_type(as->at[0]);
    if (e->concat.dim < 0 || e->concat.dim >= t.rank)
        wrong(c, "concat along dimension %d of rank %d", e->concat.dim, t.rank);
    for (int i = 0; i < as->n; i++) {
        Type u = atom_type(as->at[i]);
        bool ok = u.rank == t.rank && u.elem == t.elem;
        for (int d = 0; ok && d < t.rank; d++)
            ok = d == e->concat.dim || size_eq(c, t.dims[d], u.dims[d]);
        if (!ok)
            wrong(c, "%s of type %s among arrays of type %s", atom_text(as->at[i]), type_text(u),
                  type_text(t));
    }
}

static void check_perm(Check *c, const Exp *e)
{
    want_array(c, e->rearrange.arr);
    int rank = atom_type(e->rearrange.arr).rank;
    for (int d = 0; d < rank; d++) {
        int p = e->rearrange.perm[d];
        bool ok = p >= 0 && p < rank;
        for (int k = 0; k < d; k++)
            ok = ok && e->rearrange.perm[k] != p;
        if (!ok)
            wrong(c, "no permutation of %d dimensions", rank);
    }
}

static void check_reshape(Check *c, const Exp *e)
{
    want_array(c, e->reshape.arr);
    check_type(c, (Type){T_BOOL, e->reshape.dims.n, e->reshape.dims.at});
}

static void check_assert(Check *c, const Exp *e)
{
    want_prim(c, e->assertion.cond, T_BOOL, "condition");
    int n = 0;
    for (const char *s = strstr(e->assertion.msg, "%d"); s; s = strstr(s + 2, "%d"))
        n++;
    want_count(c, e->assertion.args.n, n, "arguments of the message");
    for (int i = 0; i < e->assertion.args.n; i++) {
        Type t = atom_type(e->assertion.args.at[i]);
        if (t.rank || !prim_is_int(t.elem))
            wrong(c, "argument %s of type %s is no integer", atom_text(e->assertion.args.at[i]),
                  type_text(t));
    }
}

/* --- Control -------------------------------------------------------------------------------- */

static void check_if(Check *c, const Exp *e)
{
    want_prim(c, e->branch.test, T_BOOL, "condition");
    check_body(c, e->branch.then_);
    check_body(c, e->branch.else_);
    want_count(c, e->branch.else_->res.n, e->branch.then_->res.n, "results of the else branch");
}

static void want_params_types(Check *c, const Atoms *as, const Vars *params, const char *what)
{
    want_count(c, as->n, params->n, what);
    Inst in = {params, as};
    for (int i = 0; i < as->n; i++)
        want_type_in(c, as->at[i], params->at[i]->type, &in, what);
}

static void check_loop(Check *c, const Exp *e)
{
    int mark = c->entered.n;
    want_params_types(c, &e->loop.inits, &e->loop.params, "initial values");
    bool has_cond = e->loop.kind == LOOP_FOR;
    bind_all(c, &e->loop.params);
    if (e->loop.kind == LOOP_FOR) {
        Type t = e->loop.i->type;
        if (t.rank || !prim_is_int(t.elem))
            wrong(c, "loop index of type %s", type_text(t));
        want_prim(c, e->loop.bound, t.elem, "bound");
        bind(c, e->loop.i);
    }
    for (int i = 0; i < e->loop.params.n; i++)
        has_cond = has_cond || e->loop.params.at[i] == e->loop.cond;
    if (!has_cond)
        wrong(c, "the loop's condition is none of its parameters");
    if (e->loop.kind == LOOP_WHILE)
        want_prim(c, atom_var(e->loop.cond), T_BOOL, "condition");
    check_body(c, e->loop.body);
    want_params_types(c, &e->loop.body->res, &e->loop.params, "results of the loop's body");
    leave(c, mark);
}

/* --- Lambdas and parallel operators --------------------------------------------------------- */

static void check_lambda(Check *c, const Lambda *l)
{
    int mark = c->entered.n, level = c->level;
    c->level = NO_LEVEL;
    bind_all(c, &l->params);
    check_body(c, l->body);
    c->level = level;
    leave(c, mark);
}

static void want_like(Check *c, const Atoms *as, const Atoms *like, const char *what)
{
    want_count(c, as->n, like->n, what);
    for (int i = 0; i < as->n; i++)
        want_type(c, as->at[i], atom_type(like->at[i]), what);
}

/* Of its parameters two are for each of these. */
static void check_on_two(Check *c, const Lambda *l, const Atoms *of)
{
    check_lambda(c, l);
    want_count(c, l->params.n, 2 * of->n, "parameters of the operator");
    for (int i = 0; i < l->params.n; i++)
        want_type(c, atom_var(l->params.at[i]), atom_type(of->at[i % of->n]),
                  "operator's parameter");
}

/* op (acc.., x..) -> acc.., for neutral elements nes. */
static void check_op(Check *c, const Lambda *op, const Atoms *nes)
{
    check_on_two(c, op, nes);
    want_like(c, &op->body->res, nes, "results of the operator");
}

static void check_rows(Check *c, Atom arr, Atom width)
{
    want_array(c, arr);
    if (!size_eq(c, atom_type(arr).dims[0], width))
        wrong(c, "%s has %s rows instead of %s", atom_text(arr), atom_text(atom_type(arr).dims[0]),
              atom_text(width));
}

/* Results of a scattering function: positions for each destination in turn, then the values. */
static void check_scatter(Check *c, const Dests *ds, const Atoms *res)
{
    int n_pos = 0, k = 0;
    for (int i = 0; i < ds->n; i++) {
        want_array(c, ds->at[i].arr);
        if (ds->at[i].rank < 1 || ds->at[i].rank > atom_type(ds->at[i].arr).rank)
            wrong(c, "%d index components for %s", ds->at[i].rank, atom_text(ds->at[i].arr));
        n_pos += ds->at[i].rank;
    }
    want_count(c, res->n, n_pos + ds->n, "results of the scattering function");
    for (; k < n_pos; k++)
        want_prim(c, res->at[k], T_I64, "position");
    for (int i = 0; i < ds->n; i++, k++)
        want_type(c, res->at[k], type_drop(atom_type(ds->at[i].arr), ds->at[i].rank), "value");
}

/* Results of the function of a histogram: one position, then the values. */
static void check_hist(Check *c, const Dests *ds, const Lambda *op, const Atoms *res)
{
    want_count(c, op->body->res.n, ds->n, "results of the operator");
    if (ds->n == 0)
        wrong(c, "a histogram without destination");
    for (int i = 0; i < ds->n; i++) {
        want_array(c, ds->at[i].arr);
        Type t = atom_type(ds->at[i].arr), t0 = atom_type(ds->at[0].arr);
        if (ds->at[i].rank != ds->at[0].rank || ds->at[i].rank < 1 || ds->at[i].rank > t.rank)
            wrong(c, "%d index components for %s", ds->at[i].rank, atom_text(ds->at[i].arr));
        for (int d = 0; d < ds->at[0].rank; d++)
            if (!size_eq(c, t.dims[d], t0.dims[d]))
                wrong(c, "%s and %s have different numbers of bins", atom_text(ds->at[0].arr),
                      atom_text(ds->at[i].arr));
    }
    int rank = ds->at[0].rank;
    want_count(c, res->n, rank + ds->n, "results of the function");
    for (int k = 0; k < rank; k++)
        want_prim(c, res->at[k], T_I64, "position");
    for (int i = 0; i < ds->n; i++) {
        Type t = type_drop(atom_type(ds->at[i].arr), rank);
        want_type(c, res->at[rank + i], t, "value");
        want_type(c, op->body->res.at[i], t, "operator's result");
    }
}

static void want_nes(Check *c, const Atoms *res, const Atoms *nes)
{
    if (res->n < nes->n)
        wrong(c, "%d results for %d neutral elements", res->n, nes->n);
    for (int i = 0; i < nes->n; i++)
        want_type(c, res->at[i], atom_type(nes->at[i]), "result to be reduced");
}

/* The results `res` of one element's code: what they go to is of their type. */
static void check_results(Check *c, const Exp *e, const Atoms *res)
{
    if (exp_is(e, F_BINS))
        check_hist(c, exp_dests(e), exp_is_soac(e) ? e->soac.op : e->seg.op, res);
    else if (exp_is(e, F_DESTS))
        check_scatter(c, exp_dests(e), res);
    else if (exp_is(e, F_OP))
        want_nes(c, res, exp_is_soac(e) ? &e->soac.nes : &e->seg.nes);
}

static void check_soac(Check *c, const Exp *e)
{
    const Atoms *arrs = &e->soac.arrs;
    bool has_fn = exp_is(e, F_FN), has_op = exp_is(e, F_OP);
    want_prim(c, e->soac.width, T_I64, "width");
    if (has_fn != (e->soac.fn != NULL) || has_op != (e->soac.op != NULL))
        wrong(c, "a function or operator too many or too few");
    want_count(c, has_op ? 0 : e->soac.nes.n, 0, "neutral elements");
    want_count(c, exp_is(e, F_DESTS) ? 0 : e->soac.dests.n, 0, "destinations");
    for (int i = 0; i < arrs->n; i++)
        check_rows(c, arrs->at[i], e->soac.width);
    if (has_op)
        check_op(c, e->soac.op, &e->soac.nes);
    if (has_fn)
        check_lambda(c, e->soac.fn);
    Atoms rows = has_fn ? atoms_of_vars(c->cx, &e->soac.fn->params) : e->soac.nes;
    want_count(c, arrs->n, rows.n, "arrays");
    for (int i = 0; i < arrs->n; i++)
        want_type(c, rows.at[i], type_row(atom_type(arrs->at[i])),
                  has_fn ? "parameter" : "neutral element");
    if (has_fn)
        check_results(c, e, &e->soac.fn->body->res);
}

static void check_deriv(Check *c, const Exp *e)
{
    const Atoms none = {0}, *res = &e->deriv.fn->body->res;
    const Atoms *like = e->kind == E_JVP ? &e->deriv.args : e->kind == E_VJP ? res : &none;
    check_lambda(c, e->deriv.fn);
    want_params_types(c, &e->deriv.args, &e->deriv.fn->params, "arguments");
    want_like(c, &e->deriv.seeds, like, "seeds");
    if (e->kind != E_WITH_VJP)
        return;
    check_on_two(c, e->deriv.back, res);
    want_like(c, &e->deriv.back->body->res, &e->deriv.args, "adjoints");
}

static void check_suff(Check *c, const Exp *e)
{
    exp_visit(e, &(ExpVisitor){.env = c, .atom = want_i64});
    for (int i = 0; i < c->suffs.n; i++)
        if (strcmp(c->suffs.at[i], e->suff.name) == 0)
            wrong(c, "threshold %s is compared twice", e->suff.name);
    for (int i = 0; i < e->suff.path.n; i++)
        if (strcmp(e->suff.path.at[i].name, e->suff.name) == 0)
            wrong(c, "threshold %s among its own ancestors", e->suff.name);
    vec_push(c->cx->perm, &c->suffs, e->suff.name);
}

static void check_ranks(Check *c, const Exp *e)
{
    static const int n_args[N_FORMS] = {
        [E_SHARED] = 4, [E_SHARE] = 2, [E_PEER] = 3, [E_GATHER] = 1, [E_ROWS] = 3, [E_PARTED] = 3};
    const Atoms as = e->ranks.args;
    bool values = e->kind == E_EXCHANGE, rows = exp_is_rows(e);
    bool few = values ? as.n <= MOST_EXCHANGED : e->kind == E_GATHER && as.n > 0 && as.n % 2 == 0;
    want_count(c, as.n, few ? as.n : n_args[e->kind], "operands");
    for (int i = rows; i < as.n; i++) {
        PrimType own = rows && as.n == 3 && i == 2     ? T_BOOL
                       : e->kind == E_SHARED && i == 1 ? T_F64
                                                       : T_I64;
        want_prim(c, as.at[i], values ? atom_type(as.at[i]).elem : own, "value");
    }
    if (rows)
        want_array(c, as.at[0]);
}

/* That offs has an element more than there are rows, and what they are, nobody knows here. */
static void check_ragged(Check *c, const NestDim *nd, int d)
{
    if (!nd->row)
        return;
    if (d > 0)
        wrong(c, "a ragged dimension inside of another one");
    check_atom(c, nd->rows);
    want_prim(c, nd->rows, T_I64, "number of rows");
    check_atom(c, nd->offs);
    if (atom_type(nd->offs).rank != 1 || atom_type(nd->offs).elem != T_I64)
        wrong(c, "offsets that are no array of i64");
    bind(c, nd->row);
    want_prim(c, atom_var(nd->row), T_I64, "row");
}

static void check_nest(Check *c, const Nest *nest)
{
    if (nest->n == 0)
        wrong(c, "an empty mapnest");
    for (int d = 0; d < nest->n; d++) {
        const NestDim *nd = &nest->at[d];
        check_atom(c, nd->width);
        want_prim(c, nd->width, T_I64, "width");
        want_count(c, nd->arrs.n, nd->xs.n, "arrays of a nest dimension");
        for (int j = 0; j < nd->xs.n; j++) {
            check_atom(c, nd->arrs.at[j]);
            check_rows(c, nd->arrs.at[j], nd->width);
        }
        bind(c, nd->idx);
        want_prim(c, atom_var(nd->idx), T_I64, "index");
        bind_all(c, &nd->xs);
        check_ragged(c, nd, d);
        for (int j = 0; j < nd->xs.n; j++)
            want_type(c, atom_var(nd->xs.at[j]), type_row(atom_type(nd->arrs.at[j])), "row");
    }
}

static void check_seg(Check *c, const Exp *e)
{
    int mark = c->entered.n, level = c->level;
    const char *name = form_info[e->kind].text;
    if (level == NO_LEVEL)
        wrong(c, "%s^%d inside sequential code", name, e->seg.level);
    if (e->seg.level != level)
        wrong(c, "%s^%d where only level %d may stand", name, e->seg.level, level);
    bool has_op = exp_is(e, F_OP);
    if (has_op != (e->seg.op != NULL))
        wrong(c, "an operator too many or too few");
    want_count(c, has_op ? 0 : e->seg.nes.n, 0, "neutral elements");
    want_count(c, exp_is(e, F_DESTS) ? 0 : e->seg.dests.n, 0, "destinations");
    for (int i = 0; i < e->seg.nes.n; i++)
        check_atom(c, e->seg.nes.at[i]);
    for (int i = 0; i < e->seg.dests.n; i++)
        check_atom(c, e->seg.dests.at[i].arr);
    if (has_op)
        check_op(c, e->seg.op, &e->seg.nes);
    check_nest(c, &e->seg.nest);
    c->level = e->seg.level > 0 ? e->seg.level - 1 : NO_LEVEL;
    check_body(c, e->seg.body);
    c->level = level;
    check_results(c, e, &e->seg.body->res);
    leave(c, mark);
}

/* --- Expressions and statements ------------------------------------------------------------- */

static void visit_atom(void *env, Atom a)
{
    check_atom(env, a);
}

/* Nothing is in scope but its parameters. */
static void check_function(Check *c, const Function *f)
{
    Check outer = *c;
    if (ptrset_has(c->functions, f->name))
        wrong(c, "there are two functions %s", f->name);
    ptrset_add(c->functions, f->name);
    ptrset_add(c->functions, f);
    c->scope = varmap_new(c->cx->perm);
    c->entered = (Vars){0};
    c->level = NO_LEVEL;
    c->in_function = true;
    c->stm = NULL;
    c->where = arena_printf(c->cx->perm, "function %s", f->name);
    c->loc = f->loc;
    if (f->lam->body->res.n < 1 || f->lam->body->res.n > MOST_RESULTS)
        wrong(c, "a function of %d results", f->lam->body->res.n);
    bind_all(c, &f->lam->params);
    if (!types_scalar(&f->lam->params, 0, f->lam->params.n))
        wrong(c, "a function of an array");
    check_body(c, f->lam->body);
    for (int i = 0; i < f->lam->body->res.n; i++)
        want_type(c, f->lam->body->res.at[i], type_prim(atom_type(f->lam->body->res.at[i]).elem),
                  "result");
    c->scope = outer.scope;
    c->entered = outer.entered;
    c->level = outer.level;
    c->in_function = outer.in_function;
    c->stm = outer.stm;
    c->where = outer.where;
}

static void check_call(Check *c, const Exp *e)
{
    const Function *f = e->call.fn;
    want_params_types(c, &e->call.args, &f->lam->params, "arguments");
    if (!ptrset_has(c->functions, f))
        check_function(c, f);
}

/* What stands in functions. */
static void check_inside(Check *c, const Exp *e)
{
    if (!exp_is(e, F_SCALAR) && e->kind != E_IF && e->kind != E_LOOP)
        wrong(c, "%s in a function", form_info[e->kind].tag);
    if (exp_traps(e))
        wrong(c, "what may fail, or not end, in a function");
}

static void check_exp(Check *c, const Exp *e)
{
    if (!(form_info[e->kind].dialects & c->dialect))
        wrong(c, "%s does not belong to this dialect", form_info[e->kind].text);
    if (!exp_is_seg(e)) /* a nest binds between its atoms */
        exp_visit(e, &(ExpVisitor){.env = c, .atom = visit_atom});
    if (c->in_function)
        check_inside(c, e);
    switch (exp_member(e)) {
    case M_atom: break;
    case M_prim: check_prim(c, e); break;
    case M_call: check_call(c, e); break;
    case M_conv: want_prim(c, e->conv.arg, e->conv.from, "operand"); break;
    case M_index: check_at(c, e->index.arr, &e->index.at); break;
    case M_update: check_update(c, e); break;
    case M_iota:
        want_prim(c, e->iota.n, T_I64, "size");
        want_prim(c, e->iota.stride, atom_type(e->iota.start).elem, "stride");
        want_prim(c, e->iota.start, atom_type(e->iota.stride).elem, "start");
        break;
    case M_replicate:
        check_type(c, (Type){T_BOOL, e->replicate.dims.n, e->replicate.dims.at});
        if (e->replicate.dims.n == 0)
            wrong(c, "replicate without a size");
        break;
    case M_scratch:
        check_type(c, e->scratch.type);
        if (e->scratch.type.rank == 0)
            wrong(c, "scratch of a scalar");
        break;
    case M_arraylit:
        check_type(c, e->arraylit.elem);
        for (int i = 0; i < e->arraylit.elems.n; i++)
            want_type(c, e->arraylit.elems.at[i], e->arraylit.elem, "element");
        break;
    case M_concat: check_concat(c, e); break;
    case M_rearrange: check_perm(c, e); break;
    case M_reshape: check_reshape(c, e); break;
    case M_copy: want_array(c, e->copy.arr); break;
    case M_branch: check_if(c, e); break;
    case M_loop: check_loop(c, e); break;
    case M_assertion: check_assert(c, e); break;
    case M_trace: want_count(c, e->trace.args.n, e->trace.type->n_vals, "values of a trace"); break;
    case M_soac: check_soac(c, e); break;
    case M_deriv: check_deriv(c, e); break;
    case M_suff: check_suff(c, e); break;
    case M_ranks: check_ranks(c, e); break;
    case M_seg: check_seg(c, e); break;
    case N_MEMBERS: wrong(c, "no form");
    }
}

/* May the pattern variable k have its type, given the results of both branches? */
static bool if_result_ok(const Check *c, const Stm *s, int k)
{
    const Atoms *x = &s->exp->branch.then_->res, *y = &s->exp->branch.else_->res;
    Type t = s->pat.at[k]->type;
    Inst then_ = {&s->pat, x}, else_ = {&s->pat, y};
    return type_is(c, atom_type(x->at[k]), t, &then_) && type_is(c, atom_type(y->at[k]), t, &else_);
}

static void check_pattern(Check *c, const Stm *s)
{
    const Exp *e = s->exp;
    Types ts = exp_types(c->cx, e);
    want_count(c, s->pat.n, ts.n, "variables for the results");
    bind_all(c, &s->pat);
    Atoms self = e->kind == E_LOOP ? atoms_of_vars(c->cx, &s->pat) : (Atoms){0};
    for (int k = 0; k < ts.n; k++) {
        Var *v = s->pat.at[k];
        Inst in = {&e->loop.params, &self};
        if (e->kind == E_IF) {
            const Atoms *x = &e->branch.then_->res, *y = &e->branch.else_->res;
            if (!if_result_ok(c, s, k))
                wrong(c, "%s has type %s, but the branches give %s and %s", var_text(v),
                      type_text(v->type), type_text(atom_type(x->at[k])),
                      type_text(atom_type(y->at[k])));
        } else {
            want_type_in(c, atom_var(v), ts.at[k], e->kind == E_LOOP ? &in : NULL, "variable");
        }
    }
    if (e->kind == E_ATOM && e->atom.var != s->pat.at[0])
        varmap_put(c->same, s->pat.at[0], &e->atom);
}

static void check_body(Check *c, const Body *b)
{
    int mark = c->entered.n;
    const Stm *outer = c->stm;
    for (int i = 0; i < b->stms.n; i++) {
        c->stm = &b->stms.at[i];
        check_exp(c, c->stm->exp);
        check_pattern(c, c->stm);
    }
    c->stm = outer;
    for (int i = 0; i < b->res.n; i++)
        check_atom(c, b->res.at[i]);
    leave(c, mark);
}

/* --- Entries -------------------------------------------------------------------------------- */

static int check_exts(Check *c, const ExtParams *ps)
{
    int n = 0;
    for (int i = 0; i < ps->n; i++) {
        const char *mistake = ext_mistake(c->cx, &ps->at[i].type);
        if (mistake)
            wrong(c, "%s", mistake);
        n += ps->at[i].type.n_vals;
    }
    return n;
}

static void check_entry(Check *c, const Entry *en)
{
    int mark = c->entered.n;
    c->stm = NULL;
    c->where = arena_printf(c->cx->perm, "entry %s", en->name);
    c->loc = en->loc;
    c->level = TOP_LEVEL;
    bind_all(c, &en->sizes);
    for (int i = 0; i < en->sizes.n; i++)
        want_prim(c, atom_var(en->sizes.at[i]), T_I64, "size");
    bind_all(c, &en->params);
    for (int i = 0; i < en->user_params.n; i++) {
        bind(c, en->user_params.at[i].var);
        want_prim(c, atom_var(en->user_params.at[i].var), T_I64, "tuning parameter");
    }
    want_count(c, check_exts(c, &en->ext_params), en->params.n, "values of external parameters");
    want_count(c, check_exts(c, &en->ext_results), en->body->res.n, "values of external results");
    check_body(c, en->body);
    leave(c, mark);
}

static void check_consumption(Check *c, const Entry *en)
{
    Alias *al = alias_entry(c->cx, en);
    c->stm = NULL;
    const char *msg = alias_error(al, &c->stm);
    if (msg)
        wrong(c, "%s", msg);
}

const char *ir_check_at(Ctx *cx, const Prog *p, Loc *at)
{
    Arena *mem = arena_new();
    Ctx own = {.perm = mem, .scratch = mem};
    Check *c = NEW(mem, Check);
    c->cx = &own;
    c->dialect = p->dialect;
    c->bound = varmap_new(mem);
    c->scope = varmap_new(mem);
    c->same = varmap_new(mem);
    c->functions = ptrmap_new(mem);
    if (!setjmp(c->fail)) {
        for (int i = 0; i < p->entries.n; i++) {
            check_entry(c, &p->entries.at[i]);
            check_consumption(c, &p->entries.at[i]);
        }
    }
    if (at)
        *at = c->loc;
    const char *msg = c->msg ? arena_strdup(cx->perm, c->msg) : NULL;
    arena_free(mem);
    return msg;
}

const char *ir_check(Ctx *cx, const Prog *p)
{
    return ir_check_at(cx, p, NULL);
}

void ir_verify(Ctx *cx, const Prog *p, const char *pass)
{
    Loc at = {0};
    const char *msg = ir_check_at(cx, p, &at);
    if (msg) {
        stage_enter(pass);
        ice(at, "the program is not well-formed after pass %s: %s", pass, msg);
    }
}
