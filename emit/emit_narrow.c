/* When 32 bits are enough for a kernel's indices (kir/passes/narrow.c): a function over the
 * arguments and the shape of a launch, which asks for the conditions of kir/facts/limits.h.
 * Functions have indices of 64 bits, and are one for all launches. */
#include "emit/emit_parts.h"

#include "kir/walk.h"

#include <inttypes.h>

enum { COLUMNS = 80, AND_COLUMNS = 40 }; /* of a line that goes on in the next one, behind "&&" */

typedef struct {
    const KFun *fun;
    PtrSet *seen; /* scalars that have a name */
    bool args, groups[3], size[3];
    Arena *arena;
    Texts names; /* "n_5 = rt_count(args, 2)": what the conditions call by name */
    Out *o;
    size_t line; /* where the line at work begins */
} Launch;

/* Where the scalar is among the arguments of a launch. */
static int position_of(const KFun *f, const KVar *v)
{
    int at = 0;
    for (int i = 0; i < f->params.n; i++) {
        if (f->params.at[i].kind == KP_SCALAR && f->params.at[i].var == v)
            return at;
        at += f->params.at[i].kind != KP_FAILURE;
    }
    ice(f->loc, "%s: the host does not know %s", f->name, v->name);
}

static void scalar_text(Out *o, const KFun *f, const KVar *v)
{
    PrimType t = v->type.elem;
    out_printf(o, "args[%d].scalar.%s", position_of(f, v), rt_member_c(t));
}

/* Is it `0 <= v`? */
static bool is_natural(const KExp *cond)
{
    return kx_is_int(cond->x[0], 0);
}

/* --- Names ------------------------------------------------------------------------------------ */

static void name_sizes(Launch *l, const KExp *x)
{
    bool groups = x->id == KID_GROUPS;
    if (!groups && x->id != KID_GROUP_SIZE)
        ice(l->fun->loc, "%s: the host does not know %s", l->fun->name, kid_info[x->id].word);
    bool *seen = &(groups ? l->groups : l->size)[x->dim];
    const char *word = groups ? "groups" : "size";
    if (!*seen)
        vec_push(l->arena, &l->names,
                 arena_printf(l->arena, "%s%d = (double)%s[%d]", word, x->dim, word, x->dim));
    *seen = true;
}

static void name_leaf(void *env, const KExp *x)
{
    Launch *l = env;
    if (x->kind == KE_ID)
        name_sizes(l, x);
    if (x->kind != KE_VAR || ptrset_has(l->seen, x->var))
        return;
    ptrset_add(l->seen, x->var);
    if (x->var->type.elem != T_I64 && x->var->type.elem != T_I32)
        ice(l->fun->loc, "%s: %s is no count", l->fun->name, x->var->name);
    vec_push(l->arena, &l->names,
             arena_printf(l->arena, "%s = rt_count(args, %d)", x->var->name,
                          position_of(l->fun, x->var)));
}

static void note_arg(void *env, const KExp *x)
{
    *(bool *)env |= x->kind == KE_VAR;
}

/* --- Conditions ------------------------------------------------------------------------------- */

/* An operator between two operands, or a comma; behind it a line of more columns ends. */
static void operator_text(Launch *l, const char *op, size_t columns)
{
    out_puts(l->o, op);
    if (l->o->n - l->line <= columns) {
        out_puts(l->o, " ");
        return;
    }
    out_puts(l->o, "\n");
    l->line = l->o->n;
    out_puts(l->o, "           ");
}

/* In real numbers. tight: it is an operand of a product or a quotient, on whose right side it
 * stands if it is `last`. */
