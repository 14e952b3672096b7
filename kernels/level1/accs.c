/* What the threads of a chunk accumulate (see segments.h): each its share of the elements, then all
 * of them together. What an element and an operator are is code, by kg_stms. */
#include "kernels/level1/segments.h"

/* Loads of so many elements are on their way at a time: of chunks, of whole segments. */
enum { SHARE_UNROLL = 4, WHOLE_UNROLL = 8 };
/* --- Accumulators -------------------------------------------------------------------------- */

Accs accs_of(KGen *kg, const Lambda *op, int n)
{
    Arena *a = kg->cx->perm;
    PrimType *types = NEWN(a, PrimType, n);
    Accs ac = {.op = op, .n = n, .types = types};
    ac.acc = NEWN(a, KVar *, n);
    ac.bufs = NEWN(a, KBuf *, n);
    ac.beside = NEWN(a, KBuf *, n);
    for (int j = 0; j < n; j++)
        types[j] = op->params.at[j]->type.elem;
    return ac;
}

Accs accs_new(KGen *kg, const Exp *e)
{
    return accs_of(kg, e->seg.op, e->seg.nes.n);
}

void accs_declare(KGen *kg, const Accs *ac, const Atoms *nes)
{
    for (int j = 0; j < ac->n; j++)
        ac->acc[j] = kb_var(kg->kb, "acc", ac->types[j], kg_atom(kg, nes->at[j]));
}

Accs accs_like(KGen *kg, const Accs *ac)
{
    Accs r = *ac;
    r.acc = NEWN(kg->cx->perm, KVar *, ac->n);
    return r;
}

Accs accs_copy(KGen *kg, const Accs *ac, const char *base)
{
    Accs r = accs_like(kg, ac);
    for (int j = 0; j < ac->n; j++)
        r.acc[j] = kb_var(kg->kb, base, ac->types[j], kg_of(kg, ac->acc[j]));
    return r;
}

void accs_local(KGen *kg, Accs *ac, bool scan)
{
    for (int j = 0; j < ac->n; j++) {
        ac->bufs[j] = kg_param_local(kg, "buf", ac->types[j], kg->group_size);
        if (scan)
            ac->beside[j] = kg_param_local(kg, "beside", ac->types[j], kg->group_size);
    }
}

static const KExp **values(KGen *kg, const Accs *ac)
{
    return NEWN(kg->cx->perm, const KExp *, ac->n);
}

const KExp **accs_now(KGen *kg, const Accs *ac)
{
    const KExp **r = values(kg, ac);
    for (int j = 0; j < ac->n; j++)
        r[j] = kg_of(kg, ac->acc[j]);
    return r;
}

const KExp **accs_load(KGen *kg, const Accs *ac, const KExp *at)
{
    const KExp **r = values(kg, ac);
    for (int j = 0; j < ac->n; j++)
        r[j] = kb_load(kg->kb, "x", ac->bufs[j], at);
    return r;
}

const KExp *kg_of_lane(KGen *kg, const KVar *x, const KExp *lane)
{
    KVar *v = kb_var_new(kg->kb, "x", x->type);
    kb_stm(kg->kb, (KStm){.kind = KST_SHUFFLE, .var = v, .x = {kg_of(kg, x), lane}});
    return kg_of(kg, v);
}

const KExp **accs_of_lane(KGen *kg, const Accs *ac, const KExp *lane)
{
    const KExp **r = values(kg, ac);
    for (int j = 0; j < ac->n; j++)
        r[j] = kg_of_lane(kg, ac->acc[j], lane);
    return r;
}

const KExp *accs_have_lanes(KGen *kg)
{
    const KExp *lanes = kg_id(kg, KID_LANES), *size = kg_id(kg, KID_GROUP_SIZE);
    const KExp *rest = kg_rem(kg, size, lanes);
    return kg_and(kg, kg_lt(kg, kg_int(kg, 1), lanes), kg_eq(kg, rest, kg_int(kg, 0)));
}

