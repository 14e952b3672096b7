/* Types and sizes under inference: making, comparing, instantiating. */
#include "frontend/check.h"

#include "base/intern.h"

#include <string.h>

/* ---- Making ---- */

static AType *ty_new(Ck *ck, TypeKind k)
{
    AType *t = NEW(ck->a, AType);
    t->kind = k;
    return t;
}

AType *ty_scalar(Ck *ck, Scalar s)
{
    AType *t = ty_new(ck, TY_SCALAR);
    t->scalar = s;
    return t;
}

AType *ty_array(Ck *ck, Size *dim, AType *elem)
{
    AType *t = ty_new(ck, TY_ARRAY);
    t->array.dim = dim;
    t->array.elem = elem;
    return t;
}

AType *ty_tuple(Ck *ck, ATypes elems)
{
    AType *t = ty_new(ck, TY_TUPLE);
    t->elems = elems;
    return t;
}

AType *ty_fun(Ck *ck, AType *param, AType *result)
{
    AType *t = ty_new(ck, TY_FUN);
    t->fun.param = param;
    t->fun.result = result;
    return t;
}

AType *ty_elems_like(Ck *ck, const AType *t, ATypes elems)
{
    AType *c = ty_tuple(ck, elems);
    c->kind = t->kind;
    c->names = t->names;
    return c;
}

AType *ty_fun_like(Ck *ck, const AType *t, AType *param, AType *result)
{
    AType *c = ty_fun(ck, param, result);
    c->fun.name = t->fun.name;
    c->fun.exists = t->fun.exists;
    return c;
}

bool ty_record_add(Ck *ck, AType *t, const char *name, AType *field)
{
    int at = 0;
    while (at < t->names.n && strcmp(t->names.at[at], name) < 0)
        at++;
    if (at < t->names.n && t->names.at[at] == name)
        return false;
    vec_push(ck->a, &t->elems, field);
    vec_push(ck->a, &t->names, name);
    for (int j = t->elems.n - 1; j > at; j--) {
        t->elems.at[j] = t->elems.at[j - 1];
        t->names.at[j] = t->names.at[j - 1];
    }
    t->elems.at[at] = field;
    t->names.at[at] = name;
    return true;
}

AType *ty_error(Ck *ck)
{
    return ty_new(ck, TY_ERROR);
}

AType *ty_meta(Ck *ck, TypeClass cls, Loc loc)
{
    AType *t = ty_new(ck, TY_META);
    t->meta.id = ck->ids++;
    t->meta.level = ck->level;
    t->meta.cls = cls;
    t->meta.loc = loc;
    return t;
}

AType *ty_plain(Ck *ck, const AType *t)
{
    AType *d = type_deref(t);
    if (d->kind == TY_TUPLE || d->kind == TY_RECORD) {
        ATypes elems = {0};
        bool changed = d->unique;
        for (int i = 0; i < d->elems.n; i++) {
            AType *e = ty_plain(ck, d->elems.at[i]);
            changed |= e != d->elems.at[i];
            vec_push(ck->a, &elems, e);
        }
        if (!changed)
            return d;
        AType *c = ty_new(ck, d->kind);
        c->elems = elems;
        c->names = d->names;
        return c;
    }
    if (!d->unique)
        return d;
    AType *c = NEW(ck->a, AType);
    *c = *d;
    c->unique = false;
    return c;
}

static Size *sz_new(Ck *ck, SizeKind k)
{
    Size *s = NEW(ck->a, Size);
    s->kind = k;
    s->parts = 1;
    return s;
}

Size *sz_const(Ck *ck, int64_t v)
{
    Size *s = sz_new(ck, SZ_CONST);
    s->value = v;
    return s;
}

Size *sz_var(Ck *ck, Binding *b)
{
    Size *s = sz_new(ck, SZ_VAR);
    s->var = b;
    return s;
}

Size *sz_unknown(Ck *ck, Loc loc)
{
    Size *s = sz_new(ck, SZ_UNKNOWN);
    s->id = ck->ids++;
    s->loc = loc;
    return s;
}

Size *sz_meta(Ck *ck, Loc loc)
{
    Size *s = sz_new(ck, SZ_META);
    s->id = ck->ids++;
    s->level = ck->level;
    s->loc = loc;
    return s;
}

