/* Operations of a plan, appended one by one (plan_build.h). */
#include "plan/plan_build.h"
#include "ir/ranges.h"

PlanBuild pb_piece(const PlanBuild *around, HostOps *ops)
{
    PlanBuild piece = *around;
    piece.ops = ops;
    piece.branch = NULL;
    return piece;
}

void pb_splice(PlanBuild *pb, const PlanBuild *piece)
{
    ASSERT(!piece->branch);
    vec_append(pb->cx->perm, pb->ops, piece->ops);
    pb->n_mems = piece->n_mems;
}

/* --- What is known ------------------------------------------------------------------------- */

const ArrLoc *pb_loc(const PlanBuild *pb, const Var *arr)
{
    const ArrLoc *l = varmap_get(pb->locs, arr);
    if (!l)
        ice(arr->loc, "array %s has no memory", var_text(arr));
    return l;
}

void pb_know_sizes(const PlanBuild *pb, Ranges *ra)
{
    const Vars *sizes = &pb->entry->sizes;
    for (int i = 0; i < sizes->n; i++) {
        Atom n = atom_var(sizes->at[i]);
        ranges_given(ra, (Type){T_I64, 1, &n});
    }
}

/* --- Operations ---------------------------------------------------------------------------- */

static HostOp *append(PlanBuild *pb, HostOp op)
{
    HostOp *p = NEW(pb->cx->perm, HostOp);
    *p = op;
    vec_push(pb->cx->perm, pb->ops, p);
    return p;
}

void pb_op(PlanBuild *pb, HostOp op)
{
    append(pb, op);
}

Mem *pb_mem(PlanBuild *pb, const char *base)
{
    return mem_new(pb->cx, base, pb->n_mems++);
}

void pb_alloc_mem(PlanBuild *pb, Mem *m, const KExp *bytes)
{
    int site = plan_site(pb->plan, pb->at, "out of device memory");
    pb_op(pb, (HostOp){.kind = H_ALLOC, .loc = pb->at, .mem = m, .exp = bytes, .site = site});
}

void pb_alloc_shared(PlanBuild *pb, Mem *m, const KExp *bytes, AllocFrom from)
{
    pb_alloc_mem(pb, m, bytes);
    vec_last(pb->ops)->from = from;
}

Mem *pb_alloc(PlanBuild *pb, const char *base, const KExp *bytes)
{
    Mem *m = pb_mem(pb, base);
    pb_alloc_mem(pb, m, bytes);
    return m;
}

const KExp *pb_let(PlanBuild *pb, const char *base, const KExp *value)
{
    if (value->kind == KE_CONST || value->kind == KE_HOST)
        return value;
    Var *v = var_new(pb->cx, base, type_prim(T_I64), (Loc){0});
    pb_op(pb, (HostOp){.kind = H_EXP, .var = v, .exp = value});
    return sx_var(pb->cx, v);
}

struct OpenBranch {
    HostOp *op;
    HostOps *outer;
    OpenBranch *around;
};

/* What follows is done where test is true. */
static void open_branch(PlanBuild *pb, Var *test)
{
    HostOp *op = append(pb, (HostOp){.kind = H_IF, .exp = kx_host(pb->cx->perm, test)});
    OpenBranch *b = NEW(pb->cx->perm, OpenBranch);
    *b = (OpenBranch){op, pb->ops, pb->branch};
    pb->branch = b;
    pb->ops = &op->then_;
}

void pb_if_more(PlanBuild *pb, const KExp *a, int64_t than)
{
    const KExp *val = pb_let(pb, "n", a);
    Arena *arena = pb->cx->perm;
    Var *test = var_new(pb->cx, "test", type_prim(T_BOOL), (Loc){0});
    const KExp *more = kx_prim2(arena, OP_LT, kx_int(arena, than), val);
    pb_op(pb, (HostOp){.kind = H_EXP, .var = test, .exp = more});
    open_branch(pb, test);
}

/* --- What is found once ------------------------------------------------------------------- */

void pb_recall_begin(PlanBuild *pb, Recall *r)
{
    *r = (Recall){.outer = pb->ops};
    pb->ops = &r->inside;
}

static bool among(const Mems *ms, const Mem *m)
{
    for (int i = 0; i < ms->n; i++)
        if (ms->at[i] == m)
            return true;
    return false;
}

static void add_arg(Arena *a, HostOp *op, Mem *m, bool updated)
{
    vec_push(a, &op->args, ((KParam){.kind = KP_MEM, .mem = m, .updated = updated}));
}

typedef struct {
    Arena *scratch;
    Mems mentioned, own; /* `own`: what begins inside */
    VarSet *set;
} Inside;

