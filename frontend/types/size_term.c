/* Sizes under inference: making, comparing, unifying. A size is a term over constants, names and
 * unknown sizes; two sizes are equal if their terms are, up to the order of + and * and arithmetic
 * on constants. */
#include "frontend/types/types.h"

#include <limits.h>

/* --- Making --------------------------------------------------------------------------------- */

static Size *sz_new(Ck *ck, SizeKind k)
{
    Size *s = NEW(ck->a, Size);
    s->kind = k;
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
    s->born = ck->n_bindings;
    s->loc = loc;
    return s;
}

Size *sz_error(Ck *ck, Loc loc)
{
    Size *s = sz_unknown(ck, loc);
    s->wrong = true;
    ck->skipped = true;
    return s;
}

static bool fold_op(char op, int64_t a, int64_t b, int64_t *out)
{
    switch (op) {
    case '+': return !__builtin_add_overflow(a, b, out);
    case '-': return !__builtin_sub_overflow(a, b, out);
    case '*': return !__builtin_mul_overflow(a, b, out);
    default:
        if (a < 0 || b <= 0)
            return false;
        *out = op == '/' ? a / b : a % b;
        return true;
    }
}

bool sz_value(const Size *s, int64_t *out)
{
    s = size_deref(s);
    int64_t a, b;
    const SizeFacts *f = sz_facts(s);
    if (f) {
        *out = f->value;
        return f->is_value;
    }
    if (s->kind == SZ_OP)
        return sz_value(s->a, &a) && sz_value(s->b, &b) && fold_op(s->op, a, b, out);
    *out = s->value;
    return s->kind == SZ_CONST;
}

static bool is_const(const Size *s, int64_t v)
{
    int64_t x;
    return sz_value(s, &x) && x == v;
}

/* The size without what is plainly nothing: x + 0, x * 1, (x + y) - x, (x - y) + y. */
static const Size *essence(const Size *s)
{
    static const Size zero = {.kind = SZ_CONST};
    s = size_deref(s);
    if (s->kind != SZ_OP)
        return s;
    const Size *a = size_deref(s->a), *b = size_deref(s->b);
    switch (s->op) {
    case '+':
        if (a->kind == SZ_OP && a->op == '-' && sz_same(a->b, b))
            return essence(a->a);
        return is_const(a, 0) ? essence(b) : is_const(b, 0) ? essence(a) : s;
    case '*': return is_const(a, 1) ? essence(b) : is_const(b, 1) ? essence(a) : s;
    case '-':
        if (sz_same(a, b))
            return &zero;
        if (a->kind == SZ_OP && a->op == '+' && sz_same(a->a, b))
            return essence(a->b);
        if (a->kind == SZ_OP && a->op == '+' && sz_same(a->b, b))
            return essence(a->a);
        return is_const(b, 0) ? essence(a) : s;
    default: return s;
    }
}

/* --- What is known of operations ------------------------------------------------------------ */

const SizeFacts *sz_facts(const Size *s)
{
    const SizeFacts *f = s->facts;
    for (int i = 0; f && f->open && i < f->leaves.n; i++)
        if (size_deref(f->leaves.at[i]) != f->leaves.at[i])
            return NULL;
    return f;
}

const ASizes *sz_leaves(const Size *s)
{
    return s->facts && !s->facts->many ? &s->facts->leaves : NULL;
}

static bool has_leaf(const ASizes *leaves, const Size *leaf)
{
    for (int i = 0; i < leaves->n; i++)
        if (leaves->at[i] == leaf || (leaf->kind == SZ_VAR && leaves->at[i]->kind == SZ_VAR &&
                                      leaves->at[i]->var == leaf->var))
            return true;
    return false;
}

/* Adds an operand's. */
static void add_facts(Ck *ck, SizeFacts *f, Size *s)
{
    enum { FEW = 8 };
    const SizeFacts leaf = {
        .parts = 1, .open = s->kind == SZ_META, .leaves = {.at = &s, .n = s->kind != SZ_CONST}};
    const SizeFacts *more = s->facts ? s->facts : &leaf;
    f->parts =
        more->parts < INT_MAX / 4 && f->parts < INT_MAX / 4 ? f->parts + more->parts : INT_MAX / 2;
    f->open |= more->open;
    f->exps |= more->exps;
    f->many |= more->many;
    if (!f->leaves.n && s->facts) {
        f->leaves = more->leaves;
        f->leaves.cap = f->leaves.n; /* to be copied, should there be more */
    }
    for (int i = 0; i < more->leaves.n; i++)
        if (!has_leaf(&f->leaves, more->leaves.at[i]))
            vec_push(ck->a, &f->leaves, more->leaves.at[i]);
    f->many |= f->leaves.n > FEW;
}