static bool is_const(const Size *s, int64_t v)
{
    return s->kind == SZ_CONST && s->value == v;
}

static bool fold_op(char op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case '+': return !__builtin_add_overflow(a, b, out);
    case '-': return !__builtin_sub_overflow(a, b, out);
    case '*': return !__builtin_mul_overflow(a, b, out);
    case '/':
        if (a < 0 || b <= 0)
            return false;
        *out = a / b;
        return true;
    default:
        if (a < 0 || b <= 0)
            return false;
        *out = a % b;
        return true;
    }
}

Size *sz_op(Ck *ck, char op, Size *a, Size *b)
{
    a = size_deref(a);
    b = size_deref(b);
    int64_t v;
    if (a->kind == SZ_CONST && b->kind == SZ_CONST && fold_op(op, a->value, b->value, &v))
        return sz_const(ck, v);
    if (is_const(b, 0) && (op == '+' || op == '-'))
        return a;
    if (is_const(b, 1) && (op == '*' || op == '/'))
        return a;
    if (is_const(a, 0) && op == '+')
        return b;
    if (is_const(a, 1) && op == '*')
        return b;
    if (op == '-' && sz_same(a, b))
        return sz_const(ck, 0);
    if (op == '-' && a->kind == SZ_OP && a->op == '+') { /* (x + y) - x */
        if (sz_same(a->a, b))
            return size_deref(a->b);
        if (sz_same(a->b, b))
            return size_deref(a->a);
    }
    if (op == '+' && a->kind == SZ_OP && a->op == '-' && sz_same(a->b, b)) /* (x - y) + y */
        return size_deref(a->a);
    int parts = 1 + a->parts + b->parts;
    if (parts > MAX_SIZE_PARTS) {
        ck->large_sizes++;
        return sz_unknown(ck, a->loc);
    }
    Size *s = sz_new(ck, SZ_OP);
    s->parts = parts;
    s->op = op;
    s->a = a;
    s->b = b;
    return s;
}

/* ---- Sizes of expressions ---- */

static bool same_exps(const AExps *a, const AExps *b);

/* Whether two pure expressions are the same text about the same names. */
static bool same_exp(const AExp *a, const AExp *b)
{
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case AE_LIT:
        return a->lit.bits == b->lit.bits && a->lit.is_float == b->lit.is_float &&
               a->lit.fval == b->lit.fval;
    case AE_VAR: return a->var.bind && a->var.bind == b->var.bind;
    case AE_APP: return same_exp(a->app.fn, b->app.fn) && same_exps(&a->app.args, &b->app.args);
    case AE_PROJ:
        return a->proj.names.at[0] == b->proj.names.at[0] && same_exp(a->proj.e, b->proj.e);
    case AE_TUPLE: return same_exps(&a->seq.elems, &b->seq.elems);
    default: /* anything else counts as different: then it is compared at run time */ return false;
    }
}

static bool same_exps(const AExps *a, const AExps *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (!same_exp(a->at[i], b->at[i]))
            return false;
    return true;
}

/* Whether the expression is one that same_exp can compare. */
static bool nameable(const AExp *e)
{
    switch (e->kind) {
    case AE_LIT: return true;
    case AE_VAR: return e->var.bind != NULL;
    case AE_PROJ: return nameable(e->proj.e);
    case AE_APP:
        for (int i = 0; i < e->app.args.n; i++)
            if (!nameable(e->app.args.at[i]))
                return false;
        return nameable(e->app.fn);
    default: return false;
    }
}