const KExp **accs_atoms(KGen *kg, const Accs *ac, const Atom *atoms)
{
    const KExp **r = values(kg, ac);
    for (int j = 0; j < ac->n; j++)
        r[j] = kg_atom(kg, atoms[j]);
    return r;
}

void accs_set(KGen *kg, const Accs *ac, const KExp **x)
{
    for (int j = 0; j < ac->n; j++)
        kb_set(kg->kb, ac->acc[j], x[j]);
}

void accs_put(KGen *kg, const Accs *ac, const KExp *at)
{
    for (int j = 0; j < ac->n; j++)
        kb_store(kg->kb, ac->bufs[j], at, kg_of(kg, ac->acc[j]));
}

void accs_apply(KGen *kg, const Accs *ac, const KExp **a, const KExp **x)
{
    kg_combine(kg, ac->op, ac->n, ac->acc, a, x);
}

static void meet_local(KGen *kg)
{
    kb_meet(kg->kb, 1u << KS_LOCAL);
}

void seg_meet(KGen *kg)
{
    kg_if_teams(kg);
    meet_local(kg);
    kb_end(kg->kb);
}

/* From a thread to the d-th one behind it of the same chunk. */
static const KExp *apart(KGen *kg, const Chunk *n, const KExp *d)
{
    return n->apart ? kg_mul(kg, d, n->apart) : d;
}

/* In step d = 1, 2, 4 .. the threads at multiples of 2d add what thread p + d has. */
void accs_tree(KGen *kg, const Accs *ac, const Chunk *n)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    kg_if_teams(kg);
    accs_put(kg, ac, kg->lid);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), n->threads, 2);
    meet_local(kg);
    const KExp *low = kg_sub(kg, kg_mul(kg, kg_int(kg, 2), d), kg_int(kg, 1));
    const KExp *turn = kg_eq(kg, kx_prim2(a, OP_AND, n->p, low), kg_int(kg, 0));
    const KExp *there = kg_lt(kg, kg_add(kg, n->p, d), n->threads);
    kb_if(b, kg_and(kg, n->active, kg_and(kg, turn, there)));
    const KExp *beside = kg_add(kg, kg->lid, apart(kg, n, d));
    accs_apply(kg, ac, accs_now(kg, ac), accs_load(kg, ac, beside));
    accs_put(kg, ac, kg->lid);
    kb_end(b);
    kb_end(b);
    kb_end(b);
}

/* acc := op(what thread p - d has in `from`, acc), where there is such a thread; put into `to`. */
static void scan_step(KGen *kg, const Accs *ac, const Chunk *n, const KExp *d, KBuf **from,
                      KBuf **to)
{
    Accs left = *ac, right = *ac;
    left.bufs = from;
    right.bufs = to;
    kb_if(kg->kb, kg_and(kg, n->active, kg_le(kg, d, n->p)));
    const KExp *beside = kg_sub(kg, kg->lid, apart(kg, n, d));
    accs_apply(kg, ac, accs_load(kg, &left, beside), accs_now(kg, ac));
    kb_end(kg->kb);
    accs_put(kg, &right, kg->lid);
    meet_local(kg);
}

/* A step adds the partial sums of d threads further left. It reads one buffer and writes the other,
 * so that a barrier a step is enough; two steps a turn, and the sums are where they were. */
void accs_scan(KGen *kg, const Accs *ac, const Chunk *n)
{
    KBuild *b = kg->kb;
    accs_put(kg, ac, kg->lid);
    kg_if_teams(kg);
    meet_local(kg);
    const KExp *d = kb_for_times(b, "d", kg_int(kg, 1), n->threads, 4);
    scan_step(kg, ac, n, d, ac->bufs, ac->beside);
    scan_step(kg, ac, n, kg_mul(kg, kg_int(kg, 2), d), ac->beside, ac->bufs);
    kb_end(b);
    kb_end(b);
}

