/* A program in memory of its own: everything in it is copied, with the variables that it has, so
 * that the memory of whoever made it can go. A pass leaves some hundred times of what stays of it;
 * the tree of a program with parametric modules is larger than anything after it. */
#include "pipeline/keep.h"

#include "base/intern.h"

#include <string.h>

typedef struct {
    Arena *arena;
    VarMap *vars;      /* Var -> the copy */
    PtrMap *functions; /* Function -> the copy */
} Keep;

#define KEEP_ARRAY(k, vec, item)                                                                   \
    do {                                                                                           \
        (vec)->at = keep_memory((k), (vec)->at, sizeof *(vec)->at, (vec)->n);                      \
        (vec)->cap = (vec)->n;                                                                     \
        for (int i_ = 0; i_ < (vec)->n; i_++)                                                      \
            item((k), &(vec)->at[i_]);                                                             \
    } while (0)

static void *keep_memory(Keep *k, const void *p, size_t size, int n)
{
    return n > 0 ? arena_memdup(k->arena, p, size * (size_t)n) : NULL;
}

static const char *keep_text(const char *text)
{
    return text ? intern(text) : NULL;
}

/* --- Parts of expressions, by the words of members.def -------------------------------------- */

static void keep_var(Keep *k, Var **v);

static void keep_atom(Keep *k, Atom *a)
{
    keep_var(k, &a->var);
}

static void keep_type(Keep *k, Type *t)
{
    t->dims = keep_memory(k, t->dims, sizeof *t->dims, t->rank);
    for (int i = 0; i < t->rank; i++)
        keep_atom(k, &t->dims[i]);
}

/* A type may speak of variables that are bound beside this one. */
static void keep_var(Keep *k, Var **v)
{
    Var *to = *v ? varmap_get(k->vars, *v) : NULL;
    if (*v && !to) {
        to = arena_memdup(k->arena, *v, sizeof **v);
        varmap_put(k->vars, *v, to);
        keep_type(k, &to->type);
    }
    *v = to;
}

static void keep_atoms(Keep *k, Atoms *as)
{
    KEEP_ARRAY(k, as, keep_atom);
}

static void keep_vars(Keep *k, Vars *vs)
{
    KEEP_ARRAY(k, vs, keep_var);
}

static void keep_dim(Keep *k, DimIndex *d)
{
    keep_atom(k, &d->start);
    keep_atom(k, &d->n);
    keep_atom(k, &d->stride);
}

static void keep_at(Keep *k, DimIndexes *at)
{
    KEEP_ARRAY(k, at, keep_dim);
}

static void keep_dest(Keep *k, Dest *d)
{
    keep_atom(k, &d->arr);
}

static void keep_dests(Keep *k, Dests *ds)
{
    KEEP_ARRAY(k, ds, keep_dest);
}

static void keep_nest_dim(Keep *k, NestDim *d)
{
    keep_var(k, &d->idx);
    keep_atom(k, &d->width);
    keep_vars(k, &d->xs);
    keep_atoms(k, &d->arrs);
    if (!d->row)
        return;
    keep_var(k, &d->row);
    keep_atom(k, &d->rows);
    keep_atom(k, &d->offs);
}

static void keep_nest(Keep *k, Nest *nest)
{
    KEEP_ARRAY(k, nest, keep_nest_dim);
}

static void keep_exp(Keep *k, Exp **e);

static void keep_stm(Keep *k, Stm *s)
{
    keep_vars(k, &s->pat);
    keep_exp(k, &s->exp);
}

static void keep_body(Keep *k, Body **b)
{
    if (!*b)
        return;
    *b = arena_memdup(k->arena, *b, sizeof **b);
    KEEP_ARRAY(k, &(*b)->stms, keep_stm);
    keep_atoms(k, &(*b)->res);
}

static void keep_lambda(Keep *k, Lambda **l)
{
    if (!*l)
        return;
    *l = arena_memdup(k->arena, *l, sizeof **l);
    keep_vars(k, &(*l)->params);
    keep_body(k, &(*l)->body);
}

#define keep_binder  keep_var
#define keep_binders keep_vars

/* --- Expressions ---------------------------------------------------------------------------- */

static void keep_function(Keep *k, const Function **f)
{
    Function *to = ptrmap_get(k->functions, *f);
    if (!to) {
        Lambda *lam = (Lambda *)(uintptr_t)(*f)->lam;
        to = arena_memdup(k->arena, *f, sizeof **f);
        ptrmap_put(k->functions, *f, to);
        keep_lambda(k, &lam);
        to->lam = lam;
    }
    *f = to;
}

static void keep_step(Keep *k, PathStep *step)
{
    (void)k;
    step->name = keep_text(step->name);
}