Size *sz_of_exp(Ck *ck, const AExp *e)
{
    Size *s;
    switch (e->kind) {
    case AE_LIT:
        if (!e->lit.is_float && e->lit.bits <= INT64_MAX)
            return sz_const(ck, (int64_t)e->lit.bits);
        break;
    case AE_VAR:
        if (e->var.bind && (e->var.bind->kind == BIND_LOCAL || e->var.bind->kind == BIND_SIZE ||
                            (e->var.bind->kind == BIND_DEF && !e->var.bind->tparams.n))) {
            s = sz_var(ck, e->var.bind);
            s->loc = e->loc;
            return s;
        }
        break;
    case AE_ASCRIBE:
    case AE_COERCE: return sz_of_exp(ck, e->ascribe.e);
    case AE_APP: {
        const AExp *fn = e->app.fn;
        if (fn->kind != AE_VAR || !fn->var.bind || fn->var.bind->kind != BIND_BUILTIN)
            break;
        BuiltinId id = fn->var.bind->builtin;
        static const struct {
            BuiltinId id;
            char op;
        } ops[] = {{BI_ADD, '+'}, {BI_SUB, '-'}, {BI_MUL, '*'}, {BI_DIV, '/'}, {BI_MOD, '%'}};
        for (size_t i = 0; e->app.args.n == 2 && i < sizeof ops / sizeof *ops; i++)
            if (ops[i].id == id) {
                s = sz_op(ck, ops[i].op, sz_of_exp(ck, e->app.args.at[0]),
                          sz_of_exp(ck, e->app.args.at[1]));
                return s;
            }
        if (id == BI_LENGTH && e->app.args.n == 1 && e->app.args.at[0]->type) {
            AType *t = type_deref(e->app.args.at[0]->type);
            if (t->kind == TY_ARRAY && size_deref(t->array.dim)->kind != SZ_META)
                return size_deref(t->array.dim);
        }
        break;
    }
    default: break;
    }
    if (!nameable(e))
        return sz_unknown(ck, e->loc);
    s = sz_new(ck, SZ_EXP);
    s->exp = (AExp *)e;
    s->loc = e->loc;
    return s;
}

bool sz_same(const Size *a, const Size *b)
{
    a = size_deref(a);
    b = size_deref(b);
    if (a == b)
        return true;
    if (a->kind != b->kind)
        return false;
    switch (a->kind) {
    case SZ_CONST: return a->value == b->value;
    case SZ_VAR: return a->var == b->var;
    case SZ_OP:
        if (a->op != b->op)
            return false;
        return (sz_same(a->a, b->a) && sz_same(a->b, b->b)) ||
               ((a->op == '+' || a->op == '*') && sz_same(a->a, b->b) && sz_same(a->b, b->a));
    case SZ_EXP: return same_exp(a->exp, b->exp);
    case SZ_UNKNOWN: return a->id == b->id;
    case SZ_META: return false;
    }
    return false;
}

/* ---- Binding variables, and undoing it ---- */

int trail_mark(const Ck *ck)
{
    return ck->trail.n;
}

void trail_undo(Ck *ck, int mark)
{
    while (ck->trail.n > mark) {
        Undo *u = &ck->trail.at[--ck->trail.n];
        if (u->type)
            *u->type = u->old_type;
        else
            *u->size = u->old_size;
    }
}

static void save_type(Ck *ck, AType *t)
{
    Undo u = {.type = t, .old_type = *t};
    vec_push(ck->a, &ck->trail, u);
}

static void save_size(Ck *ck, Size *s)
{
    Undo u = {.size = s, .old_size = *s};
    vec_push(ck->a, &ck->trail, u);
}

static bool exp_has_meta(const AExp *e, const Size *m, const AType *tm);

static bool sz_has_meta(const Size *s, const Size *m)
{
    s = size_deref(s);
    if (s->kind == SZ_OP)
        return sz_has_meta(s->a, m) || sz_has_meta(s->b, m);
    if (s->kind == SZ_EXP)
        return m && exp_has_meta(s->exp, m, NULL);
    return m ? s == m : s->kind == SZ_META;
}

/* Does a type mention the size or the type variable? */
static bool ty_has_meta(const AType *t, const Size *m, const AType *tm)
{
    t = type_deref((AType *)t);
    switch (t->kind) {
    case TY_META: return t == tm;
    case TY_ARRAY: {
        const Size *s = size_deref(t->array.dim);
        return (m ? sz_has_meta(s, m) : s->kind == SZ_EXP && exp_has_meta(s->exp, NULL, tm)) ||
               ty_has_meta(t->array.elem, m, tm);
    }
    case TY_TUPLE:
    case TY_RECORD:
        for (int i = 0; i < t->elems.n; i++)
            if (ty_has_meta(t->elems.at[i], m, tm))
                return true;
        return false;
    case TY_FUN: return ty_has_meta(t->fun.param, m, tm) || ty_has_meta(t->fun.result, m, tm);
    case TY_SCALAR:
    case TY_VAR:
    case TY_ERROR: return false;
    }
    return false;
}

