/* Segmented reductions and scans: chunks, threads and accumulators (see segments.h). */
#include "codegen/segments.h"

#include <string.h>

/* --- Numbers ---------------------------------------------------------------------------------- */

/* On a GPU: threads enough for `per_thread` elements each, and when there are few segments, chunks
 * so that there are groups enough. On a CPU: one work-item a chunk, as many chunks as keep it busy.
 */
Segments segments_plan(KGen *kg, const Nest *nest, int per_thread)
{
    Host *h = kg->h;
    Ctx *cx = h->cx;
    const Sx *one = sx_const(cx, 1), *cpu = sx_is_cpu(cx), *l = kg->group_size;
    const Sx *s = nest_size(cx, nest, 0, nest->n - 1), *w = sx_atom(cx, nest_width(nest));
    const Sx *groups = sx_size(cx, SIZE_NUM_GROUPS);
    const Sx *s1 = sx_op(cx, SX_MAX, s, one);
    const Sx *gpu_threads = sx_op(cx, SX_CEILDIV, w, sx_const(cx, per_thread));
    gpu_threads = sx_op(cx, SX_MAX, one, sx_op(cx, SX_MIN, l, gpu_threads));
    const Sx *gpu_chunks = sx_op(cx, SX_MIN, sx_op(cx, SX_CEILDIV, groups, s1),
                                 sx_op(cx, SX_CEILDIV, w, sx_mul(cx, l, sx_const(cx, 4))));
    const Sx *cpu_chunks = sx_op(cx, SX_MIN, sx_op(cx, SX_CEILDIV, sx_mul(cx, groups, l), s1),
                                 sx_op(cx, SX_CEILDIV, w, sx_const(cx, 1024)));
    Segments sg = {.n_segs = s, .width = w};
    sg.threads = host_let(h, "threads", sx_select(cx, cpu, one, gpu_threads));
    sg.chunks = sx_op(cx, SX_MAX, one, sx_select(cx, cpu, cpu_chunks, gpu_chunks));
    sg.chunks = host_let(h, "chunks", sg.chunks);
    sg.chunk = sx_op(cx, SX_MAX, one, sx_op(cx, SX_CEILDIV, w, sg.chunks));
    sg.chunk = host_let(h, "chunk", sg.chunk);
    return sg;
}

Segments segments_of_partials(Host *h, const Segments *first)
{
    Ctx *cx = h->cx;
    Segments sg = {.n_segs = first->n_segs, .width = first->chunks, .chunk = first->chunks};
    sg.chunks = sx_const(cx, 1);
    const Sx *gpu = sx_op(cx, SX_MIN, sx_size(cx, SIZE_GROUP_SIZE), first->chunks);
    sg.threads = host_let(h, "threads", sx_select(cx, sx_is_cpu(cx), sx_const(cx, 1), gpu));
    return sg;
}

const Sx *segments_groups(KGen *kg, const Segments *sg)
{
    Ctx *cx = kg->cx;
    const Sx *per_group = sx_op(cx, SX_DIV, kg->group_size, sg->threads);
    return nest_groups(kg, sx_mul(cx, sg->n_segs, sg->chunks), per_group);
}

void segments_share(KGen *kg, const SegNames *n, const char *per, const char *mine)
{
    kg_line(kg, "const i64 %s = mf_index_div(get_local_size(0), %s);", per, n->threads);
    kg_line(kg, "const i64 %s = mf_index_div(lid, %s), %s = lid - %s * %s;", mine, n->threads, n->p,
            mine, n->threads);
}

/* --- The loop over chunks --------------------------------------------------------------------- */

