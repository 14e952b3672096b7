/* Loops, and the values that they carry from one iteration to the next.
 *
 * A scalar is a variable. An array whose next value is made by updating it in place keeps its
 * memory. Any other array has two buffers: an iteration reads one and builds the next value in the
 * other, then they change roles. */
#include "codegen/kernel.h"

/* A loop with an array carried in place whose initial value is not ours to write starts with a
 * copy. */
static void begin_in_place(KGen *kg, Carry *c, Atom init, const Var *pat, bool updated)
{
    const KLoc *l = kg_arr(kg, init.var);
    if (!updated || l->fresh) {
        c->cur = *l;
    } else {
        c->cur = kg_alloc(kg, pat, init.var->type);
        kg_copy(kg, &c->cur, l, init.var->type);
    }
    c->next = c->cur;
}

/* Two buffers. Small private arrays are copied back after each iteration, so that they can stay in
 * registers; otherwise the buffers lie side by side and two variables tell which is which. */
static void begin_buffers(KGen *kg, Carry *c, Atom init)
{
    Ctx *cx = kg->cx;
    Type t = c->param->type;
    const KLoc *from = kg_arr(kg, init.var);
    c->buffers = true;
    if (kg_is_private(kg, t)) {
        c->cur = kg_alloc(kg, NULL, t);
        c->next = kg_alloc(kg, NULL, t);
        kg_copy(kg, &c->cur, from, init.var->type);
        return;
    }
    KLoc both = kg_alloc(kg, NULL, type_array(cx, t, atom_i64(2)));
    c->swaps = true;
    c->cur = loc_row(kg, &both, t.rank + 1, sx_const(cx, 0));
    c->next = loc_row(kg, &both, t.rank + 1, sx_const(cx, 1));
    kg_copy(kg, &c->cur, from, init.var->type);
    const char *cur = kg_name(kg, "cur"), *next = kg_name(kg, "next");
    kg_line(kg, "i64 %s = %s, %s = %s;", cur, sx_c(c->cur.offset), next, sx_c(c->next.offset));
    c->cur.offset = sx_text(cx, cur);
    c->next.offset = sx_text(cx, next);
}

static void begin_one(KGen *kg, Carry *c, const Var *param, Atom init, const Body *b, Atom res,
                      const Var *pat)
{
    c->param = param;
    if (param->type.rank == 0) {
        kg_decl(kg, param, kg_atom_c(kg, init));
        return;
    }
    c->array = true;
    bool updated = false;
    if (place_root(b, res.var, &updated) == param)
        begin_in_place(kg, c, init, pat, updated);
    else
        begin_buffers(kg, c, init);
    kg_bind_arr(kg, param, c->cur);
}

Carry *carry_begin(KGen *kg, const Vars *params, int n, const Atoms *inits, const Body *b,
                   const Atom *res, Var *const *pats)
{
    Carry *c = NEWN(kg->cx->perm, Carry, n);
    for (int pass = 0; pass < 2; pass++) /* scalars first: sizes of the arrays */
        for (int i = 0; i < n; i++)
            if ((params->at[i]->type.rank > 0) == (pass == 1))
                begin_one(kg, &c[i], params->at[i], inits->at[i], b, res[i], pats ? pats[i] : NULL);
    return c;
}

void carry_hint(KGen *kg, Carry *c, int n, const Body *b, const Atom *res)
{
    for (int i = 0; i < n; i++)
        if (c[i].buffers)
            place_hint(kg, b, res[i], c[i].next);
}

void carry_step(KGen *kg, Carry *c, int n, const Atom *res)
{
    for (int i = 0; i < n; i++) /* while all params still have their old values */
        if (c[i].array)
            kg_copy(kg, &c[i].next, kg_arr(kg, res[i].var), res[i].var->type);
    const char **tmp = NEWN(kg->cx->perm, const char *, n);
    for (int i = 0; i < n; i++) {
        if (c[i].array || res[i].var == c[i].param)
            continue;
        tmp[i] = kg_atom_c(kg, res[i]);
        for (int j = 0; j < n; j++) {
            if (j == i || res[i].var != c[j].param)
                continue;
            const char *name = kg_name(kg, "old");
            kg_line(kg, "const %s %s = %s;", ctype_c(c[i].param->type.elem), name, tmp[i]);
            tmp[i] = name;
            break;
        }
    }
    for (int i = 0; i < n; i++) {
        if (tmp[i])
            kg_line(kg, "%s = %s;", var_c_name(c[i].param), tmp[i]);
        if (c[i].swaps) {
            const char *cur = sx_c(c[i].cur.offset), *next = sx_c(c[i].next.offset);
            const char *t = kg_name(kg, "t");
            kg_line(kg, "const i64 %s = %s;", t, cur);
            kg_line(kg, "%s = %s;", cur, next);
            kg_line(kg, "%s = %s;", next, t);
        } else if (c[i].buffers) {
            kg_copy(kg, &c[i].cur, &c[i].next, c[i].param->type);
        }
    }
}

void carry_end(KGen *kg, Carry *c, int n, Var *const *pats)
{
    for (int i = 0; i < n; i++) {
        if (c[i].array)
            kg_bind_arr(kg, pats[i], c[i].cur);
        else
            kg_decl(kg, pats[i], var_c_name(c[i].param));
    }
}

void kg_loop(KGen *kg, const Stm *s)
{
    const Exp *e = s->exp;
    int n = e->loop.params.n;
    const Body *b = e->loop.body;
    Carry *c = carry_begin(kg, &e->loop.params, n, &e->loop.inits, b, b->res.at, s->pat.at);
    kg_touch(kg);
    if (e->loop.kind == LOOP_FOR) {
        const char *i = kg_bind(kg, e->loop.i);
        varset_add(kg->indices, e->loop.i);
        const Sx *bound = e->loop.i->type.elem == T_I64 ? kg_bound(kg, e->loop.bound) : NULL;
        if (bound)
            varmap_put(kg->bounds, e->loop.i, sx_sub(kg->cx, bound, sx_const(kg->cx, 1)));
        if (e->attrs & ATTR_UNROLL)
            kg_line(kg, "#pragma unroll");
        kg_open(kg, "for (%s %s = 0; %s < %s; %s++)", ctype_c(e->loop.i->type.elem), i, i,
                kg_atom_c(kg, e->loop.bound), i);
    } else {
        kg->guard = true;
        kg_open(kg, "while (%s)", var_c_name(e->loop.cond));
    }
    carry_hint(kg, c, n, b, b->res.at);
    kg_stms(kg, b);
    carry_step(kg, c, n, b->res.at);
    kg_close(kg);
    kg_touch(kg);
    carry_end(kg, c, n, s->pat.at);
}
