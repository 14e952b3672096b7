/* Functions of the program: each is made once, for all kernels and targets, and called.
 *
 * A function gives one value. Several results are a vector, where they are of one type and vectors
 * of that type are at hand; else a vector of words, which have the bits of each. Operators of
 * reductions are applied where they are wanted. */
#include "kernels/kernel.h"

/* --- What is given ------------------------------------------------------------------------- */

/* What the results are in: a type, or words. */
typedef struct {
    PrimType elem;
    bool words;
    int lanes;
} Pack;

static Pack pack_of(const Atoms *res)
{
    Pack p = {.elem = atom_type(res->at[0]).elem, .lanes = 1};
    int bytes = 0;
    while (p.lanes < res->n)
        p.lanes *= 2;
    for (int i = 0; i < res->n; i++) {
        PrimType t = atom_type(res->at[i]).elem;
        p.words |= res->n > 1 && (t != p.elem || t == T_BOOL);
        bytes = prim_type_bytes[t] > bytes ? prim_type_bytes[t] : bytes;
    }
    if (p.words)
        p.elem = bytes > prim_type_bytes[T_U32] ? T_U64 : T_U32;
    return p;
}

static const KExp *packed(KGen *kg, const Atoms *res)
{
    Arena *a = kg->cx->perm;
    const KExp *x[MOST_RESULTS];
    Pack p = pack_of(res);
    for (int i = 0; i < p.lanes; i++) {
        x[i] = i < res->n ? kg_atom(kg, res->at[i]) : kg_zero(kg, p.elem);
        x[i] = i < res->n && p.words ? kx_to_word(a, p.elem, x[i]) : x[i];
    }
    return p.lanes == 1 ? x[0] : kx_vector(a, x, p.lanes);
}

static const KExp *unpacked(KGen *kg, Pack p, const KVar *v, int i, PrimType t)
{
    Arena *a = kg->cx->perm;
    const KExp *x = kx_var(a, v);
    x = p.lanes == 1 ? x : kx_part(a, x, i);
    return p.words ? kx_from_word(a, t, x) : x;
}

/* --- Functions ----------------------------------------------------------------------------- */

static KFun *function_made(const KGen *around, const Function *fn)
{
    Ctx *cx = around->cx;
    KGen *kg = kg_begin(around->pb, "function", around->seg, around->stms);
    KFun *f = kg->kb->fun;
    f->name = c_ident(fn->name);
    f->loc = fn->loc;
    f->is_function = true;
    kg->at = fn->loc;
    for (int i = 0; i < fn->lam->params.n; i++) {
        KFormal p = {.kind = KP_SCALAR, .var = kg_bind(kg, fn->lam->params.at[i])};
        vec_push(cx->perm, &f->params, p);
    }
    kg_stms(kg, fn->lam->body);
    kg_finish_function(kg, packed(kg, &fn->lam->body->res));
    return f;
}

static KFun *function_of(KGen *kg, const Function *fn)
{
    Plan *p = kg->pb->plan;
    if (!p->functions)
        p->functions = ptrmap_new(kg->cx->perm);
    KFun *f = ptrmap_get(p->functions, fn);
    if (!f) {
        f = function_made(kg, fn);
        ptrmap_put(p->functions, fn, f);
    }
    return f;
}

void kg_call(KGen *kg, const Stm *s)
{
    const Function *fn = s->exp->call.fn;
    const Atoms *args = &s->exp->call.args;
    Pack p = pack_of(&fn->lam->body->res);
    KStm call = {.kind = KST_CALL, .fun = function_of(kg, fn)};
    for (int i = 0; i < args->n; i++)
        vec_push(kg->cx->perm, &call.args, kg_atom(kg, args->at[i]));
    call.var = kb_var_new(kg->kb, s->pat.at[0]->base, kfun_gives(call.fun));
    kb_stm(kg->kb, call);
    for (int i = 0; i < s->pat.n; i++)
        kg_let(kg, s->pat.at[i], unpacked(kg, p, call.var, i, s->pat.at[i]->type.elem));
}

/* --- Operators ----------------------------------------------------------------------------- */

/* Is the operator the sum of two floats? */
static bool is_sum(const Lambda *op)
{
    const Exp *e = lambda_op(op);
    return op->params.n == 2 && e && e->prim.op == OP_ADD && prim_is_float(e->prim.type);
}

/* The product that x was just bound to, of numbers that are still what they were; NULL: it is none.
 */
static const KExp *product(const KBuild *b, const KExp *x)
{
    enum { RECENT = 4, LEVELS = 2 };
    for (int level = b->open.n - 1; level >= 0 && level >= b->open.n - LEVELS; level--) {
        const KBlock *block = b->open.at[level];
        for (int i = block->n - 1; i >= 0 && i >= block->n - RECENT; i--) {
            const KStm *s = block->at[i];
            if (s->kind == KST_LET && x->kind == KE_VAR && s->var == x->var)
                return s->x[0]->kind == KE_PRIM && s->x[0]->op == OP_MUL && !kexp_changes(s->x[0])
                           ? s->x[0]
                           : NULL;
        }
    }
    return NULL;
}

/* A sum of products, one of which is x: on CPUs with vectors one operation, where they have it. How
 * a reduction rounds is the compiler's choice. */
static void add_product(KGen *kg, const Lambda *op, const KExp *xy)
{
    Arena *a = kg->cx->perm;
    const Stm *s = &op->body->stms.at[0];
    const KExp *now = kg_atom(kg, atom_var(op->params.at[0])),
               *x = kg_atom(kg, atom_var(op->params.at[1]));
    const KExp *mad = kx_prim(a, OP_MAD, xy->type.elem, (const KExp *[]){xy->x[0], xy->x[1], now});
    kg_let(kg, s->pat.at[0],
           kx_select(a, kg_id(kg, KID_VECTORS), mad, kx_prim2(a, OP_ADD, now, x)));
}

const KExp **kg_apply(KGen *kg, const Lambda *op, int n, const KExp *const *a, const KExp *const *x)
{
    const KExp *xy = is_sum(op) ? product(kg->kb, x[0]) : NULL;
    for (int j = 0; j < n; j++) {
        kg_let(kg, op->params.at[j], a[j]);
        kg_let(kg, op->params.at[n + j], x[j]);
    }
    if (xy)
        add_product(kg, op, xy);
    else
        kg_stms(kg, op->body);
    const KExp **res = NEWN(kg->cx->perm, const KExp *, n);
    for (int j = 0; j < n; j++)
        res[j] = kg_atom(kg, op->body->res.at[j]);
    return res;
}

void kg_combine(KGen *kg, const Lambda *op, int n, KVar *const *acc, const KExp *const *a,
                const KExp *const *x)
{
    kb_open_block(kg->kb);
    WorkMark m = kg_work_begin(kg);
    const KExp **next = kg_apply(kg, op, n, a, x);
    for (int j = 0; j < n; j++)
        kb_set(kg->kb, acc[j], next[j]);
    kg_work_end(kg, m);
    kb_end(kg->kb);
}