/* Does the type of a name in a size's expression mention the variable? Then the variable cannot be
 * that size: in `map2 f ys (replicate (length ys) 0)` the size of ys would be `length ys`. */
static bool exp_has_meta(const AExp *e, const Size *m, const AType *tm)
{
    switch (e->kind) {
    case AE_VAR: return e->type && ty_has_meta(e->type, m, tm);
    case AE_PROJ: return exp_has_meta(e->proj.e, m, tm);
    case AE_APP:
        for (int i = 0; i < e->app.args.n; i++)
            if (exp_has_meta(e->app.args.at[i], m, tm))
                return true;
        return false;
    default: return false;
    }
}

/* Variables inside a type that an outer variable takes belong to the outer level from then on. */
static void sz_lower(Ck *ck, Size *s, int level)
{
    s = size_deref(s);
    if (s->kind == SZ_META && s->level > level) {
        save_size(ck, s);
        s->level = level;
    } else if (s->kind == SZ_OP) {
        sz_lower(ck, s->a, level);
        sz_lower(ck, s->b, level);
    }
}

static bool ty_lower(Ck *ck, AType *t, const AType *meta, int level)
{
    t = type_deref(t);
    switch (t->kind) {
    case TY_META:
        if (t == meta)
            return false;
        if (t->meta.level > level) {
            save_type(ck, t);
            t->meta.level = level;
        }
        return true;
    case TY_ARRAY:
        if (size_deref(t->array.dim)->kind == SZ_EXP &&
            exp_has_meta(size_deref(t->array.dim)->exp, NULL, meta))
            return false;
        sz_lower(ck, t->array.dim, level);
        return ty_lower(ck, t->array.elem, meta, level);
    case TY_TUPLE:
    case TY_RECORD:
        for (int i = 0; i < t->elems.n; i++)
            if (!ty_lower(ck, t->elems.at[i], meta, level))
                return false;
        return true;
    case TY_FUN:
        return ty_lower(ck, t->fun.param, meta, level) && ty_lower(ck, t->fun.result, meta, level);
    case TY_SCALAR:
    case TY_VAR:
    case TY_ERROR: return true;
    }
    return true;
}

/* ---- Unification of sizes ---- */

static const Def *size_owner(const Ck *ck, const Binding *b)
{
    return b->uid < ck->owners.n ? ck->owners.at[b->uid] : NULL;
}

SizeEq sz_unify(Ck *ck, Size *a, Size *b)
{
    a = size_deref(a);
    b = size_deref(b);
    if (sz_same(a, b))
        return SAME;
    if (a->kind != SZ_META && b->kind == SZ_META) {
        Size *t = a;
        a = b;
        b = t;
    }
    if (a->kind == SZ_META && !sz_has_meta(b, a)) {
        sz_lower(ck, b, a->level);
        save_size(ck, a);
        a->ref = b;
        return SAME;
    }
    if (a->kind == SZ_OP && b->kind == SZ_OP && a->op == b->op &&
        (sz_has_meta(a, NULL) || sz_has_meta(b, NULL))) {
        SizeEq x = sz_unify(ck, a->a, b->a), y = sz_unify(ck, a->b, b->b);
        return x == SAME && y == SAME ? SAME : ASSUMED;
    }
    if (a->kind == SZ_CONST && b->kind == SZ_CONST)
        return DIFFERENT;
    if (a->kind == SZ_VAR && b->kind == SZ_VAR && a->var->kind == BIND_SIZE &&
        b->var->kind == BIND_SIZE && size_owner(ck, a->var) &&
        size_owner(ck, a->var) == size_owner(ck, b->var))
        return DIFFERENT;
    return ASSUMED;
}

/* ---- Unification of types ---- */

static bool class_meet(TypeClass a, TypeClass b, TypeClass *out)
{
    if (a > b) {
        TypeClass t = a;
        a = b;
        b = t;
    }
    bool same = a == b || a < TC_BITS || (a == TC_NUM) || (a == TC_BITS && b == TC_INT);
    if (a == TC_BITS && b == TC_NUM) {
        *out = TC_INT;
        return true;
    }
    *out = b;
    return same;
}