static void keep_ext(Keep *k, ExtType *x);

/* What is no part that others go over. */
static void keep_rest(Keep *k, Exp *e)
{
    switch (exp_member(e)) {
    case M_call: keep_function(k, &e->call.fn); return;
    case M_rearrange:
        e->rearrange.perm = keep_memory(k, e->rearrange.perm, sizeof *e->rearrange.perm,
                                        atom_type(e->rearrange.arr).rank);
        return;
    case M_loop: keep_var(k, &e->loop.cond); return;
    case M_assertion: e->assertion.msg = keep_text(e->assertion.msg); return;
    case M_trace:
        e->trace.label = keep_text(e->trace.label);
        e->trace.type = keep_memory(k, e->trace.type, sizeof *e->trace.type, 1);
        keep_ext(k, e->trace.type);
        return;
    case M_suff:
        e->suff.name = keep_text(e->suff.name);
        e->suff.never = keep_text(e->suff.never);
        KEEP_ARRAY(k, &e->suff.path, keep_step);
        return;
    case M_ranks: e->ranks.name = keep_text(e->ranks.name); return;
    case M_atom:
    case M_prim:
    case M_conv:
    case M_index:
    case M_update:
    case M_iota:
    case M_replicate:
    case M_scratch:
    case M_arraylit:
    case M_concat:
    case M_reshape:
    case M_copy:
    case M_branch:
    case M_soac:
    case M_deriv:
    case M_seg:
    case N_MEMBERS: return;
    }
}

static void keep_exp(Keep *k, Exp **e)
{
    Exp *r = *e = arena_memdup(k->arena, *e, sizeof **e);
    switch (exp_member(r)) {
#define PART(kind, field) keep_##kind(k, &r->field);
#define MEMBER(member, parts)                                                                      \
    case M_##member:                                                                               \
        parts break;
#include "ir/members.def"
#undef MEMBER
#undef PART
    case N_MEMBERS: ice(r->loc, "no form");
    }
    keep_rest(k, r);
}

/* --- Entries -------------------------------------------------------------------------------- */

static void keep_variant(Keep *k, ExtVariant *v)
{
    v->name = keep_text(v->name);
    v->holds = keep_memory(k, v->holds, sizeof *v->holds, v->n);
    for (int i = 0; i < v->n; i++)
        keep_ext(k, &v->holds[i]);
    v->places = keep_memory(k, v->places, sizeof *v->places, v->n_places);
}

static void keep_ext(Keep *k, ExtType *x)
{
    x->text = keep_text(x->text);
    x->doc = keep_text(x->doc);
    x->alias = keep_text(x->alias);
    x->field_names = keep_memory(k, x->field_names, sizeof *x->field_names, x->n_fields);
    x->fields = keep_memory(k, x->fields, sizeof *x->fields, x->n_fields);
    for (int i = 0; i < x->n_fields; i++) {
        if (x->field_names)
            x->field_names[i] = keep_text(x->field_names[i]);
        keep_ext(k, &x->fields[i]);
    }
    x->variants = keep_memory(k, x->variants, sizeof *x->variants, x->n_variants);
    for (int i = 0; i < x->n_variants; i++)
        keep_variant(k, &x->variants[i]);
    x->elem = x->elem ? keep_memory(k, x->elem, sizeof *x->elem, 1) : NULL;
    if (x->elem)
        keep_ext(k, x->elem);
}

static void keep_ext_param(Keep *k, ExtParam *p)
{
    p->name = keep_text(p->name);
    keep_ext(k, &p->type);
}

static void keep_user_param(Keep *k, UserParam *p)
{
    p->name = keep_text(p->name);
    keep_var(k, &p->var);
}

static void keep_entry(Keep *k, Entry *en)
{
    en->name = keep_text(en->name);
    en->doc = keep_text(en->doc);
    en->signature = keep_text(en->signature);
    en->generator = keep_text(en->generator);
    en->shrinker = keep_text(en->shrinker);
    keep_vars(k, &en->sizes);
    keep_vars(k, &en->params);
    KEEP_ARRAY(k, &en->user_params, keep_user_param);
    KEEP_ARRAY(k, &en->ext_params, keep_ext_param);
    KEEP_ARRAY(k, &en->ext_results, keep_ext_param);
    keep_body(k, &en->body);
}

Prog *prog_keep(Arena *to, const Prog *p)
{
    Arena *maps = arena_new();
    Keep k = {to, varmap_new(maps), ptrmap_new(maps)};
    Prog *r = arena_memdup(to, p, sizeof *p);
    KEEP_ARRAY(&k, &r->entries, keep_entry);
    arena_free(maps);
    return r;
}
