/* What operations of a plan read and mention. */
#include "plan/plan.h"

#include "kir/walk.h"

bool ops_have(const HostOps *ops, HostOpKind kind)
{
    for (int i = 0; i < ops->n; i++)
        if (ops->at[i]->kind == kind || ops_have(&ops->at[i]->then_, kind) ||
            ops_have(&ops->at[i]->else_, kind))
            return true;
    return false;
}

/* --- Uses ------------------------------------------------------------------------------------- */

static void use_atom(VarSet *s, Atom a)
{
    if (a.var)
        varset_add(s, a.var);
}

static void use_atoms(VarSet *s, const Atoms *as)
{
    for (int i = 0; i < as->n; i++)
        use_atom(s, as->at[i]);
}

static void use_type(VarSet *s, Type t)
{
    for (int k = 0; k < t.rank; k++)
        use_atom(s, t.dims[k]);
}

void result_uses(VarSet *used, Atom a)
{
    use_atom(used, a);
    use_type(used, atom_type(a));
}

/* f of each expression as a whole; x may be NULL. */
typedef struct {
    void *env;
    void (*f)(void *env, const KExp *x);
} Visitor;

static void visit(const Visitor *v, const KExp *x)
{
    v->f(v->env, x);
}

static void visit_all(const Visitor *v, const KExps *xs)
{
    for (int i = 0; i < xs->n; i++)
        visit(v, xs->at[i]);
}

static void visit_loc(const Visitor *v, const ArrLoc *l, int rank)
{
    if (!l->mem)
        return;
    visit(v, l->at.offset);
    for (int k = 0; k < rank; k++)
        visit(v, l->at.strides[k]);
}

static void visit_op(const Visitor *v, const HostOp *op)
{
    visit(v, op->sx);
    visit(v, op->sx2);
    visit(v, op->exp);
    visit(v, op->exp2);
    visit_all(v, &op->numbers);
    visit_all(v, &op->elems);
    visit_loc(v, &op->dst, op->dims.n);
    visit_loc(v, &op->src, op->dims.n);
    for (int i = 0; i < op->args.n; i++) {
        visit(v, op->args.at[i].value);
        visit(v, op->args.at[i].bytes);
    }
    for (int d = 0; d < op->n_launch_dims; d++) {
        visit(v, op->groups[d]);
        visit(v, op->local[d]);
    }
    visit(v, op->bytes);
    visit(v, op->operations);
    for (int i = 0; i < op->fits.n; i++) {
        visit(v, op->fits.at[i].group_size);
        visit(v, op->fits.at[i].local_bytes);
    }
}

static void add_size(void *env, const KExp *x)
{
    bool *used = env;
    if (x->kind == KE_SIZE)
        used[x->fact] = true;
}

static void add_sizes(void *env, const KExp *x)
{
    kexp_visit(x, add_size, env);
}

void op_sizes(bool used[N_SIZES], const HostOp *op)
{
    Visitor v = {used, add_sizes};
    visit_op(&v, op);
    for (int i = 0; i < op->then_.n; i++)
        op_sizes(used, op->then_.at[i]);
    for (int i = 0; i < op->else_.n; i++)
        op_sizes(used, op->else_.at[i]);
}

static void add_hosts(void *env, const KExp *x)
{
    kexp_hosts(x, env);
}

void op_uses(VarSet *s, const HostOp *op)
{
    Visitor v = {s, add_hosts};
    visit_op(&v, op);
    if (op->suff)
        free_in_exp(s, op->suff);
    use_atoms(s, &op->dims);
    if (op->kind == H_LOOP && op->loop_kind == LOOP_WHILE)
        varset_add(s, op->var);
    for (int i = 0; i < op->then_.n; i++)
        op_uses(s, op->then_.at[i]);
    for (int i = 0; i < op->else_.n; i++)
        op_uses(s, op->else_.at[i]);
}

static void add_mem(Arena *a, Mems *out, Mem *m)
{
    if (m)
        vec_push(a, out, m);
}

void op_mems(Arena *a, Mems *out, const HostOp *op)
{
    add_mem(a, out, op->mem);
    add_mem(a, out, op->mem2);
    add_mem(a, out, op->dst.mem);
    add_mem(a, out, op->src.mem);
    for (int i = 0; i < op->args.n; i++)
        if (op->args.at[i].kind == KP_MEM)
            add_mem(a, out, op->args.at[i].mem);
}
