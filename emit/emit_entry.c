/* The C functions of an entry: the state that they share, and what stands around their operations.
 * A function gives back the blocks that only it and what it calls mention, whatever happened. */
#include "emit/emit_parts.h"

#include "base/intern.h"
#include "ir/stops.h"

#include <string.h>

static const char *state_name(const Entry *en)
{
    char buf[160];
    snprintf(buf, sizeof buf, "%s_state", c_ident(en->name));
    return intern(buf);
}

/* --- Parameters ----------------------------------------------------------------------------- */

/* The place of value k of the entry's parameters in the source's parameter list, for messages. */
static const char *param_text(Fn *f, const Entry *en, int k)
{
    int first = 0;
    for (int x = 0; x < en->ext_params.n; x++) {
        const ExtParam *ep = &en->ext_params.at[x];
        if (k < first + ep->type.n_vals)
            return ep->name ? arena_printf(f->em->cx->perm, "argument %d (%s)", x + 1, ep->name)
                            : arena_printf(f->em->cx->perm, "argument %d", x + 1);
        first += ep->type.n_vals;
    }
    return "argument";
}

/* Dimension d of parameter k, which is known already, must be what the type says. */
static void emit_dim_check(Fn *f, const Entry *en, int k, int d)
{
    Type t = en->params.at[k]->type;
    Out *o = f->o;
    f->uses_ctx = f->uses_in = true;
    out_printf(o, "if (in[%d].shape[%d] != %s) {\n", k, d, atom_c(t.dims[d]));
    o->indent++;
    const char *where = arena_printf(f->em->cx->perm, "%s\n%s: %s: ", stop_text[STOP_ARGUMENTS],
                                     en->name, param_text(f, en, k));
    out_printf(o, "rc = rt_error_set(ctx, \"%%s%s\",\n                  ",
               t.dims[d].var ? "size %s is %lld here, but %lld before"
                             : "dimension %d has size %lld, but must have %lld");
    const Var *size = t.dims[d].var;
    out_printf(o, "%s, %s, (long long)in[%d].shape[%d], (long long)%s);\n",
               c_string(f->em->cx, where),
               size ? c_string(f->em->cx, size->base) : arena_printf(f->em->cx->perm, "%d", d + 1),
               k, d, atom_c(t.dims[d]));
    o->indent--;
    emit_fail(f);
    out_puts(o, "}\n");
}

static void emit_user_params(Fn *f, const Entry *en, const VarSet *used)
{
    for (int k = 0; k < en->user_params.n; k++) {
        const UserParam *p = &en->user_params.at[k];
        if (!varset_has(used, p->var))
            continue;
        emit_assign(f, p->var);
        out_printf(f->o, "rt_param(ctx, %s);\n", param_enum(f->em->cx, p->name));
        f->uses_ctx = true;
    }
}

/* Scalar parameters first; then the sizes, each from the first array that has it. */
static void emit_params(Fn *f, const EntryPlan *ep, const VarSet *used)
{
    const Entry *en = ep->entry;
    VarSet *known = varmap_new(f->em->cx->perm);
    for (int k = 0; k < en->params.n; k++) {
        const Var *v = en->params.at[k];
        if (v->type.rank == 0 && (varset_has(used, v) || entry_size_count(en, v))) {
            const char *member = rt_member_c(v->type.elem);
            varset_add(known, v);
            emit_assign(f, v);
            out_printf(f->o, "in[%d].scalar.%s;\n", k, member);
            f->uses_in = true;
        }
    }
    emit_user_params(f, en, used);
    for (int k = 0; k < en->params.n; k++) {
        Type t = en->params.at[k]->type;
        for (int d = 0; d < t.rank; d++) {
            Var *n = t.dims[d].var;
            if (n && entry_has_size(en, n) && !varset_has(known, n)) {
                if (entry_size_count(en, n) == 1 && !varset_has(used, n))
                    continue;
                varset_add(known, n);
                emit_assign(f, n);
                out_printf(f->o, "in[%d].shape[%d];\n", k, d);
                f->uses_in = true;
            } else {
                emit_dim_check(f, en, k, d);
            }
        }
    }
}

static void emit_results(Fn *f, const EntryPlan *ep)
{
    for (int i = 0; i < ep->results.n; i++) {
        Atom a = ep->results.at[i];
        Type t = atom_type(a);
        if (t.rank == 0) {
            const char *member = rt_member_c(t.elem);
            out_printf(f->o, "out[%d] = (rt_value){.prim = %s, .scalar.%s = %s};\n", i,
                       rt_prim_c(t.elem), member, atom_c(a));
            continue;
        }
        out_printf(f->o, "out[%d] = (rt_value){.prim = %s, .rank = %d, .shape = {", i,
                   rt_prim_c(t.elem), t.rank);
        for (int d = 0; d < t.rank; d++)
            out_printf(f->o, "%s%s", d ? ", " : "", atom_c(t.dims[d]));
        out_printf(f->o, "},\n                    .mem = rt_ref(%s)};\n",
                   mem_c(f, ep->result_locs.at[i].mem));
    }
}

