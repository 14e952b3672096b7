/* What operations of a plan read and mention. */
#include "plan/plan.h"

#include "kir/walk.h"

const HostOpInfo hostop_info[N_HOSTOPS] = {
#define HOSTOP(TAG, word, has, may, traits, lines) {#TAG, word, has, may, traits, lines},
#include "plan/hostops.def"
#undef HOSTOP
};

unsigned op_members(const HostOp *op)
{
    return (op->text ? HM_TEXT : 0u) | (op->mem ? HM_MEM : 0u) | (op->mem2 ? HM_MEM2 : 0u) |
           (op->var ? HM_VAR : 0u) | (op->exp ? HM_EXP : 0u) | (op->exp2 ? HM_EXP2 : 0u) |
           (op->choice ? HM_CHOICE : 0u) | (op->suff ? HM_SUFF : 0u) | (op->ranks ? HM_RANKS : 0u) |
           (op->dims.n ? HM_DIMS : 0u) | (op->dst.mem ? HM_DST : 0u) | (op->src.mem ? HM_SRC : 0u) |
           (op->kernel ? HM_KERNEL : 0u) | (op->args.n ? HM_ARGS : 0u) |
           (op->then_.n || op->else_.n ? HM_SIDES : 0u) | (op->fits.n ? HM_FITS : 0u) |
           (op->numbers.n ? HM_NUMBERS : 0u) | (op->elems.n ? HM_ELEMS : 0u);
}

/* --- Inside ----------------------------------------------------------------------------------- */

HostOp op_alone(const HostOp *op)
{
    HostOp own = *op;
    own.then_ = own.else_ = (HostOps){0};
    return own;
}

void ops_visit(const HostOps *ops, void (*f)(void *env, HostOp *op), void *env)
{
    for (int i = 0; i < ops->n; i++) {
        f(env, ops->at[i]);
        ops_visit(&ops->at[i]->then_, f, env);
        ops_visit(&ops->at[i]->else_, f, env);
    }
}

static void add_traits(void *env, HostOp *op)
{
    *(unsigned *)env |= hostop_info[op->kind].traits;
}

bool ops_are(const HostOps *ops, unsigned traits)
{
    unsigned all = 0;
    ops_visit(ops, add_traits, &all);
    return (all & traits) != 0;
}

typedef struct {
    HostOpKind kind;
    bool found;
} Search;

static void find_kind(void *env, HostOp *op)
{
    Search *s = env;
    s->found |= op->kind == s->kind;
}

bool ops_have(const HostOps *ops, HostOpKind kind)
{
    Search s = {.kind = kind};
    ops_visit(ops, find_kind, &s);
    return s.found;
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
    if (op->ranks)
        free_in_exp(s, op->ranks);
    if (op->ranks && op->ranks->kind == E_ROWS) /* of so many rows, which its type says alone */
        use_type(s, atom_type(op->ranks->ranks.args.at[0]));
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

bool op_mentions(const HostOp *op, const Mem *m)
{
    if (op->mem == m || op->mem2 == m || op->dst.mem == m || op->src.mem == m)
        return true;
    for (int i = 0; i < op->args.n; i++)
        if (op->args.at[i].kind == KP_MEM && op->args.at[i].mem == m)
            return true;
    for (int i = 0; i < op->then_.n; i++)
        if (op_mentions(op->then_.at[i], m))
            return true;
    for (int i = 0; i < op->else_.n; i++)
        if (op_mentions(op->else_.at[i], m))
            return true;
    return false;
}
