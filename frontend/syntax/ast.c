/* Constructors of syntax trees, called by the grammar, and small facts about nodes. */
#include "frontend/syntax/parse.h"

#include "base/intern.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void parse_error(ParseCtx *ctx, Loc loc, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    diag_error(loc, "%s", arena_vprintf(ctx->a, fmt, ap));
    va_end(ap);
    ctx->errors++;
}

void parse_too_deep(ParseCtx *ctx, Loc loc)
{
    diag_limit(loc, "program is nested too deeply (more than %d levels)", MAX_LEVELS);
    ctx->errors++;
    ctx->too_deep = true;
}

int node_above(ParseCtx *c, int d, int step, Loc loc)
{
    if (d >= MAX_LEVELS * LEVEL && !c->too_deep)
        parse_too_deep(c, loc);
    return d + step;
}

/* --- Expressions ---------------------------------------------------------------------------- */

AExp *mk_exp(ParseCtx *c, AExpKind k, Loc loc)
{
    AExp *e = NEW(c->a, AExp);
    e->kind = k;
    e->loc = loc;
    e->depth = 1;
    return e;
}

AExp *mk_var(ParseCtx *c, NameLoc n)
{
    AExp *e = mk_exp(c, AE_VAR, n.loc);
    e->var.name = n.name;
    return e;
}

AExp *mk_seq(ParseCtx *c, AExpKind k, AExps es, Loc loc)
{
    AExp *e = mk_exp(c, k, loc);
    e->seq.elems = es;
    for (int i = 0; i < es.n; i++)
        DEEPEN(c, e, es.at[i]);
    return e;
}

/* Where field i of a tuple stands among fields that are named by numbers; -1: nowhere. */
static int tuple_field(const Names *names, int i)
{
    char text[16];
    snprintf(text, sizeof text, "%d", i);
    for (int k = 0; k < names->n; k++)
        if (!strcmp(names->at[k], text))
            return k;
    return -1;
}

/* Fields 0, 1, ... make a tuple. */
static bool are_tuple_fields(const Names *names)
{
    for (int i = 0; i < names->n; i++)
        if (tuple_field(names, i) < 0)
            return false;
    return names->n > 1;
}

#define IN_TUPLE_ORDER(c, fs, kind)                                                                \
    do {                                                                                           \
        Fields was_ = (fs);                                                                        \
        (fs) = (Fields){0};                                                                        \
        for (int i_ = 0; i_ < was_.names.n; i_++)                                                  \
            vec_push((c)->a, &(fs).kind, was_.kind.at[tuple_field(&was_.names, i_)]);              \
    } while (0)

AExp *mk_record(ParseCtx *c, Fields fs, Loc loc)
{
    bool tuple = are_tuple_fields(&fs.names);
    if (tuple)
        IN_TUPLE_ORDER(c, fs, exps);
    AExp *e = mk_seq(c, tuple ? AE_TUPLE : AE_RECORD, fs.exps, loc);
    e->seq.names = fs.names;
    return e;
}

/* Applications merge: (f a) b is f a b. Not those written as operators, whose messages differ. */
AExp *mk_apply(ParseCtx *c, AExp *fn, AExp *arg, Loc loc)
{
    AExp *e = fn;
    if (fn->kind == AE_CONSTR && !fn->parens) {
        e->loc = loc;
        vec_push(c->a, &e->constr.elems, arg);
        DEEPEN(c, e, arg);
        return e;
    }
    if (fn->kind != AE_APP || fn->app.infix) {
        e = mk_exp(c, AE_APP, loc);
        e->app.fn = fn;
        DEEPEN(c, e, fn);
    }
    e->loc = loc;
    e->parens = false;
    vec_push(c->a, &e->app.args, arg);
    DEEPEN(c, e, arg);
    return e;
}

AExp *mk_binop(ParseCtx *c, NameLoc op, AExp *l, AExp *r, Loc loc)
{
    bool on = r && !strcmp(op.name, "|>"), back = r && !strcmp(op.name, "<|");
    if (on || back) { /* applications as well, but see causality.c, consume_fun.c */
        (on ? l : r)->piped = on ? PIPED_ON : PIPED_BACK;
        return mk_apply(c, on ? r : l, on ? l : r, loc);
    }
    AExp *e = mk_exp(c, AE_APP, loc);
    e->app.fn = mk_var(c, op);
    e->app.infix = true;
    vec_push(c->a, &e->app.args, l);
    DEEPEN_BY(c, e, l, 1);
    if (r)
        vec_push(c->a, &e->app.args, r);
    DEEPEN_BY(c, e, r, 1);
    return e;
}

