/* Calls of functions: which stay.
 *
 * pass_functions (SOAC dialect) simplifies each function, once, and inlines those that are small by
 * then, or would not make the program much larger, and calls with nothing but constants; the others
 * stay until kernels are made. To inline spares more than the call: what depends on a part of the
 * arguments alone moves out of loops and kernels. So what stays is what would take the compiler
 * long: a function that would come to MANY statements in all places where it is called, directly
 * and by others, or one that is `noinline`:
 *
 *     function f_f1 (a, b) = { let c = add.i64 a b in c }
 *     .. let x = call f_f1 (p, q)              -->   let x = add.i64 p q
 *
 * pass_calls (SEG dialect) inlines the calls that stand outside of all constructs: the host program
 * has none. What a construct has taken out of it (hoist) is there, too.
 *
 * Before, after: well-formed. */
#include "ir/ir.h"

enum {
    SMALL = 30, /* statements, with those inside */
    MANY = 5000
};

typedef struct {
    Ctx *cx;
    PtrMap *uses; /* Function -> at how many places it would stand, plus 1; at most MANY */
    int times;    /* of the code whose calls are counted */
    PtrMap *done; /* Function -> the one in its place */
    bool host;    /* only what stands outside of constructs, and that always */
} Calls;

/* --- Statements ----------------------------------------------------------------------------- */

static void count_in(void *env, Body *b)
{
    int *n = env;
    ExpVisitor v = {.env = env, .body = count_in};
    for (int i = 0; i < b->stms.n; i++) {
        ++*n;
        exp_visit(b->stms.at[i].exp, &v);
    }
}

/* ... if it stands at so many places, instead of one. */
static bool is_large(const Function *f, int places)
{
    int n = 0;
    count_in(&n, f->lam->body);
    return n >= SMALL && places > 1 && (int64_t)n * (places - 1) >= MANY;
}

static bool all_const(const Atoms *as)
{
    for (int i = 0; i < as->n; i++)
        if (as->at[i].var)
            return false;
    return true;
}

/* fn: what is called, as it is now; old: as it was counted. */
static bool is_inlined(const Calls *C, const Function *old, const Function *fn, const Atoms *args)
{
    if (C->host)
        return true;
    int places = (int)(intptr_t)ptrmap_get(C->uses, old) - 1;
    return all_const(args) || !(fn->noinline || is_large(fn, places));
}

static Body *calls_body(void *env, Body *b);

/* What is called now; of the host, without calls in it. */
static const Function *now(const Calls *C, const Function *old)
{
    const Function *fn = ptrmap_get(C->done, old);
    if (!fn && C->host) {
        Body *b = calls_body((Calls *)(uintptr_t)C, old->lam->body);
        fn =
            function_new(C->cx, old->name, old->loc, false, lambda_new(C->cx, old->lam->params, b));
        ptrmap_put(C->done, old, fn);
    }
    ASSERT(fn);
    return fn;
}

static void put_call(const Calls *C, Bld *bl, const Stm *s)
{
    const Exp *e = s->exp;
    const Function *old = e->call.fn, *fn = now(C, old);
    if (!is_inlined(C, old, fn, &e->call.args)) {
        bld_stm(bl, (Stm){s->pat, exp_call(C->cx, e->loc, fn, e->call.args)});
        return;
    }
    Atoms res = bld_inline_lambda(bl, fn->lam, &e->call.args);
    for (int i = 0; i < res.n; i++) {
        Vars pat = {0};
        vec_push(C->cx->perm, &pat, s->pat.at[i]);
        bld_stm(bl, (Stm){pat, exp_atom(C->cx, e->loc, res.at[i])});
    }
}

static Lambda *calls_lambda(void *env, Lambda *l)
{
    const Calls *C = env;
    return lambda_new(C->cx, l->params, calls_body(env, l->body));
}

