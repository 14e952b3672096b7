/* Plans as text, for people and for golden tests (--emit=plan). */
#include "plan/expr.h"

static void print_shape(Out *o, const Atoms *dims, PrimType t)
{
    for (int k = 0; k < dims->n; k++)
        out_printf(o, "[%s]", dims->at[k].var ? var_c_name(dims->at[k].var) : atom_c(dims->at[k]));
    out_puts(o, prim_type_text[t]);
}

static void print_arg(Out *o, const KParam *p)
{
    switch (p->kind) {
    case KP_FAILURE: out_puts(o, "failure"); return;
    case KP_MEM: out_puts(o, p->mem ? p->mem->name : "null"); return;
    case KP_SCALAR: out_puts(o, sx_c(p->value)); return;
    case KP_LOCAL: out_printf(o, "local %s", sx_c(p->bytes)); return;
    case KP_HEAP: out_puts(o, "heap"); return;
    }
}

static void print_launch(Out *o, const HostOp *op)
{
    out_printf(o, "%s groups (", op->kernel->name);
    for (int d = 0; d < op->n_launch_dims; d++)
        out_printf(o, "%s%s", d ? ", " : "", sx_c(op->groups[d]));
    out_puts(o, ") of (");
    for (int d = 0; d < op->n_launch_dims; d++)
        out_printf(o, "%s%s", d ? ", " : "", sx_c(op->local[d]));
    out_puts(o, "): ");
    bool first = true;
    for (int i = 0; i < op->args.n; i++) {
        if (op->args.at[i].kind == KP_FAILURE)
            continue;
        out_puts(o, first ? "" : ", ");
        print_arg(o, &op->args.at[i]);
        first = false;
    }
    if (op->bytes)
        out_printf(o, " -- %s bytes, %s operations", sx_c(op->bytes), sx_c(op->operations));
}

static void print_ops(Out *o, const HostOps *ops);

static void print_side(Out *o, const HostOps *ops)
{
    o->indent++;
    print_ops(o, ops);
    o->indent--;
}

static void print_if(Out *o, const HostOp *op)
{
    out_printf(o, "%s %s", op->guard ? "if guard" : "if", kir_exp_c(op->exp));
    for (int i = 0; i < op->fits.n; i++)
        out_printf(o, " and %s fits groups of %s, %s bytes", op->fits.at[i].kernel->name,
                   sx_c(op->fits.at[i].group_size), sx_c(op->fits.at[i].local_bytes));
    out_puts(o, " {\n");
    print_side(o, &op->then_);
    if (op->else_.n) {
        out_puts(o, "} else {\n");
        print_side(o, &op->else_);
    }
    out_puts(o, "}");
}

static void print_loop(Out *o, const HostOp *op)
{
    if (op->loop_kind == LOOP_WHILE)
        out_printf(o, "while %s", var_c_name(op->var));
    else
        out_printf(o, "for %s < %s", var_c_name(op->var), kir_exp_c(op->exp));
    if (op->threshold)
        out_printf(o, " in one launch unless %s", op->threshold);
    out_puts(o, " {\n");
    print_side(o, &op->then_);
    out_puts(o, "}");
}

static const char *value_c(const KExp *x)
{
    return sx_is_size(x) ? sx_c(x) : kir_exp_c(x);
}

static void print_suff(Out *o, const HostOp *op)
{
    const Exp *e = op->suff;
    out_printf(o, "%s := suff %s %s of %s", var_c_name(op->var), e->suff.name, atom_c(e->suff.par),
               atom_c(e->suff.work));
    if (e->suff.never)
        out_printf(o, " spares %s never: %s", atom_c(e->suff.spared), e->suff.never);
    else if (!atom_is_int(e->suff.steps, 0))
        out_printf(o, " spares %s %s %s", atom_c(e->suff.spared), atom_c(e->suff.steps),
                   atom_c(e->suff.elems));
    if (!atom_is_int(e->suff.units, 0))
        out_printf(o, " units %s", atom_c(e->suff.units));
    if (e->suff.balanced)
        out_puts(o, " balanced");
    if (e->suff.blocks)
        out_puts(o, " blocks");
}

static void print_ranks(Out *o, const HostOp *op)
{
    const Exp *e = op->ranks;
    out_printf(o, "%s := %s", var_c_name(op->var), form_info[e->kind].text);
    if (op->threshold)
        out_printf(o, " %s", op->threshold);
    for (int i = 0; i < e->ranks.args.n; i++)
        out_printf(o, " %s", atom_c(e->ranks.args.at[i]));
}

static void print_assert(Out *o, const HostOp *op)
{
    if (op->kind == H_LIMIT)
        out_printf(o, "%s <= RT_MAX_BYTES", sx_exact_c(op->exp));
    else
        out_puts(o, kir_exp_c(op->exp));
    out_printf(o, " else site %d (", op->site);
    for (int i = 0; i < op->numbers.n; i++)
        out_printf(o, "%s%s", i ? ", " : "", kir_exp_c(op->numbers.at[i]));
    out_puts(o, ")");
}

static void print_literal(Out *o, const HostOp *op)
{
    out_printf(o, "%s := {", op->mem->name);
    for (int i = 0; i < op->elems.n; i++)
        out_printf(o, "%s%s", i ? ", " : "", kir_exp_c(op->elems.at[i]));
    out_puts(o, "}");
}

