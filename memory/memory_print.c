/* The text of --emit=memory: the arrays of the host level, statement by statement, each with the
 * block and the index function where it lies. Scalar code and what happens inside constructs is
 * left out. */
#include "memory/memory.h"

void mem_print_loc(Out *o, const ArrLoc *l, int rank)
{
    bool zero = sx_is_const(l->at.offset, 0);
    out_printf(o, "%s[", l->mem->name);
    if (!zero || rank == 0)
        out_puts(o, sx_c(l->at.offset));
    for (int k = 0; k < rank; k++) {
        const char *i = sx_is_const(l->at.strides[k], 1) ? "" : sx_c_factor(l->at.strides[k]);
        out_printf(o, "%si%d%s%s", k > 0 || !zero ? " + " : "", k, *i ? "*" : "", i);
    }
    out_puts(o, "]");
}

static void print_array(Out *o, const EntryMemory *em, const Var *v)
{
    const ArrLoc *l = varmap_get(em->locs, v);
    out_printf(o, "%s: %s @ ", var_text(v), type_text(v->type));
    mem_print_loc(o, l, v->type.rank);
    if (l->mem->borrowed)
        out_puts(o, " read-only");
}

static void print_arrays(Out *o, const EntryMemory *em, const Vars *vs)
{
    const char *sep = "";
    for (int i = 0; i < vs->n; i++)
        if (vs->at[i]->type.rank > 0) {
            out_puts(o, sep);
            print_array(o, em, vs->at[i]);
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

static void print_body(Out *o, const EntryMemory *em, const Body *b, const char *passes);

static void print_loop(Out *o, const EntryMemory *em, const Exp *e)
{
    out_puts(o, "loop\n");
    o->indent += 2;
    for (int i = 0; i < e->loop.params.n; i++)
        if (e->loop.params.at[i]->type.rank > 0) {
            print_array(o, em, e->loop.params.at[i]);
            out_printf(o, " := %s\n", atom_text(e->loop.inits.at[i]));
        }
    o->indent -= 2;
    out_puts(o, "do ");
    print_body(o, em, e->loop.body, "next");
}

static void print_exp(Out *o, const EntryMemory *em, const Exp *e)
{
    if (exp_is_seg(e)) {
        out_printf(o, "%s^%d %s\n", form_info[e->kind].text, e->seg.level, nest_text(&e->seg.nest));
    } else if (exp_is_soac(e)) {
        out_printf(o, "%s by one work-item\n", form_info[e->kind].text);
    } else if (e->kind == E_IF) {
        out_printf(o, "if %s then ", atom_text(e->branch.test));
        print_body(o, em, e->branch.then_, "gives");
        out_puts(o, "else ");
        print_body(o, em, e->branch.else_, "gives");
    } else if (e->kind == E_LOOP) {
        print_loop(o, em, e);
    } else {
        ir_print_exp(o, e);
        out_puts(o, "\n");
    }
}

/* Scalars only: printed for what is inside. */
static bool is_control(const Exp *e)
{
    return e->kind == E_IF || e->kind == E_LOOP;
}

static void print_body(Out *o, const EntryMemory *em, const Body *b, const char *passes)
{
    out_puts(o, "{\n");
    o->indent++;
    for (int i = 0; i < b->stms.n; i++) {
        const Stm *s = &b->stms.at[i];
        if (has_array(&s->pat)) {
            print_arrays(o, em, &s->pat);
            out_puts(o, " = ");
            print_exp(o, em, s->exp);
        } else if (exp_is_seg(s->exp) || is_control(s->exp)) {
            print_exp(o, em, s->exp);
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
        out_printf(o, "%sentry %s (", i ? "\n" : "", en->name);
        print_arrays(o, &m->entries.at[i], &en->params);
        out_puts(o, ") ");
        print_body(o, &m->entries.at[i], en->body, "gives");
    }
}
