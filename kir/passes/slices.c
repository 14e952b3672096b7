/* Short arrays of a thread lie in its registers.
 *
 * What a thread makes lies in slices of blocks in global memory, where sizes are known at the
 * launch only. A kernel that is built for its sizes can have private arrays instead, which the
 * compiler keeps in registers where it unrolls the loops over them, and near the thread elsewhere.
 * The text is the same for both: positions begin at 0 and are 1 apart there, which selects on
 * `has_slices` say, and only the declarations differ (opencl.c).
 *
 * Here is decided for a kernel on a target whether that may be. All slices have the same distance
 * between elements, so it is all of them or none. */
#include "kir/passes/passes.h"
#include "kir/walk.h"

enum { PRIVATE_BYTES = 2048 }; /* no device is told to have more (MF_PRIVATE_BYTES) */

typedef struct {
    Arena *arena;
    const KFun *fun;
    const bool *steady;
    bool fits;
} Slices;

static bool is_slice(const KFun *f, const KBuf *b)
{
    for (int i = 0; i < f->slices.n; i++)
        if (f->slices.at[i].buf == b)
            return true;
    return false;
}

static void look_at_use(void *env, KStm *s)
{
    Slices *w = env;
    bool element = (s->kind == KST_LOAD || s->kind == KST_STORE) && kstm_lanes(s) == 1;
    const KBuf *of = s->kind == KST_VIEW ? s->buf->of : s->buf;
    if (of && !element && is_slice(w->fun, of))
        w->fits = false;
}

/* The preprocessor computes counts. */
static void look_at_count(void *env, const KExp *x)
{
    Slices *w = env;
    bool known = x->kind == KE_CONST;
    for (int i = 0; i < w->fun->params.n && x->kind == KE_VAR; i++)
        known |= w->fun->params.at[i].var == x->var && w->steady[i];
    if (x->kind == KE_PRIM)
        known = x->exact && (x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL);
    w->fits &= known;
}

static bool visit(void *env, KStm *s)
{
    look_at_use(env, s);
    return true;
}

static const KExp *answer(void *env, const KExp *x)
{
    const Slices *w = env;
    return x->kind == KE_ID && x->id == KID_HAS_SLICES ? kx_bool(w->arena, false) : x;
}

void kir_settle_slices(Arena *a, KFun *f, const bool *steady)
{
    Slices w = {
        .arena = a, .fun = f, .steady = steady, .fits = steady && f->slices.n > 0 && !f->columns};
    int64_t least = 0; /* bytes, of those of constant size */
    for (int i = 0; i < f->slices.n && w.fits; i++) {
        const KSlice *s = &f->slices.at[i];
        kexp_visit(s->count, look_at_count, &w);
        least += s->count->kind == KE_CONST ? s->count->c.i * prim_type_bytes[s->buf->elem] : 0;
    }
    w.fits = w.fits && least <= PRIVATE_BYTES;
    if (w.fits)
        kblock_visit(&f->body, &(KVisitor){.env = &w, .enter = visit});
    if (w.fits) {
        for (int i = 0; i < f->slices.n; i++)
            f->slices.at[i].buf->align = 0; /* private arrays are not */
        return;
    }
    f->slices = (KSlices){0};
    kblock_map_exps(a, &f->body, answer, &w);
}
