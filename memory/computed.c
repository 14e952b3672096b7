/* Arrays that are never made: an iota, or copies of a scalar, of the host level whose readers are
 * all kernels. Each computes the element that it wants from its position, which costs less than a
 * load, and neither a launch nor a block is needed. A view is such an array as well, since all that
 * it does is decide about positions.
 *
 * One walk over the statements of the host level. Whatever else becomes of such an array (it is
 * updated, passed on by a loop or a branch, copied, a result) needs its memory. What kernels do
 * with it inside is theirs: they never write an array of the host's unless they consume it. */
#include "memory/layout.h"

typedef struct {
    Ctx *cx;
    VarMap *roots; /* array -> the iota or replicate that it is, or is a view of */
    VarSet *found; /* ... those of which nobody needs memory so far */
} Computed;

static const Var *root(const Computed *c, Atom a)
{
    return a.var ? varmap_get(c->roots, a.var) : NULL;
}

static void in_memory(void *env, Atom a)
{
    const Computed *c = env;
    const Var *v = root(c, a);
    if (v)
        varmap_del(c->found, v);
}

static bool is_formula(const Exp *e)
{
    return e->kind == E_IOTA || (e->kind == E_REPLICATE && atom_type(e->replicate.val).rank == 0);
}

/* A view that an index function surely says: reshapes of views may need a copy. */
static bool is_plain_view(const Computed *c, const Stm *s)
{
    const Exp *e = s->exp;
    if (s->pat.n != 1 || s->pat.at[0]->type.rank == 0)
        return false;
    if (e->kind == E_RESHAPE)
        return root(c, e->reshape.arr) == e->reshape.arr.var;
    return e->kind == E_MANIFEST || exp_is(e, F_VIEW);
}

static Atom viewed(const Exp *e)
{
    return e->kind == E_MANIFEST ? e->rearrange.arr : exp_view_of(e);
}

static void walk(void *env, Body *b);

static void walk_stm(Computed *c, const Stm *s)
{
    const Exp *e = s->exp;
    if (is_formula(e)) {
        varmap_put(c->roots, s->pat.at[0], s->pat.at[0]);
        varset_add(c->found, s->pat.at[0]);
    } else if (is_plain_view(c, s)) {
        varmap_put(c->roots, s->pat.at[0], (void *)root(c, viewed(e)));
    } else if (exp_is_seg(e) || exp_is_soac(e)) {
        Vars consumed = exp_consumes(c->cx, e);
        for (int i = 0; i < consumed.n; i++)
            in_memory(c, atom_var(consumed.at[i]));
    } else {
        exp_visit(e, &(ExpVisitor){.env = c, .atom = in_memory, .body = walk});
    }
}

static void walk(void *env, Body *b)
{
    for (int i = 0; i < b->stms.n; i++)
        walk_stm(env, &b->stms.at[i]);
    for (int i = 0; i < b->res.n; i++)
        in_memory(env, b->res.at[i]);
}

VarSet *mem_computed(Ctx *cx, const Entry *en)
{
    Computed c = {cx, varmap_new(cx->perm), varmap_new(cx->perm)};
    walk(&c, en->body);
    return c.found;
}