/* --- A share ---------------------------------------------------------------------------------- */

bool seg_is_brief(const Exp *e)
{
    return seg_is_short(e->seg.body, false) && seg_is_short(e->seg.op->body, false);
}

/* The elements of thread p of a chunk: so many, consecutive or woven with its neighbours'. */
typedef struct {
    const Chunk *n;
    const KExp *q;     /* consecutive ones: thread p's begin at p * q */
    const KExp *own;   /* how many; of long ones as many as others have, to keep in step */
    const KExp *woven; /* does thread p have every threads-th element? */
    bool brief;
} Share;

static Share share_of(KGen *kg, const Chunk *n, const Exp *e)
{
    KBuild *b = kg->kb;
    Arena *a = kg->cx->perm;
    Share sh = {.n = n, .brief = seg_is_brief(e)};
    const KExp *more = kg_sub(kg, kg_add(kg, n->len, n->threads), kg_int(kg, 1));
    const KExp *q = sh.q = kb_let(b, "q", kg_quot(kg, more, n->threads));
    const KExp *left = kg_sub(kg, n->len, kg_mul(kg, n->p, q));
    const KExp *mine = kg_max(kg, kg_int(kg, 0), kg_min(kg, q, left));
    const KExp *dealt = kg_quot(kg, kg_sub(kg, more, n->p), n->threads);
    sh.woven = op_is_comm(e) ? kg_id(kg, KID_COALESCES) : kx_bool(a, false);
    sh.own = sh.brief ? kb_let(b, "own", kx_select(a, sh.woven, dealt, mine)) : q;
    return sh;
}

/* The number in the chunk of its element t. */
static const KExp *share_at(KGen *kg, const Share *sh, const KExp *t)
{
    const Chunk *n = sh->n;
    const KExp *in_row = kg_add(kg, kg_mul(kg, n->p, sh->q), t);
    const KExp *in_turn = kg_add(kg, kg_mul(kg, t, n->threads), n->p);
    return kb_let(kg->kb, "off", kx_select(kg->cx->perm, sh->woven, in_turn, in_row));
}

/* Opens the loop over its elements from number `from` on. */
static const KExp *open_share(KGen *kg, const Share *sh, const KExp *from)
{
    KBuild *b = kg->kb;
    const Chunk *n = sh->n;
    const KExp *t = kb_for(b, "t", from, sh->own, kg_int(kg, 1));
    if (sh->brief)
        kg_loop_unroll(kg, n->whole ? WHOLE_UNROLL : SHARE_UNROLL);
    const KExp *off = share_at(kg, sh, t);
    kb_if(b, sh->brief ? kx_bool(kg->cx->perm, true) : kg_lt(kg, off, n->len));
    return off;
}

const KExp *seg_open_share(KGen *kg, const Chunk *n, const Exp *e)
{
    Share sh = share_of(kg, n, e);
    return open_share(kg, &sh, kg_int(kg, 0));
}

/* What is accumulated. */
typedef struct {
    const Exp *e;
    const Stm *s;
    const KLoc *maps;
    const Share *share;
} Accumulated;

/* Element `off` of the chunk: binds it, writes what is mapped out; the values to be combined. */
static const Atom *chunk_element(KGen *kg, const Accumulated *w, const KExp *off)
{
    const Exp *e = w->e;
    const Chunk *n = w->share->n;
    const NestDim *d = &vec_last(&e->seg.nest);
    if (n->row)
        nest_bind_point(kg, d, kg_add(kg, n->beg, off), n->row);
    else
        nest_bind_dim(kg, d, kg_add(kg, n->beg, off));
    if (w->maps)
        seg_hint_maps(kg, e, w->maps, w->s);
    kg_stms(kg, e->seg.body);
    if (w->maps)
        seg_store_maps(kg, e, w->maps, w->s);
    return e->seg.body->res.at;
}

static const Atom *share_element(KGen *kg, void *env, const KExp *t)
{
    const Accumulated *w = env;
    return chunk_element(kg, w, share_at(kg, w->share, t));
}