/* The variables that something reads. */
static VarSet *entry_uses(Ctx *cx, const EntryPlan *ep)
{
    VarSet *used = varmap_new(cx->perm);
    for (int i = 0; i < ep->ops.n; i++)
        op_uses(used, ep->ops.at[i]);
    for (int i = 0; i < ep->results.n; i++) {
        Atom a = ep->results.at[i];
        Type t = atom_type(a);
        if (a.var)
            varset_add(used, a.var);
        for (int d = 0; d < t.rank; d++)
            if (t.dims[d].var)
                varset_add(used, t.dims[d].var);
    }
    return used;
}

/* --- Declarations --------------------------------------------------------------------------- */

/* `TYPE a, b, c;` in lines. */
static void declare_list(Out *o, const char *type, const Texts *names)
{
    if (names->n == 0)
        return;
    out_printf(o, "%s", type);
    emit_wrapped(o, names, strlen(type), 4);
    out_puts(o, ";\n");
}

/* What stands in a declaration for a name. */
typedef const char *Declarator(Ctx *cx, const char *name);

static const char *as_it_is(Ctx *cx, const char *name)
{
    (void)cx;
    return name;
}

static const char *loaded(Ctx *cx, const char *name)
{
    return arena_printf(cx->perm, "%s = s->%s", name, name);
}

static const char *pointer(Ctx *cx, const char *name)
{
    return arena_printf(cx->perm, "*%s", name);
}

static const char *null_pointer(Ctx *cx, const char *name)
{
    return arena_printf(cx->perm, "*%s = NULL", name);
}

/* Declarations of the variables, a list for each type. */
static void declare_vars(Ctx *cx, Out *o, const Vars *vs, const char *qualifier, Declarator *decl)
{
    for (int t = 0; t < N_PRIM_TYPES; t++) {
        Texts ts = {0};
        for (int i = 0; i < vs->n; i++)
            if (vs->at[i]->type.elem == (PrimType)t)
                vec_push(cx->perm, &ts, decl(cx, var_c_name(vs->at[i])));
        if (ts.n)
            declare_list(o, arena_printf(cx->perm, "%s%s ", qualifier, ctype_c((PrimType)t)), &ts);
    }
}

/* What others have set and this function reads. */
static void load_vars(Fn *f, Out *o)
{
    Vars fixed = {0}, changing = {0};
    for (int i = 0; i < f->fn->loads.n; i++) {
        Var *v = f->fn->loads.at[i];
        if (!split_shares(f->split, v) || !varset_has(f->fn->reads, v))
            continue;
        varset_add(f->seen, v);
        f->uses_state = true;
        vec_push(f->em->cx->perm, varset_has(f->fn->sets, v) ? &changing : &fixed, v);
    }
    declare_vars(f->em->cx, o, &fixed, "const ", loaded);
    declare_vars(f->em->cx, o, &changing, "", loaded);
}

/* The entry's parameters of this function alone, and the blocks that it gives back. */
static Texts declare_mems(Fn *f, Out *o, const EntryPlan *ep)
{
    Texts own = {0}, declared = {0};
    for (int i = 0; i < f->split->mems.n; i++) {
        const Mem *m = f->split->mems.at[i];
        const Use *u = split_mem(f->split, m);
        if (m->is_param || u->fn != f->fn)
            continue;
        vec_push(f->em->cx->perm, &own, mem_c(f, m));
        if (!u->shared)
            vec_push(f->em->cx->perm, &declared, null_pointer(f->em->cx, m->name));
    }
    for (int k = 0; !f->fn->caller && k < ep->param_locs.n; k++) {
        const Mem *m = ep->param_locs.at[k].mem;
        if (!m || m->id >= f->split->mem_uses.n || !f->split->mem_uses.at[m->id].fn)
            continue;
        bool shared = split_mem(f->split, m)->shared;
        out_printf(o, shared ? "s->%s = in[%d].mem;\n" : "rt_mem *const %s = in[%d].mem;\n",
                   m->name, k);
        f->uses_in = true;
    }
    declare_list(o, "rt_mem ", &declared);
    return own;
}

/* Where the entry's value of a size comes from: a parameter of its own, or the device's. */
static const char *size_source(const Emit *em, const EntryPlan *ep, SizeId id)
{
    for (int i = 0; i < em->p->size_params.n; i++) {
        const SizeParam *sp = &em->p->size_params.at[i];
        if (sp->entry == ep->entry && sp->id == id)
            return arena_printf(em->cx->perm, "rt_param(ctx, %s)", param_enum(em->cx, sp->name));
    }
    return arena_printf(em->cx->perm, "rt_size(ctx, %s)", size_rt_name(id));
}

/* The sizes of the device that the operations mention. */
static void declare_sizes(Fn *f, Out *o, const EntryPlan *ep)
{
    for (int id = 0; id < N_SIZES; id++)
        if (f->fn->sizes[id]) {
            out_printf(o, "const i64 %s = %s;\n", size_c_name((SizeId)id),
                       size_source(f->em, ep, (SizeId)id));
            f->uses_ctx = true;
        }
}