static void real_text(Launch *l, const KExp *x, bool tight, bool last)
{
    Out *o = l->o;
    switch (x->kind) {
    case KE_CONST:
        if (x->c.i == INT32_MAX)
            out_puts(o, "RT_INT");
        else
            out_printf(o, "%" PRId64 ".0", x->c.i);
        return;
    case KE_VAR: out_puts(o, x->var->name); return;
    case KE_ID: out_printf(o, "%s%d", x->id == KID_GROUPS ? "groups" : "size", x->dim); return;
    case KE_CONV: real_text(l, x->x[0], tight, last); return;
    case KE_PRIM: break;
    case KE_HOST:
    case KE_SIZE:
    case KE_CEILDIV:
    case KE_SELECT:
    case KE_PART:
    case KE_VECTOR:
    case N_KEXPS: ice((Loc){0}, "not a limit");
    }
    if (x->op == OP_MIN || x->op == OP_MAX) {
        out_puts(o, x->op == OP_MIN ? "fmin(" : "fmax(");
        real_text(l, x->x[0], false, false);
        operator_text(l, ",", COLUMNS);
        real_text(l, x->x[1], false, false);
        out_puts(o, ")");
        return;
    }
    bool sum = x->op == OP_ADD, open = tight && (sum || last);
    ASSERT(sum || x->op == OP_MUL || x->op == OP_QUOT);
    out_puts(o, open ? "(" : "");
    real_text(l, x->x[0], !sum, false);
    operator_text(l, sum ? " +" : x->op == OP_MUL ? " *" : " /", COLUMNS);
    real_text(l, x->x[1], !sum, true);
    out_puts(o, open ? ")" : "");
}

static void condition_text(Launch *l, const KExp *cond)
{
    if (!is_natural(cond)) {
        real_text(l, cond->x[0], false, false);
        operator_text(l, " <=", COLUMNS);
        real_text(l, cond->x[1], false, false);
        return;
    }
    const KExp *v = cond->x[1]->kind == KE_CONV ? cond->x[1]->x[0] : cond->x[1];
    out_puts(l->o, "0 <= ");
    scalar_text(l->o, l->fun, v->var);
}

static void body_text(Launch *l)
{
    const KExps *when = &l->fun->narrow_when;
    bool args = false;
    for (int i = 0; i < when->n; i++) {
        kexp_visit(when->at[i], note_arg, &args);
        if (!is_natural(when->at[i]))
            kexp_visit(when->at[i], name_leaf, l);
    }
    const struct {
        bool used;
        const char *name;
    } params[] = {{args, "args"},
                  {l->groups[0] || l->groups[1] || l->groups[2], "groups"},
                  {l->size[0] || l->size[1] || l->size[2], "size"}};
    for (int i = 0; i < 3; i++)
        if (!params[i].used)
            out_printf(l->o, "    (void)%s;\n", params[i].name);
    if (l->names.n) {
        out_puts(l->o, "    const double ");
        emit_wrapped(l->o, &l->names, 13, 8);
        out_puts(l->o, ";\n");
    }
    l->line = l->o->n;
    out_puts(l->o, "    return ");
    for (int i = 0; i < when->n; i++) {
        if (i)
            operator_text(l, " &&", AND_COLUMNS);
        condition_text(l, when->at[i]);
    }
    out_puts(l->o, ";\n");
}

const char *narrow_name(Ctx *cx, const Kernel *k)
{
    ASSERT(k->on[KTARGET_GPU]->narrow);
    if (k->on[KTARGET_GPU]->narrow_when.n == 0)
        return "NULL";
    return arena_printf(cx->perm, "narrow_%s", k->name);
}

void emit_narrow(Emit *em, const Kernel *k)
{
    Launch l = {.fun = k->on[KTARGET_GPU],
                .seen = ptrmap_new(em->cx->perm),
                .arena = em->cx->perm,
                .o = em->o};
    if (l.fun->narrow_when.n == 0)
        return;
    out_printf(em->o,
               "static bool %s(const rt_arg *args, const int64_t *groups, const int64_t *size)\n"
               "{\n",
               narrow_name(em->cx, k));
    body_text(&l);
    out_puts(em->o, "}\n\n");
}