static void print_recall(Out *o, const HostOp *op)
{
    out_printf(o, "%s := number %d", var_c_name(op->var), op->site);
    for (int updated = 0; updated < 2; updated++) {
        const char *before = updated ? " finds " : " of ";
        for (int i = 0; i < op->args.n; i++)
            if (op->args.at[i].updated == updated) {
                out_printf(o, "%s%s", before, op->args.at[i].mem->name);
                before = ", ";
            }
        for (int i = 0; !updated && i < op->numbers.n; i++)
            out_printf(o, ", %s", value_c(op->numbers.at[i]));
    }
}

static void print_op(Out *o, const HostOp *op)
{
    if (hostop_info[op->kind].word)
        out_printf(o, "%s ", hostop_info[op->kind].word);
    switch (op->kind) {
    case H_COMMENT: out_puts(o, op->text); break;
    case H_ALLOC:
        out_printf(o, "%s: %s bytes", op->mem->name, sx_c(op->exp));
        if (op->from != ALLOC_FRESH)
            out_printf(o, " of the %s", alloc_from_text[op->from]);
        break;
    case H_RELEASE: out_puts(o, op->mem->name); break;
    case H_ALIAS: out_printf(o, "%s := %s", op->mem->name, op->mem2->name); break;
    case H_EXP: out_printf(o, "%s := %s", var_c_name(op->var), value_c(op->exp)); break;
    case H_SET: out_printf(o, "%s := %s", var_c_name(op->var), kir_exp_c(op->exp)); break;
    case H_SUFF: print_suff(o, op); break;
    case H_RANKS: print_ranks(o, op); break;
    case H_ROWS:
        out_printf(o, "%s ", form_info[op->ranks->kind].text);
        print_shape(o, &op->dims, op->type);
        out_printf(o, " %s", op->dst.mem->name);
        for (int i = 1; i < op->ranks->ranks.args.n; i++)
            out_printf(o, " %s", atom_c(op->ranks->ranks.args.at[i]));
        if (op->src.mem)
            out_printf(o, " with %s of %s from %s on", sx_c(op->exp2), op->src.mem->name,
                       sx_c(op->exp));
        break;
    case H_CHOOSE:
        out_printf(o, "%s := choose %s: can %s, pays %s", var_c_name(op->var), op->choice->name,
                   sx_c(op->exp), sx_c(op->exp2));
        break;
    case H_READ:
        out_printf(o, "%s := %s[%s]", var_c_name(op->var), op->mem->name, sx_c(op->exp));
        break;
    case H_RECALL: print_recall(o, op); break;
    case H_WRITE:
        out_printf(o, "%s[%s] := %s", op->mem->name, sx_c(op->exp), kir_exp_c(op->exp2));
        break;
    case H_COPY:
        print_shape(o, &op->dims, op->type);
        out_puts(o, " ");
        mem_print_loc(o, &op->dst, op->dims.n);
        out_puts(o, " := ");
        mem_print_loc(o, &op->src, op->dims.n);
        break;
    case H_FILL:
        print_shape(o, &op->dims, op->type);
        out_printf(o, " %s := %s", op->dst.mem->name, kir_exp_c(op->exp));
        break;
    case H_IOTA:
        print_shape(o, &op->dims, op->type);
        out_printf(o, " %s := %s + i*%s", op->dst.mem->name, kir_exp_c(op->exp),
                   kir_exp_c(op->exp2));
        break;
    case H_LAUNCH: print_launch(o, op); break;
    case H_IF: print_if(o, op); break;
    case H_LOOP: print_loop(o, op); break;
    case H_ASSERT:
    case H_LIMIT: print_assert(o, op); break;
    case H_DECLARE: out_puts(o, var_c_name(op->var)); break;
    case H_LITERAL: print_literal(o, op); break;
    case N_HOSTOPS: break;
    }
    out_puts(o, "\n");
}

static void print_ops(Out *o, const HostOps *ops)
{
    for (int i = 0; i < ops->n; i++)
        print_op(o, ops->at[i]);
}

static void print_entry(Out *o, const EntryPlan *ep)
{
    const Entry *en = ep->entry;
    out_printf(o, "entry %s (", en->name);
    for (int k = 0; k < en->params.n; k++) {
        const Var *v = en->params.at[k];
        Atoms dims = {.at = v->type.dims, .n = v->type.rank};
        out_printf(o, "%s%s: ", k ? ", " : "",
                   v->type.rank ? ep->param_locs.at[k].mem->name : var_c_name(v));
        print_shape(o, &dims, v->type.elem);
    }
    out_puts(o, ") {\n");
    for (int k = 0; k < en->user_params.n; k++)
        out_printf(o, "    %s = tuning parameter %s\n", var_c_name(en->user_params.at[k].var),
                   en->user_params.at[k].name);
    print_side(o, &ep->ops);
    o->indent++;
    for (int i = 0; i < ep->results.n; i++) {
        Type t = atom_type(ep->results.at[i]);
        Atoms dims = {.at = t.dims, .n = t.rank};
        out_puts(o, "result ");
        print_shape(o, &dims, t.elem);
        out_printf(o, " %s\n",
                   t.rank ? ep->result_locs.at[i].mem->name : atom_c(ep->results.at[i]));
    }
    o->indent--;
    out_puts(o, "}\n");
}

void plan_print(Out *o, const Plan *p)
{
    for (int i = 0; i < p->kernels.n; i++) {
        const Kernel *k = p->kernels.at[i];
        out_printf(o, "kernel %s", k->name);
        if (k->what)
            out_printf(o, " -- %s", k->what);
        out_puts(o, "\n");
    }
    for (int i = 0; i < p->sites.n; i++)
        out_printf(o, "site %d \"%s\"\n", i, p->sites.at[i].msg);
    for (int i = 0; i < p->entries.n; i++)
        print_entry(o, p->entries.at[i]);
}
