/* When 32 bits are enough for a kernel's indices (kir/narrow.c): a function over the arguments and
 * the shape of a launch. */
#include "codegen/emit.h"

#include "kir/passes.h"
#include "kir/walk.h"

typedef struct {
    Ctx *cx;
    const KFun *fun;
    PtrSet *seen; /* scalars that have a name */
    bool args, groups, size;
    Out names;
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

static void name_scalar(void *env, const KExp *x)
{
    Launch *l = env;
    if (x->kind != KE_VAR || ptrset_has(l->seen, x->var))
        return;
    PrimType t = x->var->type.elem;
    ptrset_add(l->seen, x->var);
    l->args = true;
    out_printf(&l->names, "    const %s %s = args[%d].scalar.%s;\n", ctype_c(t), x->var->name,
               position_of(l->fun, x->var), t == T_BOOL ? "b" : prim_type_text[t]);
}

/* Numbers of the launch by their names in the function. */
static const KExp *of_launch(void *env, const KExp *x)
{
    Launch *l = env;
    if (x->kind != KE_ID)
        return x;
    if (x->id != KID_GROUPS && x->id != KID_GROUP_SIZE)
        ice(l->fun->loc, "%s: the host does not know %s", l->fun->name, kid_info[x->id].word);
    bool groups = x->id == KID_GROUPS;
    KVar *v = NEW(l->cx->perm, KVar);
    *v = (KVar){.name = arena_printf(l->cx->perm, "%s[%d]", groups ? "groups" : "size", x->dim),
                .type = x->type};
    *(groups ? &l->groups : &l->size) = true;
    return kx_var(l->cx->perm, v);
}

/* The function's parameters that it has no use for, its variables, and what it returns. */
static void body_text(Launch *l, Out *o)
{
    const KExps *when = &l->fun->narrow_when;
    Out conds = {0};
    for (int i = 0; i < when->n; i++) {
        kexp_visit(when->at[i], name_scalar, l);
        const KExp *own = kexp_map(l->cx->perm, when->at[i], of_launch, l);
        out_printf(&conds, "%s%s", i ? " &&\n           " : "",
                   kir_exp_c(kir_narrow_condition(l->cx->perm, own)));
    }
    const struct {
        bool used;
        const char *name;
    } params[] = {{l->args, "args"}, {l->groups, "groups"}, {l->size, "size"}};
    for (int i = 0; i < 3; i++)
        if (!params[i].used)
            out_printf(o, "    (void)%s;\n", params[i].name);
    out_printf(o, "%s    return %s;\n", l->names.n ? l->names.text : "", conds.text);
    out_free(&conds);
    out_free(&l->names);
}

const char *narrow_name(Ctx *cx, const Kernel *k, int target)
{
    ASSERT(k->on[target]->narrow);
    if (k->on[target]->narrow_when.n == 0)
        return "NULL";
    return arena_printf(cx->perm, "narrow_%s%s%s", k->name, target ? "_" : "",
                        target ? ktargets[target].name : "");
}

void emit_narrow(Emit *em, const Kernel *k, int target)
{
    Launch l = {.cx = em->cx, .fun = k->on[target], .seen = ptrmap_new(em->cx->perm)};
    if (l.fun->narrow_when.n == 0)
        return;
    out_printf(em->o,
               "\nstatic bool %s(const rt_arg *args, const int64_t *groups,\n"
               "    const int64_t *size)\n{\n",
               narrow_name(em->cx, k, target));
    body_text(&l, em->o);
    out_puts(em->o, "}\n");
}