static bool is_settled(const Size *s)
{
    return s->facts || (s->kind != SZ_OP && s->kind != SZ_EXP);
}

/* Notes it for s = a op b, if it is known of both and, where something is left to be inferred,
 * where. */
static void settle(Ck *ck, Size *s, Size *a, Size *b)
{
    if (!is_settled(a) || !is_settled(b))
        return;
    SizeFacts f = {.parts = 1};
    int64_t x, y;
    f.is_value = sz_value(a, &x) && sz_value(b, &y) && fold_op(s->op, x, y, &f.value);
    add_facts(ck, &f, a);
    add_facts(ck, &f, b);
    if (f.open && (f.many || s->op == '-')) /* a difference may be less once all is known */
        return;
    if (f.many)
        f.leaves = (ASizes){0};
    save_size(ck, s);
    s->a = a;
    s->b = b;
    s->facts = arena_memdup(ck->a, &f, sizeof f);
}

void sz_settle_exp(Ck *ck, Size *s, bool open)
{
    SizeFacts f = {.parts = 1, .open = open, .exps = true};
    for (int i = 0; i < s->args.n; i++) {
        if (size_deref(s->args.at[i]) != s->args.at[i] || !is_settled(s->args.at[i]))
            return;
        add_facts(ck, &f, s->args.at[i]);
    }
    if (f.open && f.many)
        return;
    if (f.many)
        f.leaves = (ASizes){0};
    save_size(ck, s);
    s->facts = arena_memdup(ck->a, &f, sizeof f);
}

/* Notes what is known of an operation, and has it refer to what its operands stand for by now. */
static void settle_all(Ck *ck, Size *s)
{
    if (s->kind != SZ_OP || s->op == '-' || sz_facts(s))
        return;
    Size *a = size_deref(s->a), *b = size_deref(s->b);
    settle_all(ck, a);
    settle_all(ck, b);
    settle(ck, s, a, b);
}

/* Sums and products stay as written: `[8 * 6]` is the size of a matrix to be unflattened. */
Size *sz_op(Ck *ck, char op, Size *a, Size *b)
{
    if (size_deref(a)->wrong || size_deref(b)->wrong)
        return size_deref(a)->wrong ? size_deref(a) : size_deref(b);
    Size *s = sz_new(ck, SZ_OP);
    s->op = op;
    s->a = size_deref(a);
    s->b = size_deref(b);
    s->loc = s->b->loc.beg ? s->b->loc : s->a->loc;
    const Size *e = op == '-' ? essence(s) : s;
    if (e == s)
        settle(ck, s, s->a, s->b);
    return e->kind == SZ_CONST ? sz_const(ck, e->value) : (Size *)e;
}

Size *sz_exp_with(Ck *ck, const Size *like, ASizes args)
{
    for (int i = 0; i < args.n; i++)
        if (size_deref(args.at[i])->wrong)
            return size_deref(args.at[i]);
    Size *s = NEW(ck->a, Size);
    *s = *like;
    s->args = args;
    s->facts = NULL;
    sz_settle_exp(ck, s, true);
    return s;
}

/* --- Sizes of expressions ------------------------------------------------------------------- */

/* The operator of sizes that e applies to i64 numbers, 0 if it is something else. */
static char size_operator(const AExp *e)
{
    static const struct {
        BuiltinId id;
        char op;
    } ops[] = {{BI_ADD, '+'}, {BI_SUB, '-'}, {BI_MUL, '*'}, {BI_DIV, '/'}, {BI_MOD, '%'}};
    const AExp *fn = e->app.fn;
    const AType *t = e->type ? type_deref(e->type) : NULL;
    bool i64 = !t || (t->kind == TY_SCALAR ? t->scalar == T_I64 : t->kind == TY_META);
    if (e->app.args.n != 2 || fn->kind != AE_VAR || !fn->var.bind || !i64)
        return 0;
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++)
        if (ops[i].id == fn->var.bind->builtin)
            return ops[i].op;
    return 0;
}

