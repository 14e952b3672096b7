/* The text of --emit=memory: the arrays of the host level and those that work-groups make,
 * statement by statement, each with the block and the index function where it lies. Scalar code is
 * left out, and what single work-items do. */
#include "memory/memory.h"

void mem_print_loc(Out *o, const ArrLoc *l, int rank)
{
    bool zero = kx_is_int(l->at.offset, 0);
    out_printf(o, "%s[", l->mem->computed ? "computed" : l->mem->name);
    if (!zero || rank == 0)
        out_puts(o, sx_c(l->at.offset));
    for (int k = 0; k < rank; k++) {
        const char *i = kx_is_int(l->at.strides[k], 1) ? "" : sx_c_factor(l->at.strides[k]);
        out_printf(o, "%si%d%s%s", k > 0 || !zero ? " + " : "", k, *i ? "*" : "", i);
    }
    out_puts(o, "]");
}

typedef struct {
    Out *o;
    const EntryMemory *em;
    bool group; /* inside of a construct that work-groups run */
} Printer;

static void print_array(const Printer *p, const Var *v)
{
    const ArrLoc *l = varmap_get(p->em->locs, v);
    const ArrMade *m = varmap_get(p->em->made, v);
    out_printf(p->o, "%s: %s @ ", var_text(v), type_text(v->type));
    mem_print_loc(p->o, l, v->type.rank);
    if (l->mem->borrowed && !l->mem->computed)
        out_puts(p->o, " read-only");
    if (m && m->own)
        out_printf(p->o, " local, %s elements", sx_c(l->mem->elems));
}

static void print_arrays(const Printer *p, const Vars *vs)
{
    const char *sep = "";
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i]->type.rank > 0) {
            out_puts(p->o, sep);
            print_array(p, vs->at[i]);
            sep = ",\n    ";
        }
}

static bool has_array(const Vars *vs)
{
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i]->type.rank > 0)
            return true;
    return false;
}

static void print_body(const Printer *p, const Body *b, const char *passes);

static void print_loop(const Printer *p, const Exp *e)
{
    out_puts(p->o, "loop\n");
    p->o->indent += 2;
    for (int i = 0; i < e->loop.params.n; i++)
        if (e->loop.params.at[i]->type.rank > 0) {
            print_array(p, e->loop.params.at[i]);
            out_printf(p->o, " := %s\n", atom_text(e->loop.inits.at[i]));
        }
    p->o->indent -= 2;
    out_puts(p->o, "do ");
    print_body(p, e->loop.body, "next");
}

static void print_seg(const Printer *p, const Exp *e)
{
    Out *o = p->o;
    const char *nest = nest_text(&e->seg.nest);
    bool group = e->seg.level == 1 && varset_has(p->em->groups, e->seg.nest.at[0].idx);
    out_printf(o, "%s^%d %s%s", form_info[e->kind].text, e->seg.level, nest, group ? " " : "\n");
    if (group)
        print_body(&(Printer){o, p->em, true}, e->seg.body, "gives");
}

/* Level-0 constructs inside, once for each element. */
static void print_soac(const Printer *p, const Exp *e)
{
    out_printf(p->o, "%s by the group ", form_info[e->kind].text);
    if (e->soac.fn)
        print_body(p, e->soac.fn->body, "gives");
    if (e->soac.op)
        print_body(p, e->soac.op->body, "combines to");
}

static void print_exp(const Printer *p, const Exp *e)
{
    Out *o = p->o;
    bool one = p->group ? exp_is(e, F_CODE) && !exp_has_seg(e) : exp_is_soac(e);
    if (exp_is_seg(e)) {
        print_seg(p, e);
    } else if (one) {
        out_printf(o, "%s by one work-item\n", form_info[e->kind].text);
    } else if (exp_is_soac(e)) {
        print_soac(p, e);
    } else if (e->kind == E_IF) {
        out_printf(o, "if %s then ", atom_text(e->branch.test));
        print_body(p, e->branch.then_, "gives");
        out_puts(o, "else ");
        print_body(p, e->branch.else_, "gives");
    } else if (e->kind == E_LOOP) {
        print_loop(p, e);
    } else {
        ir_print_exp(o, e);
        out_puts(o, "\n");
    }
}

/* Scalars only: printed for what is inside. */
static bool is_control(const Printer *p, const Exp *e)
{
    return exp_is_seg(e) || (p->group ? exp_has_seg(e) : e->kind == E_IF || e->kind == E_LOOP);
}

static void print_body(const Printer *p, const Body *b, const char *passes)
{
    Out *o = p->o;
    out_puts(o, "{\n");
    o->indent++;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (has_array(&s->pat)) {
            print_arrays(p, &s->pat);
            out_puts(o, " = ");
            print_exp(p, s->exp);
        } else if (is_control(p, s->exp)) {
            print_exp(p, s->exp);
        }
    }
    out_puts(o, passes);
    for (int i = 0; i < b->res.n; i++)
        out_printf(o, "%s %s", i ? "," : "", atom_text(b->res.at[i]));
    out_puts(o, "\n");
    o->indent--;
    out_puts(o, "}\n");
}

void mem_print(Out *o, const Memory *m)
{
    for (int i = 0; i < m->prog->entries.n; i++) {
        const Entry *en = &m->prog->entries.at[i];
        const Printer p = {o, &m->entries.at[i], false};
        out_printf(o, "%sentry %s (", i ? "\n" : "", en->name);
        print_arrays(&p, &en->params);
        out_puts(o, ") ");
        print_body(&p, en->body, "gives");
    }
}