const char *class_words(TypeClass c)
{
    switch (c) {
    case TC_ANY: return "any type";
    case TC_VALUE: return "a value other than a function";
    case TC_EQ: return "a type that can be compared";
    case TC_PRIM: return "a scalar";
    case TC_BITS: return "an integer or bool";
    case TC_NUM: return "a number";
    case TC_INT: return "an integer";
    case TC_FLOAT: return "a floating-point number";
    }
    return "?";
}

static bool scalar_in(Scalar s, TypeClass c)
{
    switch (c) {
    case TC_ANY:
    case TC_VALUE:
    case TC_EQ:
    case TC_PRIM: return true;
    case TC_BITS: return !scalar_float(s);
    case TC_NUM: return s != S_BOOL;
    case TC_INT: return scalar_int(s);
    case TC_FLOAT: return scalar_float(s);
    }
    return false;
}

/* Requires that t belongs to a class; narrows the variables in it. */
static bool ty_restrict(Ck *ck, AType *t, TypeClass c)
{
    t = type_deref(t);
    if (c == TC_ANY || t->kind == TY_ERROR)
        return true;
    bool composite = c == TC_VALUE || c == TC_EQ;
    switch (t->kind) {
    case TY_META: {
        TypeClass m;
        if (!class_meet(t->meta.cls, c, &m))
            return false;
        if (m != t->meta.cls) {
            save_type(ck, t);
            t->meta.cls = m;
        }
        return true;
    }
    case TY_SCALAR: return scalar_in(t->scalar, c);
    case TY_ARRAY: return composite && ty_restrict(ck, t->array.elem, c);
    case TY_TUPLE:
    case TY_RECORD:
        for (int i = 0; composite && i < t->elems.n; i++)
            if (!ty_restrict(ck, t->elems.at[i], c))
                return false;
        return composite;
    case TY_VAR: return c == TC_VALUE && t->var->cls != TC_ANY;
    case TY_FUN: return false;
    case TY_ERROR: return true;
    }
    return false;
}

static bool bind_meta(Ck *ck, AType *m, AType *t)
{
    if (!ty_lower(ck, t, m, m->meta.level)) {
        ck->why = "a type would contain itself";
        ck->why_more = true;
        return false;
    }
    if (!ty_restrict(ck, t, m->meta.cls)) {
        ck->why =
            m->meta.cls == TC_VALUE
                ? arena_printf(ck->a, "functions like `%s` cannot be stored", show(ck, t))
                : arena_printf(ck->a, "`%s` is not %s", show(ck, t), class_words(m->meta.cls));
        return false;
    }
    save_type(ck, m);
    m->meta.ref = ty_plain(ck, t);
    return true;
}

static bool unify_dims(Ck *ck, AType *want, AType *have)
{
    switch (sz_unify(ck, want->array.dim, have->array.dim)) {
    case SAME: return true;
    case ASSUMED: ck->dyn = true; return true;
    case DIFFERENT: break;
    }
    const Size *x = size_deref(want->array.dim), *y = size_deref(have->array.dim);
    const char *a = size_str(ck->a, x), *b = size_str(ck->a, y);
    ck->why_more = true;
    ck->why_a = x->kind == SZ_VAR ? x->var->loc : x->loc;
    ck->why_b = y->kind == SZ_VAR ? y->var->loc : y->loc;
    ck->why = *a && *b && *a != '?' && *b != '?'
                  ? arena_printf(ck->a, "sizes `%s` and `%s` do not match", a, b)
                  : "sizes of different parameters may differ: give them one name";
    return false;
}

static bool same_names(const Names *a, const Names *b)
{
    if (a->n != b->n)
        return false;
    for (int i = 0; i < a->n; i++)
        if (a->at[i] != b->at[i])
            return false;
    return true;
}

static const char *missing_name(const Names *from, const Names *in)
{
    for (int i = 0; i < from->n; i++) {
        bool found = false;
        for (int k = 0; k < in->n; k++)
            found |= from->at[i] == in->at[k];
        if (!found)
            return from->at[i];
    }
    return NULL;
}

/* In what the components of two tuples or records differ. */
static const char *other_parts(Ck *ck, const AType *want, const AType *have)
{
    if (want->kind == TY_TUPLE)
        return arena_printf(ck->a, "%d components, not %d", have->elems.n, want->elems.n);
    const char *less = missing_name(&want->names, &have->names);
    const char *more = missing_name(&have->names, &want->names);
    return less && more
               ? arena_printf(ck->a, "field `%s` is missing, `%s` is one too many", less, more)
           : less ? arena_printf(ck->a, "field `%s` is missing", less)
                  : arena_printf(ck->a, "field `%s` is one too many", more);
}