SegNames segments_open(KGen *kg, const Segments *sg)
{
    Ctx *cx = kg->cx;
    SegNames n = {
        .chunks = sx_c_factor(kg_host_sx(kg, sg->chunks)),
        .chunk = sx_c_factor(kg_host_sx(kg, sg->chunk)),
        .threads = sx_c_factor(kg_host_sx(kg, sg->threads)),
        .width = sx_c_factor(kg_host_sx(kg, sg->width)),
        .unit = kg_name(kg, "unit"),
        .seg = kg_name(kg, "seg"),
        .c = kg_name(kg, "c"),
        .p = kg_name(kg, "p"),
        .active = kg_name(kg, "active"),
        .beg = kg_name(kg, "beg"),
        .len = kg_name(kg, "len"),
    };
    const char *units = kg_name(kg, "units"), *per = kg_name(kg, "per_group");
    const char *base = kg_name(kg, "base"), *mine = kg_name(kg, "mine");
    const Sx *total = kg_host_sx(kg, sx_mul(cx, sg->n_segs, sg->chunks));
    kg->max_threads = nest_max_threads(kg, sx_mul(cx, sg->n_segs, sg->chunks),
                                       sx_op(cx, SX_DIV, kg->group_size, sg->threads));
    kg_line(kg, "const i64 %s = stopped ? 0 : %s;", units, sx_c(total));
    segments_share(kg, &n, per, mine);
    kg_open(kg, "for (i64 %s = get_group_id(0) * %s; %s < %s; %s += get_num_groups(0) * %s)", base,
            per, base, units, base, per);
    kg_line(kg, "const i64 %s = %s + %s;", n.unit, base, mine);
    kg_line(kg, "const bool %s = %s < %s && %s < %s;", n.active, mine, per, n.unit, units);
    return n;
}

void segments_locate(KGen *kg, const SegNames *n)
{
    kg_line(kg, "const i64 %s = mf_index_div(%s, %s), %s = %s - %s * %s;", n->seg, n->unit,
            n->chunks, n->c, n->unit, n->seg, n->chunks);
    kg_line(kg, "const i64 %s = %s * %s;", n->beg, n->c, n->chunk);
    kg_line(kg, "const i64 %s = mf_min_i64(%s, %s - %s);", n->len, n->chunk, n->width, n->beg);
}

/* --- Accumulators ----------------------------------------------------------------------------- */

Accs accs_new(KGen *kg, const Exp *e)
{
    Arena *a = kg->cx->perm;
    int n = e->seg.nes.n;
    PrimType *types = NEWN(a, PrimType, n);
    Accs ac = {.op = e->seg.op, .n = n, .types = types};
    ac.acc = NEWN(a, const char *, n);
    ac.bufs = NEWN(a, const char *, n);
    for (int j = 0; j < n; j++) {
        types[j] = e->seg.op->params.at[j]->type.elem;
        ac.acc[j] = kg_name(kg, "acc");
    }
    return ac;
}

void accs_declare(KGen *kg, const Accs *ac, const Atoms *nes)
{
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s %s = %s;", ctype_c(ac->types[j]), ac->acc[j], kg_atom_c(kg, nes->at[j]));
}

void accs_local(KGen *kg, Accs *ac)
{
    for (int j = 0; j < ac->n; j++)
        ac->bufs[j] = kg_param_local(kg, "buf", ac->types[j], kg->group_size);
}

const char **accs_at(KGen *kg, const Accs *ac, const char *at)
{
    const char **r = NEWN(kg->cx->perm, const char *, ac->n);
    for (int j = 0; j < ac->n; j++)
        r[j] = kg_text(kg, "%s[%s]", ac->bufs[j], at);
    return r;
}

const char **accs_atoms(KGen *kg, const Accs *ac, const Atom *atoms)
{
    const char **r = NEWN(kg->cx->perm, const char *, ac->n);
    for (int j = 0; j < ac->n; j++)
        r[j] = kg_atom_c(kg, atoms[j]);
    return r;
}

void accs_put(KGen *kg, const Accs *ac, const char *at)
{
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s[%s] = %s;", ac->bufs[j], at, ac->acc[j]);
}

