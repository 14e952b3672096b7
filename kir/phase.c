/* Phases (phase.h): a copy of the kernel's statements, in which a turn of a loop over the groups of
 * its launch stands for the group. */
#include "kir/phase.h"

#include "kir/walk.h"

enum { DIMS = 3 };

/* --- Failures --------------------------------------------------------------------------------- */

static KVar *stopped(KBuild *b)
{
    if (b->stopped)
        return b->stopped;
    KVar *v = b->stopped = kb_var_new(b, "stopped", ktype(T_BOOL));
    v->mutable_ = true;
    kb_insert(b, (KPlace){&b->fun->body, 0},
              (KStm){.kind = KST_VAR, .var = v, .x = {kx_id(b->arena, KID_FAILED_BEFORE)}});
    return v;
}

const KExp *kb_stopped(KBuild *b)
{
    return kx_var(b->arena, stopped(b));
}

void kb_meet_grid(KBuild *b)
{
    KVar *all = stopped(b), *now = kb_var_new(b, "failed", ktype(T_BOOL));
    kb_stm(b, (KStm){.kind = KST_GRID_BARRIER, .var = now});
    kb_set(b, all, kx_or(b->arena, kx_var(b->arena, all), kx_var(b->arena, now)));
}

/* --- What can be a phase ---------------------------------------------------------------------- */

static void find_dims(void *found, const KExp *x)
{
    if (x->kind == KE_ID && (x->id == KID_LOCAL || x->id == KID_GROUP_SIZE) && x->dim > 0)
        *(bool *)found = true;
}

static bool find_dims_stm(void *found, KStm *s)
{
    kstm_visit_exps(s, find_dims, found);
    return true;
}

static const char *wrong_arg(const KFormal *f, const KPhaseArg *arg)
{
    switch (f->kind) {
    case KP_FAILURE: return NULL;
    case KP_HEAP: return "its work-items have a heap";
    case KP_SCALAR:
        return arg->value && arg->value->type.elem == f->var->type.elem
                   ? NULL
                   : "a scalar of another type";
    case KP_MEM:
    case KP_LOCAL:
        if (!arg->buf || arg->buf->elem != f->buf->elem || arg->buf->space != f->buf->space)
            return "a buffer of another type";
        return arg->offset && f->kind == KP_LOCAL ? "a part of a local buffer" : NULL;
    }
    return "no kind of parameter";
}

static const char *why_not(const KPhase *p)
{
    bool dims = false;
    for (int i = 0; i < p->fun->params.n; i++) {
        const char *why = wrong_arg(&p->fun->params.at[i], &p->args[i]);
        if (why)
            return why;
    }
    kblock_visit(&p->fun->body, &(KVisitor){.env = &dims, .enter = find_dims_stm});
    if (dims)
        return "its groups have more than one dimension";
    return kblock_has(&p->fun->body, KST_GRID_BARRIER) ? "its groups meet" : NULL;
}

/* --- The copy --------------------------------------------------------------------------------- */

typedef struct {
    KBuild *b;
    PtrMap *args;             /* KBuf of the kernel -> KPhaseArg */
    const KExp *group[DIMS];  /* that is worked on */
    const KExp *groups[DIMS]; /* of the launch */
} Splice;

static const KExp *own_id(void *env, const KExp *x)
{
    const Splice *s = env;
    Arena *a = s->b->arena;
    if (x->kind != KE_ID)
        return x;
    switch (x->id) {
    case KID_GROUP: return s->group[x->dim];
    case KID_GROUPS: return s->groups[x->dim];
    case KID_GRID_SIZE: return kx_mul(a, s->groups[x->dim], kx_id_dim(a, KID_GROUP_SIZE, x->dim));
    case KID_FAILED_BEFORE: return kx_bool(a, false); /* or the phase were left out */
    case KID_LOCAL:
    case KID_GROUP_SIZE:
    case KID_LANE:
    case KID_LANES:
    case KID_ATOMIC64:
    case KID_TEAMS:
    case KID_COALESCES:
    case N_KIDS: break;
    }
    return x;
}