AExp *mk_prefix(ParseCtx *c, const char *op, Loc oploc, AExp *arg, Loc loc)
{
    AExp *e = mk_exp(c, AE_APP, loc);
    e->app.fn = mk_var(c, (NameLoc){intern(op), oploc});
    e->app.infix = true;
    vec_push(c->a, &e->app.args, arg);
    DEEPEN(c, e, arg);
    return e;
}

AExp *mk_opsect(ParseCtx *c, NameLoc op, AExp *arg, Loc loc)
{
    AExp *e = mk_exp(c, AE_OPSECT, loc);
    e->opsect.op = mk_var(c, op);
    e->opsect.arg = arg;
    DEEPEN(c, e, arg);
    return e;
}

AExp *mk_range(ParseCtx *c, AExp *start, AExp *second, RangeKind k, AExp *end, Loc loc)
{
    AExp *e = mk_exp(c, AE_RANGE, loc);
    e->range.start = start;
    e->range.second = second;
    e->range.end = end;
    e->range.kind = k;
    DEEPEN(c, e, start);
    DEEPEN(c, e, second);
    DEEPEN(c, e, end);
    return e;
}

AExp *mk_lambda(ParseCtx *c, Pats params, TypeExp *ret, AExp *body, Loc loc)
{
    AExp *e = mk_exp(c, AE_LAMBDA, loc);
    e->lambda.params = params;
    e->lambda.ret = ret;
    e->lambda.body = body;
    for (int i = 0; i < params.n; i++)
        DEEPEN(c, e, params.at[i]);
    DEEPEN(c, e, body);
    return e;
}

AExp *mk_proj(ParseCtx *c, AExp *from, const char *field, Loc loc)
{
    AExp *e = mk_exp(c, AE_PROJ, loc);
    e->proj.e = from;
    vec_push(c->a, &e->proj.names, field);
    DEEPEN(c, e, from);
    return e;
}

static void deepen_dims(ParseCtx *c, AExp *e, const ADimIndices *dims)
{
    for (int i = 0; i < dims->n; i++) {
        DEEPEN(c, e, dims->at[i].i);
        DEEPEN(c, e, dims->at[i].j);
        DEEPEN(c, e, dims->at[i].s);
    }
}

AExp *mk_index(ParseCtx *c, AExp *arr, ADimIndices dims, Loc loc)
{
    AExp *e = mk_exp(c, AE_INDEX, loc);
    if (!dims.n)
        parse_error(c, loc, "an index needs at least one dimension");
    e->index.e = arr;
    e->index.dims = dims;
    DEEPEN(c, e, arr);
    deepen_dims(c, e, &dims);
    return e;
}

Step mk_step(ParseCtx *c, const char *field, ADimIndices dims, Loc loc)
{
    if (!field && !dims.n)
        parse_error(c, loc, "an index needs at least one dimension");
    return (Step){field, dims, NULL, loc};
}

AExp *mk_update(ParseCtx *c, AExp *of, Steps path, AExp *v, Loc loc)
{
    AExp *e = mk_exp(c, of ? AE_UPDATE : AE_PATHSECT, loc);
    e->update.e = of;
    e->update.path = path;
    e->update.value = v;
    DEEPEN(c, e, of);
    DEEPEN(c, e, v);
    for (int i = 0; i < path.n; i++)
        deepen_dims(c, e, &path.at[i].dims);
    e->depth = node_above(c, e->depth + LEVEL * (path.n - 1), 0, loc); /* each step is an access */
    return e;
}

AExp *mk_if(ParseCtx *c, AExp *t, AExp *a, AExp *b, Loc loc)
{
    AExp *e = mk_exp(c, AE_IF, loc);
    e->cond.test = t;
    e->cond.then = a;
    e->cond.els = b;
    DEEPEN(c, e, t);
    DEEPEN(c, e, a);
    DEEPEN(c, e, b);
    return e;
}

