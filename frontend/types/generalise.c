/* What the type of a function keeps of what inference left open: variables become parameters, sizes
 * that are not known are made up by the function. */
#include "frontend/types/types.h"

#include "base/intern.h"

/* --- Parameters ----------------------------------------------------------------------------- */

typedef struct {
    Ck *ck;
    Bindings *out;
} Gen;

static const char *fresh_type_name(Ck *ck, int n)
{
    return n < 26 ? arena_printf(ck->a, "%c", 'a' + n) : arena_printf(ck->a, "t%d", n);
}

static bool gen_size(void *env, const Size *leaf)
{
    Gen *g = env;
    if (leaf->kind != SZ_META || leaf->level <= g->ck->level)
        return false;
    Binding *b = new_binding(g->ck, BIND_SIZE, intern("[]"), leaf->loc);
    b->type = ty_scalar(g->ck, T_I64);
    vec_push(g->ck->a, g->out, b);
    ((Size *)leaf)->ref = sz_var(g->ck, b);
    return false;
}

/* Variables that only this definition mentions become its parameters; numbers stay open. */
static void gen_type(Gen *g, AType *t)
{
    t = type_deref(t);
    switch (t->kind) {
    case TY_META: {
        if (t->meta.level <= g->ck->level || t->meta.cls > TC_VALUE)
            return;
        Binding *b = new_binding(g->ck, BIND_TYPE_PARAM, NULL, t->meta.loc);
        int n = 0;
        for (int i = 0; i < g->out->n; i++)
            n += g->out->at[i]->kind == BIND_TYPE_PARAM;
        b->name = fresh_type_name(g->ck, n);
        b->cls = t->meta.cls;
        vec_push(g->ck->a, g->out, b);
        AType *v = NEW(g->ck->a, AType);
        v->kind = TY_VAR;
        v->var = b;
        t->meta.ref = v;
        return;
    }
    case TY_ARRAY:
        sz_any(t->array.dim, gen_size, g);
        gen_type(g, t->array.elem);
        return;
    case TY_TUPLE:
    case TY_RECORD:
    case TY_SUM:
        for (int i = 0; i < t->elems.n; i++)
            gen_type(g, t->elems.at[i]);
        return;
    case TY_FUN:
        gen_type(g, t->fun.param);
        gen_type(g, t->fun.result);
        return;
    case TY_VAR:
        for (int i = 0; i < t->targs.n; i++)
            gen_type(g, t->targs.at[i]);
        for (int i = 0; i < t->sargs.n; i++)
            sz_any(t->sargs.at[i], gen_size, g);
        return;
    case TY_SCALAR:
    case TY_ERROR: return;
    }
}

void generalise_type(Ck *ck, AType *t, Bindings *out)
{
    Gen g = {ck, out};
    gen_type(&g, t);
}

typedef struct {
    Ck *ck;
    Bindings *out;
    ASizes open; /* what they stand in the place of, one each from number `first` on */
    int first;
} Opened;

static Size *opened_size(void *env, Size *s)
{
    Opened *o = env;
    s = size_deref(s);
    if (s->kind != SZ_META || s->level < o->ck->level)
        return s;
    for (int i = 0; i < o->open.n; i++)
        if (o->open.at[i] == s)
            return sz_var(o->ck, o->out->at[o->first + i]);
    Binding *b = new_binding(o->ck, BIND_SIZE, intern("[]"), s->loc);
    b->type = ty_scalar(o->ck, T_I64);
    vec_push(o->ck->a, o->out, b);
    vec_push(o->ck->a, &o->open, s);
    return sz_var(o->ck, b);
}

AType *opened_type(Ck *ck, AType *t, Bindings *out)
{
    Opened o = {.ck = ck, .out = out, .first = out->n};
    TypeMap m = {.ck = ck, .size = opened_size, .env = &o};
    return ty_map(&m, t);
}

/* --- Sizes made up -------------------------------------------------------------------------- */

typedef struct {
    Ck *ck;
    VEC(int) ids;
    Bindings made;
    Bindings *exists;
    int first_id;
    bool varying; /* only those that vary */
} Seal;

static Size *seal_size(Seal *s, Size *z)
{
    z = size_deref(z);
    if (z->kind == SZ_OP) {
        Size *a = seal_size(s, z->a), *b = seal_size(s, z->b);
        return a == z->a && b == z->b ? z : sz_op(s->ck, z->op, a, b);
    }
    if (z->kind == SZ_EXP) {
        ASizes args = {0};
        for (int i = 0; i < z->args.n; i++)
            vec_push(s->ck->a, &args, seal_size(s, z->args.at[i]));
        return sz_exp_with(s->ck, z, args);
    }
    if (z->kind != SZ_UNKNOWN || z->wrong || z->id < s->first_id || (s->varying && !z->varies))
        return z;
    for (int i = 0; i < s->ids.n; i++)
        if (s->ids.at[i] == z->id)
            return sz_var(s->ck, s->made.at[i]);
    Binding *b = new_binding(s->ck, BIND_SIZE, intern("[]"), z->loc);
    b->type = ty_scalar(s->ck, T_I64);
    vec_push(s->ck->a, &s->ids, z->id);
    vec_push(s->ck->a, &s->made, b);
    vec_push(s->ck->a, s->exists, b);
    return sz_var(s->ck, b);
}

static AType *seal(Seal *s, AType *t);

/* A component: of a function, too, as the sizes may be those of arrays beside it. */
static AType *seal_part(Seal *s, AType *t)
{
    t = type_deref(t);
    if (t->kind != TY_FUN)
        return seal(s, t);
    AType *f = ty_fun_like(s->ck, t, seal(s, t->fun.param), seal_part(s, t->fun.result));
    f->fun.exists = t->fun.exists;
    return f;
}

/* Unknown sizes in an inferred result become sizes that the function makes up. */
static AType *seal(Seal *s, AType *t)
{
    t = type_deref(t);
    if (t->kind == TY_ARRAY) {
        AType *c = ty_array(s->ck, seal_size(s, t->array.dim), seal(s, t->array.elem));
        c->unique = t->unique;
        return c;
    }
    if (type_is_composite(t)) {
        AType *c = NEW(s->ck->a, AType);
        *c = *t;
        c->elems = (ATypes){0};
        for (int i = 0; i < t->elems.n; i++)
            vec_push(s->ck->a, &c->elems, seal_part(s, t->elems.at[i]));
        return c;
    }
    if (t->kind == TY_VAR && t->targs.n + t->sargs.n) {
        AType *c = arena_memdup(s->ck->a, t, sizeof *t);
        c->targs = (ATypes){0};
        c->sargs = (ASizes){0};
        for (int i = 0; i < t->targs.n; i++)
            vec_push(s->ck->a, &c->targs, seal(s, t->targs.at[i]));
        for (int i = 0; i < t->sargs.n; i++)
            vec_push(s->ck->a, &c->sargs, seal_size(s, t->sargs.at[i]));
        return c;
    }
    return t;
}

AType *seal_result(Ck *ck, AType *t, Bindings *exists, int first_id)
{
    Seal s = {.ck = ck, .exists = exists, .first_id = first_id};
    return seal(&s, t);
}

static bool size_varies(void *env, const Size *leaf)
{
    (void)env;
    return leaf->kind == SZ_UNKNOWN && leaf->varies;
}

AType *seal_varying(Ck *ck, AType *t, Bindings *exists)
{
    Seal s = {.ck = ck, .exists = exists, .varying = true};
    return ty_any_size(t, size_varies, NULL) ? seal(&s, t) : t;
}