static void emit_state(Emit *em, const EntryPlan *ep, const Split *sp)
{
    Texts mems = {0};
    for (int i = 0; i < sp->mems.n; i++)
        if (split_mem(sp, sp->mems.at[i])->shared)
            vec_push(em->cx->perm, &mems, pointer(em->cx, sp->mems.at[i]->name));
    Out *o = em->o;
    out_c_comment(o, "What the functions of entry %s share.", ep->entry->name);
    out_printf(o, "\nstruct %s {\n", state_name(ep->entry));
    o->indent++;
    declare_list(o, "rt_mem ", &mems);
    declare_vars(em->cx, o, &sp->shared, "", as_it_is);
    if (mems.n + sp->shared.n == 0)
        out_puts(o, "char none;\n");
    o->indent--;
    out_puts(o, "};\n\n");
}

/* --- Assembly ------------------------------------------------------------------------------- */

static bool owns_blocks(const Split *sp, const HostFn *fn)
{
    for (int i = 0; i < sp->mems.n; i++)
        if (!sp->mems.at[i]->is_param && split_mem(sp, sp->mems.at[i])->fn == fn)
            return true;
    return false;
}

static void emit_head(Fn *f, const EntryPlan *ep)
{
    Out *o = f->em->o;
    const Entry *en = ep->entry;
    if (f->fn->about) {
        out_c_comment(o, "%s", f->fn->about);
        out_printf(o, "\nstatic int %s(rt_ctx *ctx, struct %s *s)\n{\n", f->fn->name,
                   state_name(en));
        return;
    }
    out_c_comment(o, "entry %s, %s", en->name, diag_place_str(en->loc));
    out_printf(o, "\nstatic int %s(rt_ctx *ctx, const rt_value *in, rt_value *out)\n{\n",
               f->fn->name);
}

/* Parameters that the text does not mention. */
static void emit_unused(Fn *f, Out *o, const EntryPlan *ep)
{
    bool is_entry = !f->fn->caller;
    if (!f->uses_ctx && !f->owns)
        out_puts(o, "(void)ctx;\n");
    if (!is_entry && !f->uses_state)
        out_puts(o, "(void)s;\n");
    if (is_entry && !f->uses_in)
        out_puts(o, "(void)in;\n");
    if (is_entry && ep->results.n == 0)
        out_puts(o, "(void)out;\n");
}

/* What the function holds is given back, whatever happened. */
static void emit_end(Fn *f, const Texts *own)
{
    enum { FEW = 4 };
    Out *o = f->em->o;
    out_puts(o, f->uses_done ? "done:\n" : "");
    o->indent++;
    for (int i = 0; i < own->n && own->n <= FEW; i++)
        out_printf(o, "rt_unref(ctx, &%s);\n", own->at[i]);
    if (own->n > FEW) {
        Texts blocks = {0};
        for (int i = 0; i < own->n; i++)
            vec_push(f->em->cx->perm, &blocks, arena_printf(f->em->cx->perm, "&%s", own->at[i]));
        out_printf(o, "unref_all(ctx, %d, (rt_mem **[]){\n    ", own->n);
        emit_wrapped(o, &blocks, 4, 4);
        out_puts(o, "});\n");
    }
    out_puts(o, "return rc;\n");
    o->indent--;
}

static void emit_fn(Emit *em, const EntryPlan *ep, const Split *sp, const HostFn *fn,
                    const VarSet *used)
{
    Out body = {.indent = 1}, top = {.indent = 1}, *o = em->o;
    Fn f = {.em = em,
            .o = &body,
            .split = sp,
            .fn = fn,
            .seen = varmap_new(em->cx->perm),
            .sizes = size_names_new(em->cx),
            .owns = owns_blocks(sp, fn)};
    load_vars(&f, &top);
    Texts own = declare_mems(&f, &top, ep);
    declare_sizes(&f, &top, ep);
    if (!fn->caller)
        emit_params(&f, ep, used);
    emit_block(&f, fn->body);
    if (!fn->caller)
        emit_results(&f, ep);
    emit_head(&f, ep);
    out_puts(o, "    int rc = RT_OK;\n");
    if (!fn->caller && f.uses_state)
        out_printf(o, "    struct %s state = {0}, *const s = &state;\n", state_name(ep->entry));
    out_putn(o, top.text ? top.text : "", top.n);
    o->indent++;
    emit_unused(&f, o, ep);
    o->indent--;
    out_putn(o, body.text ? body.text : "", body.n);
    emit_end(&f, &own);
    out_puts(o, "}\n\n");
    out_free(&body);
    out_free(&top);
}

void emit_entry(Emit *em, const EntryPlan *ep)
{
    VarSet *used = entry_uses(em->cx, ep);
    Split *sp = emit_split(em->cx, ep, used);
    if (sp->fns.n > 1)
        emit_state(em, ep, sp);
    for (int i = 0; i < sp->fns.n; i++)
        emit_fn(em, ep, sp, sp->fns.at[i], used);
}