void seg_accumulate(KGen *kg, const Exp *e, const Accs *ac, const Chunk *n, const KLoc *maps,
                    const Stm *s)
{
    WorkMark m = kg_work_begin(kg);
    Share sh = share_of(kg, n, e);
    Accumulated w = {e, s, maps, &sh};
    Combined lanes = {ac->op, ac->n, &e->seg.nes, share_element, &w};
    const KExp *own = sh.brief ? sh.own : n->len; /* work-items have all, where there are lanes */
    bool wide = seg_is_short(e->seg.body, true) && seg_is_short(e->seg.op->body, true);
    wide = wide && op_is_comm(e);
    const KExp *from = wide ? kg_lanes(kg, &lanes, ac->acc, own) : kg_int(kg, 0);
    const KExp *off = open_share(kg, &sh, from);
    HeapMark turn = heap_mark(kg);
    accs_apply(kg, ac, accs_now(kg, ac), accs_atoms(kg, ac, chunk_element(kg, &w, off)));
    heap_release(kg, turn);
    kb_end(kg->kb);
    kb_end(kg->kb);
    kg_work_end(kg, m);
}

/* --- Operators on arrays ------------------------------------------------------------------- */

void seg_fold(KGen *kg, const Exp *e, const Stm *s, KLoc *outs, bool scan)
{
    const Nest *nest = &e->seg.nest;
    const Lambda *op = e->seg.op;
    int n = e->seg.nes.n, depth = nest->n;
    const KExp **ix = NEWN(kg->cx->perm, const KExp *, depth);
    nest_indices(kg, nest, depth, ix);
    const KExp *own = nest_has_rows(nest) ? kg_atom(kg, atom_var(nest->at[0].row)) : NULL;
    const KExp *from = own ? nest_offset(kg, &nest->at[0], own) : kg_int(kg, 0);
    const KExp *to = own ? nest_offset(kg, &nest->at[0], kg_add(kg, own, kg_int(kg, 1)))
                         : kg_atom(kg, nest_width(nest));
    Carries *c = carry_begin(kg, &op->params, n, &e->seg.nes, op->body, op->body->res.at, NULL);
    const KExp *i = kb_for(kg->kb, "i", from, to, kg_int(kg, 1));
    HeapMark turn = heap_mark(kg);
    if (own)
        nest_bind_point(kg, &nest->at[0], i, own);
    else
        nest_bind_dim(kg, &vec_last(nest), i);
    seg_hint_maps(kg, e, outs, s);
    kg_stms(kg, e->seg.body);
    seg_store_maps(kg, e, outs, s);
    kg_bind_params(kg, op->params.at + n, e->seg.body->res.at, n);
    carry_turn(kg, c);
    carry_hint(kg, c, op->body, op->body->res.at);
    kg_stms(kg, op->body);
    for (int j = 0; scan && j < n; j++) {
        if (varset_has(kg->unread, s->pat.at[j]))
            continue;
        Atom r = op->body->res.at[j];
        KLoc row = loc_row_n(kg, &outs[j], s->pat.at[j]->type.rank, ix, depth);
        kg_store(kg, &row, atom_type(r), r);
    }
    carry_step(kg, c, op->body->res.at);
    heap_release(kg, turn);
    kb_end(kg->kb);
    if (scan)
        return;
    Var **finals = NEWN(kg->cx->perm, Var *, n);
    for (int j = 0; j < n; j++)
        finals[j] = var_like(kg->cx, op->params.at[j]);
    carry_end(kg, c, finals);
    if (own)
        ix[0] = own;
    for (int j = 0; j < n; j++) {
        int rank = s->pat.at[j]->type.rank;
        KLoc place = loc_row_n(kg, &outs[j], rank, ix, own ? 1 : depth - 1);
        kg_store(kg, &place, finals[j]->type, atom_var(finals[j]));
    }
}
