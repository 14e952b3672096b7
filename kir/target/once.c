/* Values that one statement wants: see once.h. */
#include "kir/target/once.h"

#include "kir/walk.h"

typedef struct {
    const KVar *v;
    int n;
} Uses;

static void count_use(void *env, const KExp *x)
{
    Uses *u = env;
    u->n += x->kind == KE_VAR && x->var == u->v;
}

enum { MANY = 2 };

/* How often the statement mentions v; whatever its blocks do is MANY. */
static int uses_of(const KStm *s, const KVar *v)
{
    Uses u = {.v = v};
    kstm_visit_exps(s, count_use, &u);
    for (int k = 0; k < 2; k++)
        u.n += kblock_uses(&s->body[k], v) ? MANY : 0;
    return u.n;
}

/* What the statement copies, or asks for; NULL: its expressions may stand anywhere in its text, or
 * be told more than once. */
static const KExp *copied(const KStm *s)
{
    bool whole =
        s->kind == KST_LET || s->kind == KST_VAR || s->kind == KST_SET || s->kind == KST_IF;
    return whole ? s->x[0] : s->kind == KST_STORE ? s->x[1] : NULL;
}

static bool names_value(const KStm *s)
{
    return s->kind == KST_LOAD || s->kind == KST_LET;
}

/* Is it bound to no more than an element? */
static bool is_element(const KStm *s)
{
    return s->kind == KST_LOAD ? s->var->type.lanes == 1
                               : s->kind == KST_LET && s->x[0]->kind == KE_PART;
}

/* Is v what a selection gives? Compilers must not load an element there unless it is chosen: they
 * would make a branch of it, and no vectors. */
static bool is_chosen(const KExp *x, const KVar *v)
{
    if (x->kind == KE_SELECT && (kexp_uses(x->x[1], v) || kexp_uses(x->x[2], v)))
        return true;
    for (int i = 0; i < x->n; i++)
        if (is_chosen(x->x[i], v))
            return true;
    return false;
}

bool kstm_goes_on(const KBlock *b, int i)
{
    const KStm *s = b->at[i];
    int at = i + 1;
    if (!names_value(s))
        return false;
    while (at < b->n && names_value(b->at[at]) && uses_of(b->at[at], s->var) == 0)
        at++;
    if (at == b->n || uses_of(b->at[at], s->var) != 1)
        return false;
    const KExp *x = copied(b->at[at]);
    bool copy = x && x->kind == KE_VAR && x->var == s->var;
    if (!copy && !(is_element(s) && (x || b->at[at]->kind == KST_LOAD)))
        return false;
    if (!copy && is_chosen(x ? x : b->at[at]->x[0], s->var))
        return false;
    for (int k = at + 1; k < b->n; k++)
        if (uses_of(b->at[k], s->var) > 0)
            return false;
    return s->kind == KST_LET || is_element(s);
}
