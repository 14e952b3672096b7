/* The only allocator of IR nodes: tables of the forms and operations, atoms, types, variables,
 * expressions, and bodies under construction. */
#include "ir/ir.h"

#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

/* --- Tables --------------------------------------------------------------------------------- */

/* The second letter of SAME, BOOL, I32 would do; spelled out, so that a new one is noticed. */
#define RESULT_SAME   'S'
#define RESULT_BOOL   'B'
#define RESULT_I32    'I'
#define RESULT_RECAST 'R'
const PrimInfo prim_info[N_PRIM_OPS] = {
#define PRIM(tag, text, arity, operands, result, cost, partials)                                   \
    {text, arity, (#operands)[0], RESULT_##result, PRIM_COST_##cost, partials},
#include "ir/prims.def"
#undef PRIM
};

const FormInfo form_info[N_FORMS] = {
#define FORM(tag, text, member, dialects, traits) {#tag, text, M_##member, dialects, traits},
#include "ir/forms.def"
#undef FORM
};

const char *const attr_text[N_ATTRS] = {"sequential", "sequential_outer", "sequential_inner",
                                        "no_outer",   "no_intra",         "only_intra",
                                        "only_inner", "unroll",           "kept"};

/* Floats and unsigned integers of as many bits for each other: what to_bits and from_bits turn a
 * type into. Others do not pass the verifier. */
static PrimType prim_recast(PrimType t)
{
    PrimType to = prim_like(prim_is_float(t) ? PK_UNSIGNED : PK_FLOAT, t);
    return to == N_PRIM_TYPES ? t : to;
}

PrimType prim_result(PrimOp op, PrimType operands)
{
    switch (prim_info[op].result) {
    case RESULT_BOOL: return T_BOOL;
    case RESULT_I32: return T_I32;
    case RESULT_RECAST: return prim_recast(operands);
    default: return operands;
    }
}

/* --- Atoms ---------------------------------------------------------------------------------- */

Atom atom_var(Var *v)
{
    return (Atom){v, {T_BOOL, {0}}};
}

Atom atom_int(PrimType t, int64_t i)
{
    Atom a = {NULL, {t, {0}}};
    ASSERT(!prim_is_float(t));
    a.c.i = prim_wrap(t, i);
    return a;
}

Atom atom_i64(int64_t i)
{
    return atom_int(T_I64, i);
}

Atom atom_float(PrimType t, double f)
{
    ASSERT(prim_is_float(t));
    Atom a = {NULL, {t, {0}}};
    a.c.f = prim_round(t, f);
    return a;
}

Atom atom_bool(bool b)
{
    return atom_int(T_BOOL, b);
}

Atom atom_zero(PrimType t)
{
    return prim_is_float(t) ? atom_float(t, 0) : t == T_BOOL ? atom_bool(false) : atom_int(t, 0);
}

bool atom_eq(Atom a, Atom b)
{
    if (a.var || b.var)
        return a.var == b.var;
    /* The union's members have the same size: comparing `i` compares floats bit by bit. */
    return a.c.type == b.c.type && a.c.i == b.c.i;
}

bool atom_is_int(Atom a, int64_t i)
{
    return !a.var && !prim_is_float(a.c.type) && a.c.i == i;
}

Type atom_type(Atom a)
{
    return a.var ? a.var->type : type_prim(a.c.type);
}

/* --- Types ---------------------------------------------------------------------------------- */

Type type_prim(PrimType t)
{
    return (Type){t, 0, NULL};
}

Type type_array_n(Ctx *cx, Type row, const Atom *outer, int n)
{
    if (n == 0)
        return row;
    Type t = {row.elem, row.rank + n, NEWN(cx->perm, Atom, row.rank + n)};
    memcpy(t.dims, outer, sizeof(Atom) * (size_t)n);
    if (row.rank)
        memcpy(t.dims + n, row.dims, sizeof(Atom) * (size_t)row.rank);
    return t;
}

Type type_array(Ctx *cx, Type row, Atom outer)
{
    return type_array_n(cx, row, &outer, 1);
}

Type type_drop(Type t, int n)
{
    ASSERT(n <= t.rank);
    return (Type){t.elem, t.rank - n, t.rank == n ? NULL : t.dims + n};
}

Type type_row(Type t)
{
    return type_drop(t, 1);
}

bool type_eq(Type a, Type b)
{
    if (a.elem != b.elem || a.rank != b.rank)
        return false;
    for (int i = 0; i < a.rank; i++)
        if (!atom_eq(a.dims[i], b.dims[i]))
            return false;
    return true;
}

/* --- Variables ------------------------------------------------------------------------------ */

static int next_id = 1;

int var_next_id(void)
{
    return next_id;
}

void var_reserve_ids(int below)
{
    if (below > next_id)
        next_id = below;
}

/* The length of a name without a suffix _ID. */
static size_t base_length(const char *s)
{
    size_t n = strlen(s), i = n;
    while (i > 0 && s[i - 1] >= '0' && s[i - 1] <= '9')
        i--;
    return i < n && i > 1 && s[i - 1] == '_' ? i - 1 : n;
}

/* The base as the text form can spell it. */
static const char *spellable(const char *s, size_t n)
{
    static const char ok[] = "_'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    char buf[128];
    size_t k = 0;
    if (n == 0 || s[0] == '\'' || (s[0] >= '0' && s[0] <= '9'))
        buf[k++] = 'x';
    for (size_t i = 0; i < n && k < sizeof buf; i++)
        buf[k++] = s[i] && strchr(ok, s[i]) ? s[i] : '_';
    return intern_n(buf, k);
}

Var *var_new_id(Ctx *cx, const char *base, int id, Type t, Loc loc)
{
    Var *v = NEW(cx->perm, Var);
    v->base = spellable(base, base_length(base));
    v->id = id;
    v->type = t;
    v->loc = loc;
    return v;
}

Var *var_new(Ctx *cx, const char *base, Type t, Loc loc)
{
    return var_new_id(cx, base, next_id++, t, loc);
}

Var *var_like(Ctx *cx, const Var *v)
{
    return var_new(cx, v->base, v->type, v->loc);
}

/* --- Expressions ---------------------------------------------------------------------------- */

Exp *exp_new(Ctx *cx, ExpKind k, Loc loc)
{
    Exp *e = NEW(cx->perm, Exp);
    e->kind = k;
    e->loc = loc;
    return e;
}

Exp *exp_atom(Ctx *cx, Loc loc, Atom a)
{
    Exp *e = exp_new(cx, E_ATOM, loc);
    e->atom = a;
    return e;
}

static Exp *exp_prim(Ctx *cx, Loc loc, PrimOp op, const Atom *args, int n)
{
    ASSERT(prim_info[op].arity == n);
    Exp *e = exp_new(cx, E_PRIM, loc);
    e->prim.op = op;
    e->prim.type = atom_type(args[0]).elem;
    for (int i = 0; i < n; i++)
        vec_push(cx->perm, &e->prim.args, args[i]);
    return e;
}

Exp *exp_unop(Ctx *cx, Loc loc, PrimOp op, Atom a)
{
    return exp_prim(cx, loc, op, &a, 1);
}

Exp *exp_binop(Ctx *cx, Loc loc, PrimOp op, Atom a, Atom b)
{
    Atom args[2] = {a, b};
    return exp_prim(cx, loc, op, args, 2);
}

Exp *exp_conv(Ctx *cx, Loc loc, PrimType to, Atom a)
{
    Exp *e = exp_new(cx, E_CONV, loc);
    e->conv.from = atom_type(a).elem;
    e->conv.to = to;
    e->conv.arg = a;
    return e;
}

Exp *exp_index(Ctx *cx, Loc loc, Atom arr, const Atom *ix, int k, bool safe)
{
    Exp *e = exp_new(cx, E_INDEX, loc);
    e->index.arr = arr;
    e->index.safe = safe;
    Type t = atom_type(arr);
    ASSERT(k <= t.rank);
    for (int i = 0; i < t.rank; i++) {
        DimIndex whole = {true, atom_i64(0), t.dims[i], atom_i64(1)};
        DimIndex at = {false, i < k ? ix[i] : atom_i64(0), atom_i64(1), atom_i64(1)};
        vec_push(cx->perm, &e->index.at, i < k ? at : whole);
    }
    return e;
}

Exp *exp_rearrange(Ctx *cx, Loc loc, const int *perm, Atom arr)
{
    Exp *e = exp_new(cx, E_REARRANGE, loc);
    int rank = atom_type(arr).rank;
    e->rearrange.perm = arena_memdup(cx->perm, perm, sizeof(int) * (size_t)rank);
    e->rearrange.arr = arr;
    return e;
}

Exp *exp_replicate(Ctx *cx, Loc loc, Atom n, Atom val)
{
    Exp *e = exp_new(cx, E_REPLICATE, loc);
    vec_push(cx->perm, &e->replicate.dims, n);
    e->replicate.val = val;
    return e;
}

Exp *exp_if(Ctx *cx, Loc loc, Atom test, Body *then_, Body *else_)
{
    Exp *e = exp_new(cx, E_IF, loc);
    e->branch.test = test;
    e->branch.then_ = then_;
    e->branch.else_ = else_;
    return e;
}

Exp *exp_map(Ctx *cx, Loc loc, Atom width, Atoms arrs, Lambda *fn)
{
    Exp *e = exp_new(cx, E_MAP, loc);
    e->soac.width = width;
    e->soac.arrs = arrs;
    e->soac.fn = fn;
    return e;
}

Exp *exp_call(Ctx *cx, Loc loc, const Function *fn, Atoms args)
{
    ASSERT(args.n == fn->lam->params.n);
    Exp *e = exp_new(cx, E_CALL, loc);
    e->call.fn = fn;
    e->call.args = args;
    return e;
}

const char *function_name(Ctx *cx, const char *base, int number)
{
    return intern(arena_printf(cx->perm, "%s_f%d", spellable(base, strlen(base)), number));
}

/* --- Bodies under construction -------------------------------------------------------------- */

Bld bld_new(Ctx *cx)
{
    return (Bld){.cx = cx};
}

void bld_stm(Bld *bl, Stm s)
{
    vec_push(bl->cx->perm, &bl->stms, s);
}

Atoms bld_exps(Bld *bl, const char *base, Exp *e)
{
    Stm s = {exp_pat(bl->cx, base, e), e};
    bld_stm(bl, s);
    return atoms_of_vars(bl->cx, &s.pat);
}

void bld_define(Bld *bl, Var *v, Exp *e)
{
    Stm s = {.exp = e};
    vec_push(bl->cx->perm, &s.pat, v);
    bld_stm(bl, s);
}

Atom bld_exp(Bld *bl, const char *base, Exp *e)
{
    Atoms as = bld_exps(bl, base, e);
    ASSERT(as.n == 1);
    return as.at[0];
}

/* The i64 result of a binary operation that needs no statement; false if there is none. */
static bool fold_i64(PrimOp op, Atom a, Atom b, Atom *out)
{
    bool known = !a.var && !b.var;
    uint64_t x = (uint64_t)a.c.i, y = (uint64_t)b.c.i;
    if (op == OP_ADD && (known || atom_is_int(a, 0) || atom_is_int(b, 0)))
        *out = known ? atom_i64((int64_t)(x + y)) : atom_is_int(a, 0) ? b : a;
    else if (op == OP_SUB && (known || atom_is_int(b, 0)))
        *out = known ? atom_i64((int64_t)(x - y)) : a;
    else if (op == OP_MUL && (known || atom_is_int(a, 1) || atom_is_int(b, 1)))
        *out = known ? atom_i64((int64_t)(x * y)) : atom_is_int(a, 1) ? b : a;
    else if (op == OP_MUL && (atom_is_int(a, 0) || atom_is_int(b, 0)))
        *out = atom_i64(0);
    else if ((op == OP_MIN || op == OP_MAX) && known)
        *out = (a.c.i < b.c.i) == (op == OP_MIN) ? a : b;
    else if ((op == OP_MIN || op == OP_MAX) && atom_eq(a, b))
        *out = a;
    else
        return false;
    return true;
}

Atom bld_binop(Bld *bl, Loc loc, PrimOp op, Atom a, Atom b)
{
    Atom r;
    Type t = atom_type(a);
    if (t.rank == 0 && t.elem == T_I64 && fold_i64(op, a, b, &r))
        return r;
    return bld_exp(bl, prim_info[op].text, exp_binop(bl->cx, loc, op, a, b));
}

Body *bld_body(Bld *bl, Atoms res)
{
    Body *b = NEW(bl->cx->perm, Body);
    b->stms = bl->stms;
    b->res = res;
    return b;
}

Lambda *lambda_new(Ctx *cx, Vars params, Body *body)
{
    Lambda *lam = NEW(cx->perm, Lambda);
    lam->params = params;
    lam->body = body;
    return lam;
}

Atoms atoms_of_vars(Ctx *cx, const Vars *vs)
{
    Atoms as = {0};
    for (int i = 0; i < vs->n; i++)
        vec_push(cx->perm, &as, atom_var(vs->at[i]));
    return as;
}

int vars_find(const Vars *vs, const Var *v)
{
    for (int k = 0; k < vs->n; k++)
        if (vs->at[k] == v)
            return k;
    return -1;
}

/* --- Types of expressions ------------------------------------------------------------------- */

static Types body_types(Ctx *cx, const Body *b)
{
    Types ts = {0};
    for (int i = 0; i < b->res.n; i++)
        vec_push(cx->perm, &ts, atom_type(b->res.at[i]));
    return ts;
}

static Type index_type(Ctx *cx, Atom arr, const DimIndexes *at)
{
    Type t = {atom_type(arr).elem, 0, NEWN(cx->perm, Atom, at->n)};
    for (int i = 0; i < at->n; i++)
        if (at->at[i].is_slice)
            t.dims[t.rank++] = at->at[i].n;
    return t;
}

static Type concat_type(Ctx *cx, const Exp *e)
{
    Type t = atom_type(e->concat.arrs.at[0]);
    Type r = {t.elem, t.rank, arena_memdup(cx->perm, t.dims, sizeof(Atom) * (size_t)t.rank)};
    r.dims[e->concat.dim] = e->concat.n;
    return r;
}

static Type rearrange_type(Ctx *cx, const Exp *e)
{
    Type t = atom_type(e->rearrange.arr);
    Type r = {t.elem, t.rank, NEWN(cx->perm, Atom, t.rank)};
    for (int i = 0; i < t.rank; i++)
        r.dims[i] = t.dims[e->rearrange.perm[i]];
    return r;
}

/* Results of a body that reduces its first n_acc results: the n_outer dimensions `outer` around
 * those, `all` around the others. */
static Types redomap_types(Ctx *cx, const Atoms *res, int n_acc, const Atom *outer, int n_outer,
                           const Atom *all, int n_all)
{
    Types ts = {0};
    for (int i = 0; i < res->n; i++) {
        Type t = atom_type(res->at[i]);
        t = i < n_acc ? type_array_n(cx, t, outer, n_outer) : type_array_n(cx, t, all, n_all);
        vec_push(cx->perm, &ts, t);
    }
    return ts;
}

static Types dest_types(Ctx *cx, const Dests *ds)
{
    Types ts = {0};
    for (int i = 0; i < ds->n; i++)
        vec_push(cx->perm, &ts, atom_type(ds->at[i].arr));
    return ts;
}

static Types seg_types(Ctx *cx, const Exp *e)
{
    const Nest *nest = &e->seg.nest;
    Atom *widths = NEWN(cx->perm, Atom, nest->n);
    for (int i = 0; i < nest->n; i++)
        widths[i] = nest->at[i].width;
    if (exp_is(e, F_FOLD) && nest_has_rows(nest))
        return redomap_types(cx, &e->seg.body->res, e->seg.nes.n, &nest->at[0].rows, 1, widths, 1);
    /* A scanned result has all the dimensions, a reduced one lacks the innermost. */
    int outer = exp_is(e, F_FOLD) ? nest->n - 1 : nest->n;
    return redomap_types(cx, &e->seg.body->res, e->seg.nes.n, widths, outer, widths, nest->n);
}

static Types soac_types(Ctx *cx, const Exp *e)
{
    const Atoms *nes = &e->soac.nes, *res = e->soac.fn ? &e->soac.fn->body->res : nes;
    const Atom *width = &e->soac.width;
    return redomap_types(cx, res, nes->n, width, exp_is(e, F_FOLD) ? 0 : 1, width, 1);
}

static Types deriv_types(Ctx *cx, const Exp *e)
{
    Types ts = body_types(cx, e->deriv.fn->body);
    const Atoms none = {0}, *res = &e->deriv.fn->body->res;
    const Atoms *of = e->kind == E_JVP ? res : e->kind == E_VJP ? &e->deriv.args : &none;
    for (int i = 0; i < of->n; i++)
        vec_push(cx->perm, &ts, atom_type(of->at[i]));
    return ts;
}

Types exp_types(Ctx *cx, const Exp *e)
{
    Types ts = {0};
#define ONE(...) vec_push(cx->perm, &ts, __VA_ARGS__)
    switch (exp_member(e)) {
    case M_atom: ONE(atom_type(e->atom)); break;
    case M_prim: ONE(type_prim(prim_result(e->prim.op, e->prim.type))); break;
    case M_conv: ONE(type_prim(e->conv.to)); break;
    case M_call: return body_types(cx, e->call.fn->lam->body);
    case M_index: ONE(index_type(cx, e->index.arr, &e->index.at)); break;
    case M_update: ONE(atom_type(e->update.arr)); break;
    case M_iota: ONE(type_array(cx, type_prim(atom_type(e->iota.start).elem), e->iota.n)); break;
    case M_replicate:
        ONE(type_array_n(cx, atom_type(e->replicate.val), e->replicate.dims.at,
                         e->replicate.dims.n));
        break;
    case M_scratch: ONE(e->scratch.type); break;
    case M_arraylit: ONE(type_array(cx, e->arraylit.elem, atom_i64(e->arraylit.elems.n))); break;
    case M_concat: ONE(concat_type(cx, e)); break;
    case M_rearrange:
        ONE(e->kind == E_MANIFEST ? atom_type(e->rearrange.arr) : rearrange_type(cx, e));
        break;
    case M_reshape:
        ONE(type_array_n(cx, type_prim(atom_type(e->reshape.arr).elem), e->reshape.dims.at,
                         e->reshape.dims.n));
        break;
    case M_copy: ONE(atom_type(e->copy.arr)); break;
    case M_branch: return body_types(cx, e->branch.then_);
    case M_loop:
        for (int i = 0; i < e->loop.params.n; i++)
            ONE(e->loop.params.at[i]->type);
        break;
    case M_assertion:
    case M_trace: break;
    case M_soac: return exp_is(e, F_DESTS) ? dest_types(cx, &e->soac.dests) : soac_types(cx, e);
    case M_seg: return exp_is(e, F_DESTS) ? dest_types(cx, &e->seg.dests) : seg_types(cx, e);
    case M_deriv: return deriv_types(cx, e);
    case M_suff: ONE(type_prim(T_BOOL)); break;
    case M_ranks:
        if (e->kind == E_GATHER)
            ONE(atom_type(e->ranks.args.at[0]));
        else if (e->kind == E_ROWS || e->kind == E_PARTED)
            ONE(type_array(cx, type_row(atom_type(e->ranks.args.at[0])), e->ranks.args.at[1]));
        else
            ONE(type_prim(e->kind == E_SHARED ? T_BOOL
                          : e->kind == E_PEER ? e->ranks.type
                                              : T_I64));
        break;
    case N_MEMBERS: ice(e->loc, "no form");
    }
#undef ONE
    return ts;
}

/* --- Patterns ------------------------------------------------------------------------------- */

/* Which result the size `a` of a result type stands for (-1: none, it is known outside). */
static int existential(const Exp *e, Atom a, const Type *other, int dim)
{
    if (e->kind == E_LOOP) {
        for (int k = 0; k < e->loop.params.n; k++)
            if (a.var == e->loop.params.at[k])
                return k;
        return -1;
    }
    Atom b = other->dims[dim];
    if (atom_eq(a, b))
        return -1;
    const Atoms *x = &e->branch.then_->res, *y = &e->branch.else_->res;
    for (int k = 0; k < x->n && k < y->n; k++)
        if (atom_eq(x->at[k], a) && atom_eq(y->at[k], b))
            return k;
    return -1;
}

Vars exp_pat(Ctx *cx, const char *base, const Exp *e)
{
    Types ts = exp_types(cx, e);
    Vars pat = {0};
    for (int i = 0; i < ts.n; i++)
        vec_push(cx->perm, &pat, var_new(cx, base, ts.at[i], e->loc));
    if (e->kind != E_IF && e->kind != E_LOOP)
        return pat;
    for (int i = 0; i < pat.n; i++) {
        Type *t = &pat.at[i]->type, other = *t;
        if (e->kind == E_IF)
            other = atom_type(e->branch.else_->res.at[i]);
        Type fresh = type_array_n(cx, type_prim(t->elem), t->dims, t->rank);
        for (int d = 0; d < t->rank && t->rank == other.rank; d++) {
            int k = existential(e, t->dims[d], &other, d);
            if (k >= 0)
                fresh.dims[d] = atom_var(pat.at[k]);
        }
        *t = fresh;
    }
    return pat;
}