/* NULL if e has a part that cannot be compared. Inside of an expression nothing is simplified: its
 * parts stay those of the text, so that names in it can be replaced. */
static Size *term(Ck *ck, const AExp *e, bool inside)
{
    Size *s = NULL;
    e = size_exp_essence(e);
    const AType *t = e->type ? type_deref(e->type) : NULL;
    if (e->kind == AE_LIT && !e->lit.is_float && e->lit.bits <= INT64_MAX &&
        (!t || t->kind != TY_SCALAR || t->scalar == T_I64))
        return sz_const(ck, (int64_t)e->lit.bits);
    if (t && t->kind == TY_ERROR)
        return sz_error(ck, e->loc);
    if (e->kind == AE_VAR && !e->var.bind)
        return NULL;
    if (e->kind == AE_VAR && e->var.bind->kind != BIND_BUILTIN) {
        s = sz_var(ck, e->var.bind);
        s->loc = e->loc;
        return s;
    }
    if (e->kind == AE_APP && !inside) {
        char op = size_operator(e);
        if (op) {
            Size *a = term(ck, e->app.args.at[0], false), *b = term(ck, e->app.args.at[1], false);
            return a && b ? sz_op(ck, op, a, b) : NULL;
        }
    }
    if (!size_exp_form(e))
        return NULL;
    s = sz_new(ck, SZ_EXP);
    s->exp = (AExp *)e;
    s->loc = e->loc;
    AExps parts = size_exp_parts(ck->a, e);
    for (int i = 0; i < parts.n; i++) {
        Size *p = term(ck, parts.at[i], true);
        if (!p || p->wrong)
            return p;
        vec_push(ck->a, &s->args, p);
    }
    sz_settle_exp(ck, s, true);
    return s;
}

Size *sz_of_exp(Ck *ck, const AExp *e)
{
    Size *s = term(ck, e, false);
    return s ? s : sz_unknown(ck, e->loc);
}

static bool same_dims(const ADimIndices *a, const ADimIndices *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++) {
        const ADimIndex *x = &a->at[i], *y = &b->at[i];
        same = x->slice == y->slice && !x->i == !y->i && !x->j == !y->j && !x->s == !y->s;
    }
    return same;
}

static bool same_path(const Steps *a, const Steps *b)
{
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->at[i].field == b->at[i].field && same_dims(&a->at[i].dims, &b->at[i].dims);
    return same;
}

static bool other_scalars(const AType *a, const AType *b)
{
    a = a ? type_deref(a) : a;
    b = b ? type_deref(b) : b;
    return a && b && a->kind == TY_SCALAR && b->kind == TY_SCALAR && a->scalar != b->scalar;
}

/* Whether two terms apply the same to as many arguments. */
static bool same_head(const Size *a, const Size *b)
{
    const AExp *x = a->exp, *y = b->exp;
    if (a->args.n != b->args.n || x->kind != y->kind)
        return false;
    switch (x->kind) {
    case AE_LIT:
        return x->lit.bits == y->lit.bits && x->lit.is_float == y->lit.is_float &&
               x->lit.fval == y->lit.fval && !other_scalars(x->type, y->type);
    case AE_VAR: return x->var.bind == y->var.bind;
    case AE_PROJ: return x->proj.names.at[0] == y->proj.names.at[0];
    case AE_RECORD: return names_same(&x->seq.names, &y->seq.names);
    case AE_CONSTR: return x->constr.name == y->constr.name;
    case AE_RANGE: return x->range.kind == y->range.kind && !x->range.second == !y->range.second;
    case AE_INDEX: return same_dims(&x->index.dims, &y->index.dims);
    case AE_UPDATE:
    case AE_PATHSECT: return same_path(&x->update.path, &y->update.path);
    default: return true;
    }
}

/* What applies an operator of sizes inside of an expression, as what it is outside of one. */
static const Size *as_operation(const Size *s, Size *made)
{
    char op = s->kind == SZ_EXP && s->exp->kind == AE_APP ? size_operator(s->exp) : 0;
    if (!op)
        return s;
    *made = (Size){.kind = SZ_OP, .op = op, .a = s->args.at[1], .b = s->args.at[2]};
    return made;
}