void accs_apply(KGen *kg, const Accs *ac, const char **a, const char **x)
{
    kg_block(kg);
    for (int j = 0; j < ac->n; j++) {
        kg_decl(kg, ac->op->params.at[j], a[j]);
        kg_decl(kg, ac->op->params.at[ac->n + j], x[j]);
    }
    WorkMark m = kg_work_begin(kg);
    kg_stms(kg, ac->op->body);
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s = %s;", ac->acc[j], kg_atom_c(kg, ac->op->body->res.at[j]));
    kg_work_end(kg, m);
    kg_close(kg);
}

void seg_barrier(KGen *kg)
{
    kg_line(kg, "#if !MF_IS_CPU");
    kg_meet(kg, false);
    kg_line(kg, "#endif");
}

void accs_tree(KGen *kg, const Accs *ac, const char *lid, const char *p, const char *threads,
               const char *active)
{
    const char *d = kg_name(kg, "d");
    kg_line(kg, "#if !MF_IS_CPU");
    accs_put(kg, ac, lid);
    kg_open(kg, "for (i64 %s = 1; %s < %s; %s *= 2)", d, d, threads, d);
    kg_meet(kg, false);
    kg_open(kg, "if (%s && (%s & (2 * %s - 1)) == 0 && %s + %s < %s)", active, p, d, p, d, threads);
    accs_apply(kg, ac, ac->acc, accs_at(kg, ac, kg_text(kg, "%s + %s", lid, d)));
    accs_put(kg, ac, lid);
    kg_close(kg);
    kg_close(kg);
    kg_line(kg, "#endif");
}

/* Each step reads the partial result d threads to the left, all of them before any is overwritten.
 */
void accs_scan(KGen *kg, const Accs *ac, const char *lid, const char *p, const char *threads,
               const char *active)
{
    const char *d = kg_name(kg, "d");
    const char **left = NEWN(kg->cx->perm, const char *, ac->n);
    const char **buf = accs_at(kg, ac, kg_text(kg, "%s - %s", lid, d));
    accs_put(kg, ac, lid);
    kg_line(kg, "#if !MF_IS_CPU");
    kg_meet(kg, false);
    kg_open(kg, "for (i64 %s = 1; %s < %s; %s *= 2)", d, d, threads, d);
    for (int j = 0; j < ac->n; j++) {
        left[j] = kg_name(kg, "left");
        kg_line(kg, "%s %s = %s;", ctype_c(ac->types[j]), left[j], ac->acc[j]);
    }
    kg_open(kg, "if (%s && %s >= %s)", active, p, d);
    for (int j = 0; j < ac->n; j++)
        kg_line(kg, "%s = %s;", left[j], buf[j]);
    accs_apply(kg, ac, left, ac->acc);
    kg_close(kg);
    kg_meet(kg, false);
    accs_put(kg, ac, lid);
    kg_meet(kg, false);
    kg_close(kg);
    kg_line(kg, "#endif");
}

/* --- Branches of host operations -------------------------------------------------------------- */

HostIf host_if_more(Host *h, const Sx *a, int64_t than)
{
    Ctx *cx = h->cx;
    HostIf hi = {.outer = h->ops};
    const Sx *val = a;
    if (a->kind != SX_VAR && a->kind != SX_CONST)
        val = host_let(h, "n", a);
    Atom at = val->kind == SX_VAR ? atom_var((Var *)val->var) : atom_i64(val->k);
    Var *test = var_new(cx, "test", type_prim(T_BOOL), (Loc){0});
    Exp *e = exp_binop(cx, (Loc){0}, OP_LT, atom_i64(than), at);
    host_op(h, (HostOp){.kind = H_EXP, .var = test, .exp = e});
    hi.op = (HostOp){.kind = H_IF, .atom = atom_var(test)};
    return hi;
}

void host_if_else(Host *h, HostIf *hi)
{
    h->ops = &hi->op.else_;
}

void host_if_end(Host *h, HostIf *hi)
{
    h->ops = hi->outer;
    host_op(h, hi->op);
}