AExp *mk_let(ParseCtx *c, NameLocs sizes, Pat *p, AExp *rhs, AExp *body, Loc loc)
{
    AExp *e = mk_exp(c, AE_LET, loc);
    e->let.size_names = sizes;
    e->let.pat = p;
    e->let.rhs = rhs;
    e->let.body = body;
    DEEPEN(c, e, p);
    DEEPEN(c, e, rhs);
    DEEPEN_BY(c, e, body, 1);
    return e;
}

AExp *mk_letwith(ParseCtx *c, NameLoc a, Steps path, AExp *v, AExp *body, Loc loc)
{
    Loc place = {a.loc.beg, v->loc.end};
    return mk_let(c, (NameLocs){0}, mk_pvar(c, a), mk_update(c, mk_var(c, a), path, v, place), body,
                  loc);
}

AExp *mk_letfun(ParseCtx *c, Def *d, AExp *body, Loc loc)
{
    AExp *e = mk_exp(c, AE_LETFUN, loc);
    d->local = true;
    e->letfun.def = d;
    e->letfun.body = body;
    DEEPEN(c, e, d->body);
    DEEPEN_BY(c, e, body, 1);
    return e;
}

AExp *mk_form(ParseCtx *c, ALoopKind k, Pat *var, AExp *bound, Loc loc)
{
    AExp *e = mk_exp(c, AE_LOOP, loc);
    e->loop.kind = k;
    e->loop.var = var;
    e->loop.bound = bound;
    DEEPEN(c, e, bound);
    return e;
}

/* The implicit initial value of a loop: the variables of the pattern. */
static AExp *pat_to_exp(ParseCtx *c, const Pat *p)
{
    switch (p->kind) {
    case P_VAR: return mk_var(c, (NameLoc){p->name, p->loc});
    case P_ASCRIBE: return pat_to_exp(c, p->pat);
    case P_TUPLE:
    case P_RECORD: {
        AExps es = {0};
        for (int i = 0; i < p->elems.n; i++)
            vec_push(c->a, &es, pat_to_exp(c, p->elems.at[i]));
        AExp *e = mk_seq(c, p->kind == P_TUPLE ? AE_TUPLE : AE_RECORD, es, p->loc);
        e->seq.names = p->names;
        return e;
    }
    case P_WILD:
    case P_LIT:
    case P_CONSTR: break;
    }
    parse_error(c, p->loc, "this loop parameter needs an initial value");
    return mk_seq(c, AE_TUPLE, (AExps){0}, p->loc);
}

AExp *mk_loop(ParseCtx *c, NameLocs sizes, Pat *p, AExp *init, AExp *form, AExp *body, Loc loc)
{
    AExp *e = form;
    e->loc = loc;
    e->loop.size_names = sizes;
    e->loop.pat = p;
    e->loop.init = init ? init : pat_to_exp(c, p);
    e->loop.body = body;
    DEEPEN(c, e, p);
    DEEPEN(c, e, e->loop.init);
    DEEPEN(c, e, body);
    return e;
}

AExp *mk_ascribe(ParseCtx *c, AExpKind k, AExp *what, TypeExp *te, Loc loc)
{
    AExp *e = mk_exp(c, k, loc);
    e->ascribe.e = what;
    e->ascribe.te = te;
    DEEPEN(c, e, what);
    DEEPEN(c, e, te);
    return e;
}

AExp *mk_assert(ParseCtx *c, AExp *test, AExp *what, Loc loc)
{
    AExp *e = mk_exp(c, AE_ASSERT, loc);
    e->assertion.test = test;
    e->assertion.e = what;
    DEEPEN(c, e, test);
    DEEPEN(c, e, what);
    return e;
}

AExp *mk_constr(ParseCtx *c, NameLoc n)
{
    AExp *e = mk_exp(c, AE_CONSTR, n.loc);
    e->constr.name = n.name;
    return e;
}

AExp *mk_match(ParseCtx *c, AExp *what, Cases cases, Loc loc)
{
    AExp *e = mk_exp(c, AE_MATCH, loc);
    e->match.e = what;
    e->match.cases = cases;
    DEEPEN(c, e, what);
    for (int i = 0; i < cases.n; i++) {
        DEEPEN(c, e, cases.at[i].pat);
        DEEPEN(c, e, cases.at[i].body);
    }
    return e;
}