bool sz_same(const Size *a, const Size *b)
{
    Size op_a, op_b;
    a = as_operation(essence(a), &op_a);
    b = as_operation(essence(b), &op_b);
    int64_t v;
    if (a == b || (sz_value(a, &v) && is_const(b, v)))
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
    case SZ_EXP:
        if (!same_head(a, b))
            return false;
        for (int i = 0; i < a->args.n; i++)
            if (!sz_same(a->args.at[i], b->args.at[i]))
                return false;
        return true;
    case SZ_UNKNOWN: return a->id == b->id;
    case SZ_META: return false;
    }
    return false;
}

bool sz_written_same(const Size *a, const Size *b)
{
    a = size_deref(a);
    b = size_deref(b);
    if (a->kind != SZ_OP && a->kind != SZ_EXP)
        return a->kind == b->kind && sz_same(a, b);
    if (a->kind != b->kind || (a->kind == SZ_OP ? a->op != b->op : !same_head(a, b)))
        return false;
    for (int i = 0; i < a->args.n; i++)
        if (!sz_written_same(a->args.at[i], b->args.at[i]))
            return false;
    return a->kind == SZ_EXP || (sz_written_same(a->a, b->a) && sz_written_same(a->b, b->b));
}

/* --- What a size mentions ------------------------------------------------------------------- */

bool sz_any(const Size *s, bool (*test)(void *env, const Size *leaf), void *env)
{
    s = size_deref(s);
    const ASizes *leaves = sz_leaves(s);
    for (int i = 0; leaves && i < leaves->n; i++)
        if (sz_any(leaves->at[i], test, env))
            return true;
    if (leaves)
        return false;
    if (s->kind == SZ_OP)
        return sz_any(s->a, test, env) || sz_any(s->b, test, env);
    for (int i = 0; s->kind == SZ_EXP && i < s->args.n; i++)
        if (sz_any(s->args.at[i], test, env))
            return true;
    return s->kind != SZ_EXP && test(env, s);
}

/* A test of leaves that are not bound by the function types around. */
typedef struct Free {
    bool (*test)(void *env, const Size *leaf);
    void *env;
    const AType *fun;
    const struct Free *up;
} Free;

bool fun_binds(const AType *fun, const Binding *b)
{
    for (int i = 0; i < fun->fun.exists.n; i++)
        if (fun->fun.exists.at[i] == b)
            return true;
    return fun->fun.name == b;
}

static bool is_free(void *env, const Size *leaf)
{
    const Free *f = env;
    for (const Free *in = f; leaf->kind == SZ_VAR && in->fun; in = in->up)
        if (fun_binds(in->fun, leaf->var))
            return false;
    return f->test(f->env, leaf);
}

static bool any_free(void *env, const AType *t)
{
    const Free *f = env;
    t = type_deref(t);
    if (t->kind == TY_FUN) {
        Free inside = {f->test, f->env, t, f};
        return any_free(env, t->fun.param) || any_free(&inside, t->fun.result);
    }
    if (t->kind == TY_ARRAY && sz_any(t->array.dim, is_free, env))
        return true;
    if (type_any_part(t, any_free, env))
        return true;
    for (int i = 0; t->kind == TY_VAR && i < t->sargs.n; i++)
        if (sz_any(t->sargs.at[i], is_free, env))
            return true;
    return false;
}

bool ty_any_size(const AType *t, bool (*test)(void *env, const Size *leaf), void *env)
{
    Free f = {test, env, NULL, NULL};
    return any_free(&f, t);
}

static bool is_var(void *env, const Size *leaf)
{
    return leaf->kind == SZ_VAR && leaf->var == env;
}

bool ty_mentions(const AType *t, Binding *b)
{
    return ty_any_size(t, is_var, b);
}

static bool is_meta(void *env, const Size *leaf)
{
    (void)env;
    return leaf->kind == SZ_META;
}

static bool has_meta(const Size *s)
{
    return sz_any(s, is_meta, NULL);
}

/* A size of itself: the variable, or a name whose type has it. `length ys` cannot be the size of ys
 * in `map2 f ys (replicate (length ys) 0)`. */