static Body *calls_body(void *env, Body *b)
{
    const Calls *C = env;
    ExpMapper m = {.env = env, .body = calls_body, .lambda = calls_lambda};
    Bld bl = bld_new(C->cx);
    for (int i = 0; i < b->stms.n; i++) {
        Stm s = b->stms.at[i];
        if (s.exp->kind == E_CALL) {
            put_call(C, &bl, &s);
            continue;
        }
        if (!C->host || !exp_is_seg(s.exp))
            s.exp = exp_map_parts(C->cx, s.exp, &m);
        bld_stm(&bl, s);
    }
    return bld_body(&bl, b->res);
}

static Prog *calls_prog(Calls *C, const Prog *in)
{
    Prog *p = NEW(C->cx->perm, Prog);
    p->dialect = in->dialect;
    for (int i = 0; i < in->entries.n; i++) {
        Entry en = in->entries.at[i];
        if (body_any(en.body, exp_has_call))
            en.body = calls_body(C, en.body);
        vec_push(C->cx->perm, &p->entries, en);
    }
    return p;
}

/* --- Functions ------------------------------------------------------------------------------ */

static void uses_in(void *env, Body *b);

static void uses_in_lambda(void *env, Lambda *l)
{
    uses_in(env, l->body);
}

static void uses_in(void *env, Body *b)
{
    const Calls *C = env;
    ExpVisitor v = {.env = env, .body = uses_in, .lambda = uses_in_lambda};
    for (int i = 0; i < b->stms.n; i++) {
        const Exp *e = b->stms.at[i].exp;
        exp_visit(e, &v);
        if (e->kind == E_CALL) {
            intptr_t n = (intptr_t)ptrmap_get(C->uses, e->call.fn);
            n = (n ? n : 1) + C->times;
            ptrmap_put(C->uses, e->call.fn, (const void *)(n < MANY ? n : MANY));
        }
    }
}

/* Of the entries, then of each function, which stands behind those that it calls. */
static void find_uses(Calls *C, const Prog *p, const Functions *fs)
{
    C->times = 1;
    for (int i = 0; i < p->entries.n; i++)
        uses_in(C, p->entries.at[i].body);
    for (int i = fs->n - 1; i >= 0; i--) {
        C->times = (int)(intptr_t)ptrmap_get(C->uses, fs->at[i]) - 1;
        uses_in(C, fs->at[i]->lam->body);
    }
}

/* Its body as that of an entry, to which the passes of the dialect apply. */
static Body *simplified(Ctx *cx, const Function *f, Body *body)
{
    Prog p = {.dialect = D_SOAC};
    Entry en = {.name = f->name, .loc = f->loc, .params = f->lam->params, .body = body};
    vec_push(cx->perm, &p.entries, en);
    const Prog *q = pass_simplify(cx, &p);
    q = pass_simplify(cx, pass_hoist(cx, pass_cse(cx, q)));
    return q->entries.at[0].body;
}

Prog *pass_functions(Ctx *cx, const Prog *in)
{
    Functions fs = prog_functions(cx->perm, in);
    if (fs.n == 0)
        return (Prog *)(uintptr_t)in;
    Calls C = {.cx = cx, .uses = ptrmap_new(cx->perm), .done = ptrmap_new(cx->perm)};
    find_uses(&C, in, &fs);
    for (int i = 0; i < fs.n; i++) {
        const Function *f = fs.at[i];
        Body *b = simplified(cx, f, calls_body(&C, f->lam->body));
        Lambda *lam = lambda_new(cx, f->lam->params, b);
        ptrmap_put(C.done, f, function_new(cx, f->name, f->loc, f->noinline, lam));
    }
    return calls_prog(&C, in);
}

Prog *pass_calls(Ctx *cx, const Prog *in)
{
    Calls C = {.cx = cx, .host = true, .done = ptrmap_new(cx->perm)};
    bool any = false;
    for (int i = 0; i < in->entries.n; i++)
        any = any || body_any(in->entries.at[i].body, exp_has_call);
    return any ? calls_prog(&C, in) : (Prog *)(uintptr_t)in;
}