/* The name A.B that an expression is, or NULL. */
static const char *module_name(ParseCtx *c, const AExp *e)
{
    if (e->kind == AE_VAR && !e->parens)
        return e->var.name;
    const char *outer = e->kind == AE_PROJ ? module_name(c, e->proj.e) : NULL;
    return outer ? intern_member(outer, e->proj.names.at[0]) : NULL;
}

AExp *mk_open(ParseCtx *c, const AExp *module, AExp *what, Loc loc)
{
    const char *name = module_name(c, module);
    if (!name)
        parse_error(c, module->loc, "only a module can be opened, as in `f32.(e)`");
    AExp *e = what;
    if (what->open) { /* M.(N.(e)): a node for each */
        e = mk_exp(c, AE_ATTR, loc);
        e->attr.e = what;
        DEEPEN(c, e, what);
    }
    e->open = name;
    e->open_loc = module->loc;
    e->parens = true;
    return e;
}

AExp *mk_attr(ParseCtx *c, Attr *at, AExp *what, Loc loc)
{
    AExp *e = mk_exp(c, AE_ATTR, loc);
    vec_push(c->a, &e->attr.attrs, at);
    e->attr.e = what;
    DEEPEN(c, e, what);
    return e;
}

/* --- Patterns ------------------------------------------------------------------------------- */

Pat *mk_pat(ParseCtx *c, PatKind k, Loc loc)
{
    Pat *p = NEW(c->a, Pat);
    p->kind = k;
    p->loc = loc;
    p->depth = 1;
    return p;
}

Pat *mk_pvar(ParseCtx *c, NameLoc n)
{
    Pat *p = mk_pat(c, P_VAR, n.loc);
    p->name = n.name;
    return p;
}

Pat *mk_ptuple(ParseCtx *c, Pats ps, Loc loc)
{
    Pat *p = mk_pat(c, P_TUPLE, loc);
    p->elems = ps;
    for (int i = 0; i < ps.n; i++)
        DEEPEN(c, p, ps.at[i]);
    return p;
}

Pat *mk_precord(ParseCtx *c, Fields fs, Loc loc)
{
    bool tuple = are_tuple_fields(&fs.names);
    if (tuple)
        IN_TUPLE_ORDER(c, fs, pats);
    Pat *p = mk_ptuple(c, fs.pats, loc);
    p->kind = tuple ? P_TUPLE : P_RECORD;
    p->names = fs.names;
    return p;
}

Pat *mk_pattr(ParseCtx *c, Attr *at, Pat *p)
{
    vec_push(c->a, &p->attrs, at);
    return p;
}

Pat *mk_plit(ParseCtx *c, AExp *lit, Loc loc)
{
    Pat *p = mk_pat(c, P_LIT, loc);
    p->lit = lit;
    return p;
}

Pat *mk_pconstr(ParseCtx *c, NameLoc n, Pats payload, Loc loc)
{
    Pat *p = mk_ptuple(c, payload, loc);
    p->kind = P_CONSTR;
    p->name = n.name;
    return p;
}

Pat *mk_pascribe(ParseCtx *c, Pat *inner, TypeExp *te, Loc loc)
{
    Pat *p = mk_pat(c, P_ASCRIBE, loc);
    p->pat = inner;
    p->te = te;
    DEEPEN(c, p, inner);
    DEEPEN(c, p, te);
    return p;
}

/* --- Types as written ----------------------------------------------------------------------- */

static TypeExp *mk_type(ParseCtx *c, TypeExpKind k, Loc loc)
{
    TypeExp *t = NEW(c->a, TypeExp);
    t->kind = k;
    t->loc = loc;
    t->depth = 1;
    return t;
}

TypeExp *mk_tname(ParseCtx *c, NameLoc n)
{
    TypeExp *t = mk_type(c, TE_NAME, n.loc);
    t->name = n.name;
    return t;
}

TypeExp *mk_targ(ParseCtx *c, TypeExp *t, TypeExp *arg, Loc loc)
{
    if (t->kind != TE_NAME) {
        parse_error(c, t->loc, "only a named type can have arguments");
        return t;
    }
    t->loc = loc;
    vec_push(c->a, &t->args, arg);
    DEEPEN(c, t, arg);
    return t;
}