static void look_inside(void *env, HostOp *op)
{
    Inside *in = env;
    if (op->var)
        varset_add(in->set, op->var);
    if (op_is(op, HO_GIVES))
        vec_push(in->scratch, &in->own, op->mem);
    op_mems(in->scratch, &in->mentioned, op);
}

/* Is it an argument's, which the entry does not change? */
static bool is_argument(const PlanBuild *pb, const Mem *m)
{
    const Entry *e = pb->entry;
    int at = 0;
    for (int i = 0; i < e->ext_params.n; at += e->ext_params.at[i++].type.n_vals)
        for (int k = at; k < at + e->ext_params.at[i].type.n_vals; k++)
            if (e->params.at[k]->type.rank > 0 && pb_loc(pb, e->params.at[k])->mem == m)
                return !e->ext_params.at[i].unique;
    return false;
}

/* The blocks that the operations read. False if one is no argument. */
static bool put_blocks(const PlanBuild *pb, const Inside *in, const Mems *found, HostOp *op)
{
    Mems seen = {0};
    for (int i = 0; i < in->mentioned.n; i++) {
        Mem *m = in->mentioned.at[i];
        if (among(&in->own, m) || among(found, m) || among(&seen, m))
            continue;
        if (!is_argument(pb, m))
            return false;
        vec_push(in->scratch, &seen, m);
        add_arg(pb->cx->perm, op, m, false);
    }
    return seen.n > 0;
}

/* The numbers that they read: variables, and sizes of the device. False if one is no integer. */
static bool put_numbers(Ctx *cx, const Inside *in, const HostOps *ops, HostOp *op)
{
    VarSet *used = varmap_new(in->scratch);
    bool sizes[N_SIZES] = {false};
    for (int i = 0; i < ops->n; i++) {
        op_uses(used, ops->at[i]);
        op_sizes(sizes, ops->at[i]);
    }
    Vars list = varset_list(in->scratch, used);
    for (int i = 0; i < list.n; i++) {
        Var *v = list.at[i];
        if (varset_has(in->set, v))
            continue;
        if (v->type.rank > 0 || !prim_is_int(v->type.elem))
            return false;
        vec_push(cx->perm, &op->numbers, kx_host(cx->perm, v));
    }
    for (int id = 0; id < N_SIZES; id++)
        if (sizes[id])
            vec_push(cx->perm, &op->numbers, sx_size(cx, (SizeId)id));
    return true;
}

void pb_recall_end(PlanBuild *pb, Recall *r, const Mems *found)
{
    Ctx *cx = pb->cx;
    ArenaMark mark = arena_mark(cx->scratch);
    Inside in = {.scratch = cx->scratch, .set = varmap_new(cx->scratch)};
    HostOp op = {.kind = H_RECALL, .loc = pb->at};
    pb->ops = r->outer;
    ops_visit(&r->inside, look_inside, &in);
    if (put_blocks(pb, &in, found, &op) && put_numbers(cx, &in, &r->inside, &op)) {
        for (int i = 0; i < found->n; i++)
            add_arg(cx->perm, &op, found->at[i], true);
        op.var = var_new(cx, "unknown", type_prim(T_BOOL), (Loc){0});
        op.site = pb->plan->n_recalls++;
        pb_op(pb, op);
        HostOp *branch = append(pb, (HostOp){.kind = H_IF, .exp = kx_host(cx->perm, op.var)});
        branch->then_ = r->inside;
    } else {
        vec_append(cx->perm, pb->ops, &r->inside);
    }
    arena_reset(cx->scratch, mark);
}

/* --- Choices ------------------------------------------------------------------------------ */

void pb_choose(PlanBuild *pb, const char *kind, const KExp *can, const KExp *pays, const char *when)
{
    Choice *c = NEW(pb->cx->perm, Choice);
    *c = (Choice){.kind = kind, .pays = when, .loc = pb->at, .entry = pb->entry};
    Var *test = var_new(pb->cx, "takes", type_prim(T_BOOL), (Loc){0});
    pb_op(pb,
          (HostOp){
              .kind = H_CHOOSE, .loc = pb->at, .var = test, .exp = can, .exp2 = pays, .choice = c});
    open_branch(pb, test);
}

void pb_if_fits(PlanBuild *pb, Fit fit)
{
    vec_push(pb->cx->perm, &pb->branch->op->fits, fit);
}

void pb_else(PlanBuild *pb)
{
    pb->ops = &pb->branch->op->else_;
}

void pb_end(PlanBuild *pb)
{
    pb->ops = pb->branch->outer;
    pb->branch = pb->branch->around;
}