static bool is_it(void *meta, const Size *leaf)
{
    return leaf == meta || (leaf->kind == SZ_VAR && leaf->var->kind == BIND_LOCAL &&
                            leaf->var->type && ty_any_size(leaf->var->type, is_it, meta));
}

/* --- Leaving a scope by unification --------------------------------------------------------- */

static bool in_scope_of(const Outer *o, const Binding *b)
{
    for (const Outer *in = o; in->fun; in = in->up)
        if (fun_binds(in->fun, b))
            return true;
    return b->kind == BIND_BUILTIN || b->uid < o->born;
}

bool sz_lower(Ck *ck, Size *s, const Outer *o)
{
    s = size_deref(s);
    const ASizes *leaves = sz_leaves(s);
    for (int i = 0; leaves && i < leaves->n; i++)
        if (!sz_lower(ck, leaves->at[i], o))
            return false;
    if (leaves)
        return true;
    switch (s->kind) {
    case SZ_VAR:
        if (in_scope_of(o, s->var))
            return true;
        ck->why = s->var->name[0] == '['
                      ? "a size would leave its scope"
                      : arena_printf(ck->a, "the size `%s` would leave its scope", s->var->name);
        ck->why_more = true;
        return false;
    case SZ_META:
        if (s->level > o->level || s->born > o->born) {
            save_size(ck, s);
            s->level = s->level > o->level ? o->level : s->level;
            s->born = s->born > o->born ? o->born : s->born;
        }
        return true;
    case SZ_OP: return sz_lower(ck, s->a, o) && sz_lower(ck, s->b, o);
    case SZ_EXP:
        for (int i = 0; i < s->args.n; i++)
            if (!sz_lower(ck, s->args.at[i], o))
                return false;
        return true;
    case SZ_CONST:
    case SZ_UNKNOWN: return true;
    }
    return true;
}

/* --- Unification ---------------------------------------------------------------------------- */

/* A size that the program names, or an operation, whose parts then have names. */
static bool has_name(const Size *s)
{
    return s->kind != SZ_UNKNOWN && s->kind != SZ_META &&
           (s->kind != SZ_VAR || s->var->name[0] != '[');
}

static bool is_length(const Size *s)
{
    return s->kind == SZ_EXP && s->exp->kind == AE_APP && s->exp->app.fn->kind == AE_VAR &&
           s->exp->app.fn->var.bind && s->exp->app.fn->var.bind->builtin == BI_LENGTH;
}

/* What to do about sizes that are not seen to be equal. */
static const char *size_hint(const Size *a, const Size *b, bool named)
{
    bool plain =
        (a->kind == SZ_CONST || a->kind == SZ_VAR) && (b->kind == SZ_CONST || b->kind == SZ_VAR);
    return is_length(a) || is_length(b) ? "; name that size, as in `(xs: [n]t)`, and use `n`"
           : named && plain             ? ""
                                        : "; claim it by `e :> t`";
}

static bool sz_differ(Ck *ck, const Size *x, const Size *y)
{
    bool named = has_name(x) && has_name(y);
    const char *a = named ? show_size(ck, x) : NULL, *b = named ? show_size(ck, y) : NULL;
    ck->why_more = true;
    ck->why_a = x->kind == SZ_VAR ? x->var->loc : x->loc;
    ck->why_b = y->kind == SZ_VAR ? y->var->loc : y->loc;
    const char *hint = size_hint(x, y, named);
    ck->why = !named ? arena_printf(ck->a, "sizes that are not known to be equal%s", hint)
                     : arena_printf(ck->a, "sizes `%s` and `%s` do not match%s", a, b, hint);
    return false;
}

static bool unknown_varies(void *env, const Size *leaf)
{
    (void)env;
    return leaf->kind == SZ_UNKNOWN && leaf->varies;
}

bool sz_varies(Ck *ck, const Size *s)
{
    if (!sz_any(s, unknown_varies, NULL))
        return false;
    ck->why = "the function may return arrays of different sizes";
    ck->why_more = ck->why_varies = true;
    return true;
}