/* A VIEW of an argument begins so many bytes later. */
static void splice_view(const Splice *p, KStm *s)
{
    Arena *a = p->b->arena;
    const KPhaseArg *arg = ptrmap_get(p->args, s->buf->of);
    if (!arg)
        return;
    s->buf->of = arg->buf;
    if (!arg->offset)
        return;
    const KExp *bytes = kx_mul(a, arg->offset, kx_int(a, prim_type_bytes[arg->buf->elem]));
    s->x[0] = s->x[0] ? kx_add(a, bytes, s->x[0]) : bytes;
}

static bool splice_stm(void *env, KStm *s)
{
    const Splice *p = env;
    if (s->kind == KST_VIEW) {
        splice_view(p, s);
        return true;
    }
    const KPhaseArg *arg = s->buf ? ptrmap_get(p->args, s->buf) : NULL;
    if (arg)
        s->buf = arg->buf;
    if (arg && arg->offset && s->x[0])
        s->x[0] = kx_add(p->b->arena, arg->offset, s->x[0]);
    return true;
}

static PtrMap *bind_scalars(KBuild *b, const KPhase *p)
{
    PtrMap *to = ptrmap_new(b->arena);
    for (int i = 0; i < p->fun->params.n; i++) {
        const KFormal *f = &p->fun->params.at[i];
        if (f->kind == KP_SCALAR)
            ptrmap_put(to, f->var, (void *)(uintptr_t)kb_let(b, f->var->name, p->args[i].value));
    }
    return to;
}

static void bind_buffers(Splice *s, const KPhase *p)
{
    s->args = ptrmap_new(s->b->arena);
    for (int i = 0; i < p->fun->params.n; i++) {
        KPhaseArg *arg = arena_memdup(s->b->arena, &p->args[i], sizeof *arg);
        if (arg->buf && arg->offset)
            arg->offset = kb_let(s->b, "from", arg->offset);
        if (p->fun->params.at[i].buf)
            ptrmap_put(s->args, p->fun->params.at[i].buf, arg);
    }
}

/* Opens the loop over the groups of the launch. */
static void open_groups(Splice *s, const KPhase *p)
{
    KBuild *b = s->b;
    Arena *a = b->arena;
    const KExp *all = kx_int(a, 1);
    for (int d = 0; d < DIMS; d++) {
        s->groups[d] = p->groups[d] ? kb_let(b, "groups", p->groups[d]) : kx_int(a, 1);
        all = kx_mul(a, all, s->groups[d]);
    }
    const KExp *v =
        kb_for(b, "group", kx_id(a, KID_GROUP), kb_let(b, "groups", all), kx_id(a, KID_GROUPS));
    const KExp *rest = v;
    for (int d = 0; d < DIMS; d++) {
        bool last = true;
        for (int k = d + 1; k < DIMS; k++)
            last = last && kx_is_int(s->groups[k], 1);
        s->group[d] = last ? rest : kb_let(b, "group", kx_rem(a, rest, s->groups[d]));
        rest = last ? kx_int(a, 0) : kb_let(b, "group", kx_quot(a, rest, s->groups[d]));
    }
}

static bool has_local(const KFun *f)
{
    for (int i = 0; i < f->params.n; i++)
        if (f->params.at[i].kind == KP_LOCAL)
            return true;
    return false;
}

const char *kir_phase(KBuild *b, const KPhase *p)
{
    const char *why = why_not(p);
    if (why)
        return why;
    kb_if(b, kx_not(b->arena, kb_stopped(b)));
    Splice s = {.b = b};
    PtrMap *scalars = bind_scalars(b, p);
    bind_buffers(&s, p);
    open_groups(&s, p);
    for (int i = 0; i < p->fun->params.n; i++)
        if (p->fun->params.at[i].kind == KP_LOCAL)
            kb_fresh(b, p->args[i].buf);
    KBlock copy = kblock_copy(b, &p->fun->body, scalars);
    kblock_visit(&copy, &(KVisitor){.env = &s, .enter = splice_stm});
    kblock_map_exps(b->arena, &copy, own_id, &s);
    vec_append(b->arena, kb_block(b), &copy);
    /* The next group takes the same local memory, and so may the next phase. */
    if (has_local(p->fun))
        kb_meet(b, 1u << KS_LOCAL);
    kb_end(b);
    kb_end(b);
    return NULL;
}