TypeExp *mk_tarray(ParseCtx *c, TypeExp *size, TypeExp *elem, Loc loc)
{
    TypeExp *t = mk_type(c, TE_ARRAY, loc);
    t->dim = size->dim;
    t->elem = elem;
    DEEPEN(c, t, size);
    DEEPEN(c, t, elem);
    return t;
}

TypeExp *mk_tsize(ParseCtx *c, AExp *dim, Loc loc)
{
    TypeExp *t = mk_type(c, TE_SIZE, loc);
    t->dim = dim;
    DEEPEN(c, t, dim);
    return t;
}

TypeExp *mk_twrap(ParseCtx *c, TypeExpKind k, NameLocs sizes, TypeExp *inner, Loc loc)
{
    TypeExp *t = mk_type(c, k, loc);
    t->sizes = sizes;
    t->elem = inner;
    DEEPEN(c, t, inner);
    return t;
}

TypeExp *mk_tfun(ParseCtx *c, NameLoc pname, TypeExp *p, TypeExp *r, Loc loc)
{
    TypeExp *t = mk_type(c, TE_FUN, loc);
    t->name = pname.name;
    t->name_loc = pname.loc;
    t->param = p;
    t->elem = r;
    DEEPEN(c, t, p);
    DEEPEN(c, t, r);
    return t;
}

TypeExp *mk_ttuple(ParseCtx *c, TypeExps ts, Loc loc)
{
    TypeExp *t = mk_type(c, TE_TUPLE, loc);
    t->args = ts;
    for (int i = 0; i < ts.n; i++)
        DEEPEN(c, t, ts.at[i]);
    return t;
}

TypeExp *mk_trecord(ParseCtx *c, Fields fs, Loc loc)
{
    bool tuple = are_tuple_fields(&fs.names);
    if (tuple)
        IN_TUPLE_ORDER(c, fs, types);
    TypeExp *t = mk_ttuple(c, fs.types, loc);
    t->kind = tuple ? TE_TUPLE : TE_RECORD;
    t->names = fs.names;
    return t;
}

TypeExp *mk_tsum(ParseCtx *c, TypeExp *sum, TypeExp *alternative, Loc loc)
{
    TypeExp *t = sum ? sum : mk_type(c, TE_SUM, loc);
    t->loc = loc;
    vec_push(c->a, &t->args, alternative);
    DEEPEN(c, t, alternative);
    return t;
}

TypeExp *mk_tpayload(ParseCtx *c, TypeExp *alternative, TypeExp *payload, Loc loc)
{
    alternative->loc = loc;
    vec_push(c->a, &alternative->args, payload);
    DEEPEN(c, alternative, payload);
    return alternative;
}

/* --- Attributes ----------------------------------------------------------------------------- */

const Attr *attr_find(const Attrs *as, const char *name)
{
    for (int i = 0; i < as->n; i++)
        if (as->at[i]->name && !strcmp(as->at[i]->name, name))
            return as->at[i];
    return NULL;
}

bool attr_has(const Attrs *as, const char *name, const char *arg)
{
    for (int i = 0; i < as->n; i++)
        if (as->at[i]->name && !strcmp(as->at[i]->name, name) && attr_find(&as->at[i]->args, arg))
            return true;
    return false;
}

const char *attr_param(const Attrs *as)
{
    const Attr *a = attr_find(as, "param");
    return a && a->args.n == 1 && !a->args.at[0]->args.n ? a->args.at[0]->name : NULL;
}

int64_t attr_depth(const Attrs *as)
{
    const Attr *a = attr_find(as, "depth"), *n = a && a->args.n == 1 ? a->args.at[0] : NULL;
    bool valid = n && !n->name && n->number >= 1 && n->number <= MOST_DEPTH;
    return !a ? 0 : valid ? n->number : -1;
}

int64_t attr_strip_depth(const Attr *a)
{
    const Attr *n = a && a->args.n == 1 ? a->args.at[0] : NULL;
    return n && !n->name && n->number > 0 ? n->number : 0;
}

bool attr_changes_value(const Attrs *as)
{
    return attr_find(as, "param") || attr_find(as, "blank") || attr_find(as, "scratch");
}