static bool unify_funs(Ck *ck, AType *a, AType *b)
{
    if (!ty_unify(ck, b->fun.param, a->fun.param))
        return false;
    AType *ra = a->fun.result, *rb = b->fun.result;
    if (a->fun.name && b->fun.name && a->fun.name != b->fun.name) {
        Subst s = {0};
        subst_size(ck, &s, b->fun.name, sz_var(ck, a->fun.name));
        rb = ty_subst(ck, rb, &s);
    } else if (a->fun.name || b->fun.name) { /* the size depends on the argument: unknown here */
        Subst s = {0};
        Binding *n = a->fun.name ? a->fun.name : b->fun.name;
        subst_size(ck, &s, n, sz_unknown(ck, ((Loc){0, 0})));
        ra = ty_subst(ck, ra, &s);
        rb = ty_subst(ck, rb, &s);
    }
    return ty_unify(ck, ty_open(ck, &a->fun.exists, ra, ((Loc){0, 0})),
                    ty_open(ck, &b->fun.exists, rb, ((Loc){0, 0})));
}

bool ty_unify(Ck *ck, AType *want, AType *have)
{
    want = type_deref(want);
    have = type_deref(have);
    if (want == have || want->kind == TY_ERROR || have->kind == TY_ERROR)
        return true;
    if (want->kind == TY_META && have->kind == TY_META) {
        TypeClass m;
        if (!class_meet(want->meta.cls, have->meta.cls, &m)) {
            ck->why = arena_printf(ck->a, "%s is not %s", class_words(have->meta.cls),
                                   class_words(want->meta.cls));
            return false;
        }
        save_type(ck, want);
        want->meta.cls = m;
        return bind_meta(ck, have, want);
    }
    if (want->kind == TY_META)
        return bind_meta(ck, want, have);
    if (have->kind == TY_META)
        return bind_meta(ck, have, want);
    if (want->kind != have->kind)
        return false;
    switch (want->kind) {
    case TY_SCALAR: return want->scalar == have->scalar;
    case TY_ARRAY:
        return ty_unify(ck, want->array.elem, have->array.elem) && unify_dims(ck, want, have);
    case TY_RECORD:
    case TY_TUPLE:
        if (want->elems.n != have->elems.n || !same_names(&want->names, &have->names)) {
            ck->why = other_parts(ck, want, have);
            return false;
        }
        for (int i = 0; i < want->elems.n; i++)
            if (!ty_unify(ck, want->elems.at[i], have->elems.at[i]))
                return false;
        return true;
    case TY_FUN: return unify_funs(ck, want, have);
    case TY_VAR: return want->var == have->var;
    case TY_META:
    case TY_ERROR: return true;
    }
    return false;
}

AType *ty_join(Ck *ck, AType *a, AType *b, Loc loc)
{
    a = type_deref(a);
    b = type_deref(b);
    if (a->kind == TY_ARRAY && b->kind == TY_ARRAY) {
        AType *elem = ty_join(ck, a->array.elem, b->array.elem, loc);
        if (!elem)
            return NULL;
        Size *x = size_deref(a->array.dim), *y = size_deref(b->array.dim);
        if (sz_same(x, y) || x->kind == SZ_META || y->kind == SZ_META) {
            sz_unify(ck, x, y);
            return ty_array(ck, x, elem);
        }
        return ty_array(ck, sz_unknown(ck, loc), elem);
    }
    if (a->kind == b->kind && (a->kind == TY_TUPLE || a->kind == TY_RECORD) &&
        a->elems.n == b->elems.n && same_names(&a->names, &b->names)) {
        AType *t = ty_new(ck, a->kind);
        t->names = a->names;
        for (int i = 0; i < a->elems.n; i++) {
            AType *e = ty_join(ck, a->elems.at[i], b->elems.at[i], loc);
            if (!e)
                return NULL;
            vec_push(ck->a, &t->elems, e);
        }
        return t;
    }
    return ty_unify(ck, a, b) ? (a->kind == TY_ERROR ? b : a) : NULL;
}
