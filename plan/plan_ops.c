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

typedef struct {
    void *env;
    void (*f)(void *env, const Sx *a);
} SxVisitor;

static void visit_sx(const SxVisitor *v, const Sx *a)
{
    if (a)
        v->f(v->env, a);
}

static void visit_loc(const SxVisitor *v, const ArrLoc *l, int rank)
{
    if (!l->mem)
        return;
    visit_sx(v, l->at.offset);
    for (int k = 0; k < rank; k++)
        visit_sx(v, l->at.strides[k]);
}

static void visit_op(const SxVisitor *v, const HostOp *op)
{
    visit_sx(v, op->sx);
    visit_sx(v, op->sx2);
    visit_loc(v, &op->dst, op->dims.n);
    visit_loc(v, &op->src, op->dims.n);
    for (int i = 0; i < op->args.n; i++) {
        visit_sx(v, op->args.at[i].value);
        visit_sx(v, op->args.at[i].bytes);
    }
    for (int d = 0; d < op->n_launch_dims; d++) {
        visit_sx(v, op->groups[d]);
        visit_sx(v, op->local[d]);
    }
    visit_sx(v, op->bytes);
    visit_sx(v, op->operations);
    for (int i = 0; i < op->fits.n; i++) {
        visit_sx(v, op->fits.at[i].group_size);
        visit_sx(v, op->fits.at[i].local_bytes);
    }
}

static void add_size(void *env, const Sx *x)
{
    bool *used = env;
    if (x->kind == KE_SIZE)
        used[x->fact] = true;
}

static void add_sizes(void *env, const Sx *a)
{
    sx_leaves(a, add_size, env);
}

void op_sizes(bool used[N_SIZES], const HostOp *op)
{
    SxVisitor v = {used, add_sizes};
    visit_op(&v, op);
    for (int i = 0; i < op->then_.n; i++)
        op_sizes(used, op->then_.at[i]);
    for (int i = 0; i < op->else_.n; i++)
        op_sizes(used, op->else_.at[i]);
}

static void add_vars(void *env, const Sx *a)
{
    sx_vars(a, env);
}

static void add_host(void *env, const KExp *x)
{
    if (x->kind == KE_HOST)
        varset_add(env, x->host);
}

static void use_exps(VarSet *s, const KExps *xs)
{
    for (int i = 0; i < xs->n; i++)
        kexp_visit(xs->at[i], add_host, s);
}

void op_uses(VarSet *s, const HostOp *op)
{
    SxVisitor v = {s, add_vars};
    visit_op(&v, op);
    if (op->suff)
        free_in_exp(s, op->suff);
    kexp_visit(op->exp, add_host, s);
    kexp_visit(op->exp2, add_host, s);
    use_exps(s, &op->numbers);
    use_exps(s, &op->elems);
    use_atoms(s, &op->dims);
    for (int i = 0; i < op->args.n; i++)
        if (op->args.at[i].kind == KP_SCALAR && !op->args.at[i].value)
            kexp_visit(op->args.at[i].exp, add_host, s);
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