static bool bind_size(Ck *ck, Size *m, Size *s)
{
    Outer o = {.level = m->level, .born = m->born};
    settle_all(ck, s);
    if (!m->varies && sz_varies(ck, s))
        return false;
    if (sz_any(s, is_it, m)) {
        ck->why = arena_printf(ck->a, "a size would be made of itself%s",
                               is_length(s) ? size_hint(s, m, true) : "");
        ck->why_more = true;
        return false;
    }
    if (!sz_lower(ck, s, &o))
        return false;
    if (m->varies &&
        s->kind == SZ_META) { /* what a function makes up, of which nobody says what it is */
        save_size(ck, s);
        s->each_call = true;
    }
    save_size(ck, m);
    m->ref = s;
    return true;
}

/* Whether two terms have the same form, so that their parts must be equal. */
static bool alike(const Size *a, const Size *b)
{
    return a->kind == b->kind &&
           (a->kind == SZ_OP ? a->op == b->op : a->kind == SZ_EXP && same_head(a, b));
}

static bool unify_parts(Ck *ck, Size *a, Size *b)
{
    if (a->kind == SZ_OP)
        return sz_unify(ck, a->a, b->a) && sz_unify(ck, a->b, b->b);
    for (int i = 0; i < a->args.n; i++)
        if (!sz_unify(ck, a->args.at[i], b->args.at[i]))
            return false;
    return true;
}

static bool is_wrong(void *env, const Size *leaf)
{
    (void)env;
    return leaf->wrong;
}

/* What has to be equal to a size that is wrong, or of something that is, is not complained of. */
static bool give_up(Ck *ck, Size *s, Size *wrong)
{
    if (!sz_any(wrong, is_wrong, NULL))
        return false;
    ck->skipped = true;
    if (s->kind == SZ_META) {
        save_size(ck, s);
        s->ref = sz_error(ck, s->loc);
    }
    return true;
}

bool sz_unify(Ck *ck, Size *a, Size *b)
{
    a = size_deref(a);
    b = size_deref(b);
    if (sz_same(a, b) || (a->kind == SZ_UNKNOWN && a->any)) /* b is that of one value of many */
        return true;
    if (give_up(ck, a, b) || give_up(ck, b, a))
        return true;
    /* The younger variable stands for the older one: it may know more names. */
    if (b->kind == SZ_META && (a->kind != SZ_META || a->born < b->born))
        return bind_size(ck, b, a);
    if (a->kind == SZ_META)
        return bind_size(ck, a, b);
    if (!has_meta(a) && !has_meta(b))
        return sz_differ(ck, a, b);
    if (alike(a, b))
        return unify_parts(ck, a, b);
    Deferred d = {ck->here, a, b};
    vec_push(ck->a, &ck->deferred, d);
    return true;
}

/* An operation on sizes that are still to be found is not known to be the other one. */
static void report_open(Ck *ck, const Deferred *d)
{
    bool wanted = has_meta(d->a); /* else it is at hand: the program may claim what it is */
    const Size *x = size_deref(wanted ? d->a : d->b), *y = size_deref(wanted ? d->b : d->a);
    ck_error(ck, d->loc, "size `%s` is not known to be `%s` here%s", show_size(ck, y),
             show_size(ck, x), wanted ? "" : "; claim it by `e :> t`");
    if (!wanted)
        return;
    char op = x->kind == SZ_OP ? x->op : 0;
    ck_note(ck, d->loc, "say what it is made of, as in `%s`",
            op == '+'   ? "split (xs :> [n + m]t)"
            : op == '*' ? "unflatten (xs :> [n * m]t)"
                        : "xs :> [n]t");
}

void solve_sizes(Ck *ck, int first, bool final)
{
    int kept = first;
    for (int i = first; i < ck->deferred.n; i++) {
        Deferred d = ck->deferred.at[i];
        if (sz_same(d.a, d.b))
            continue;
        if (!final && (has_meta(d.a) || has_meta(d.b)))
            ck->deferred.at[kept++] = d;
        else {
            int messages = diag_messages();
            if (has_meta(d.a) || has_meta(d.b))
                report_open(ck, &d);
            else
                ck_error(ck, d.loc, "size `%s` is not known to be `%s` here; claim it by `e :> t`",
                         show_size(ck, d.a), show_size(ck, d.b));
            diag_explained(messages, SECTION_SIZES);
        }
    }
    ck->deferred.n = kept;
}
