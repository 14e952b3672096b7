/* A plan as one C file: the runtime, the kernels' sources, tables, a function for each entry. */
#include "emit/emit_parts.h"

#include "base/intern.h"

#include <stdlib.h>
#include <string.h>

static void heading(Out *o, const char *text)
{
    out_printf(o, "/* --- %s --- */\n\n", text);
}

/* threshold(def, !main.suff_outer_par_0 main.suff_intra_par_1); 0 instead of def: no general
 * default */
static const char *class_text(Ctx *cx, const Threshold *t)
{
    return arena_printf(cx->perm, "threshold(%s, %s)", t->loop || t->ranks ? "0" : "def",
                        path_text(cx, &t->path));
}

/* group_size(segmap_main_3 segred_main_7): with the kernels that depend on it, in lines of C of not
 * much more than COLUMNS. */
static void emit_size_param(const Emit *em, const SizeParam *sp)
{
    enum { COLUMNS = 60 };
    Out *o = em->o;
    out_printf(o, "    {%s, \"%s(\"", c_string(em->cx, sp->name), size_c_name(sp->id));
    for (int i = 0, at = COLUMNS; i < sp->kernels.n; i++) {
        const char *name = sp->kernels.at[i]->name;
        if (at >= COLUMNS)
            out_puts(o, i ? "\"\n     \"" : "\n     \"");
        at = (at >= COLUMNS ? 0 : at) + (int)strlen(name) + 1;
        out_printf(o, "%s%s", i ? " " : "", name);
    }
    out_printf(o, "%s)\", 0},\n", sp->kernels.n ? "" : "\"");
}

static void emit_tuning_params(Emit *em)
{
    Out *o = em->o;
    if (plan_n_params(em->p) == 0)
        return;
    heading(o, "Tuning parameters");
    Texts numbers = {0};
    for (int i = 0; i < plan_n_params(em->p); i++)
        vec_push(em->cx->scratch, &numbers, param_enum(em->cx, plan_param_name(em->p, i)));
    emit_enum(o, &numbers);
    out_puts(o, "static const rt_param_def params[] = {\n");
    for (int i = 0; i < em->p->thresholds.n; i++) {
        const Threshold *t = &em->p->thresholds.at[i];
        out_printf(o, "    {%s, %s, %s},\n", c_string(em->cx, t->name),
                   c_string(em->cx, class_text(em->cx, t)), t->loop ? "1" : "0");
    }
    for (int i = 0; i < em->p->size_params.n; i++)
        emit_size_param(em, &em->p->size_params.at[i]);
    for (int i = 0; i < em->p->user_params.n; i++)
        out_printf(o, "    {%s, \"user\", 0},\n", c_string(em->cx, em->p->user_params.at[i]));
    for (int i = 0; i < em->p->choices.n; i++)
        out_printf(o, "    {%s, \"choice(%s)\", 100},\n",
                   c_string(em->cx, em->p->choices.at[i]->name), em->p->choices.at[i]->kind);
    out_puts(o, "};\n\n");
}

static void emit_sites(Emit *em)
{
    Out *o = em->o;
    if (em->p->sites.n == 0)
        return;
    heading(o, "Places that can fail");
    out_puts(o, "static const rt_site_def sites[] = {\n");
    for (int i = 0; i < em->p->sites.n; i++) {
        const Site *s = &em->p->sites.at[i];
        const char *line = diag_excerpt(s->loc);
        out_printf(o, "    {%s, %s, %s},\n", c_string(em->cx, s->msg),
                   c_string(em->cx, diag_place_str(s->loc)),
                   line ? c_string(em->cx, line) : "NULL");
    }
    out_puts(o, "};\n\n");
}

/* What the entries' functions call besides the runtime. */
static void emit_helpers(Emit *em)
{
    bool launches = false, holds = false;
    for (int i = 0; i < em->p->entries.n; i++) {
        launches |= ops_have(&em->p->entries.at[i]->ops, H_LAUNCH);
        holds |= ops_are(&em->p->entries.at[i]->ops, HO_GIVES);
    }
    if (launches)
        out_puts(em->o,
                 "/* A launch that no version can take the place of if the device refuses it. */\n"
                 "static inline int launch_only(rt_ctx *ctx, int kernel, int n_dims,\n"
                 "                              const int64_t *global, const int64_t *local,\n"
                 "                              int n_args, const rt_arg *args)\n"
                 "{\n"
                 "    int rc = rt_launch(ctx, kernel, n_dims, global, local, n_args, args);\n"
                 "    if (rc == RT_REFUSED)\n"
                 "        rc = rt_error_set(ctx, \"%s: the device cannot run kernel %s\",\n"
                 "                          kernels[kernel].prov, kernels[kernel].name);\n"
                 "    return rc;\n"
                 "}\n\n");
    if (holds)
        out_puts(em->o, "static inline void unref_all(rt_ctx *ctx, int n, rt_mem **const *blocks)\n"
                        "{\n"
                        "    for (int i = 0; i < n; i++)\n"
                        "        rt_unref(ctx, blocks[i]);\n"
                        "}\n\n");
}

static const char *table_ref(int n, const char *name)
{
    return n ? name : "NULL";
}

static void emit_program(Emit *em, const char *name)
{
    const Plan *p = em->p;
    out_printf(em->o,
               "static const rt_program program = {\n"
               "    %s, %d, %d, %d, %d, %d, %d,\n"
               "    %s, %s, %s, %s, entries, %s, %s, UINT64_C(0x%llx), %s, %s};\n",
               c_string(em->cx, name), p->kernels.n, plan_n_params(p), p->sites.n, em->b->types.n,
               p->entries.n, p->n_recalls, table_ref(p->kernels.n, "kernels"),
               table_ref(plan_n_params(p), "params"), table_ref(p->sites.n, "sites"),
               table_ref(em->b->types.n, "types"), p->server ? "true" : "false",
               p->same_products ? "true" : "false", (unsigned long long)em->kernels_hash,
               table_ref(p->kernels.n, "texts"), p->ranks ? "&ranks" : "NULL");
}

/* "dir/prog.sf" -> "prog" */
static const char *program_name(Ctx *cx, const char *source)
{
    const char *slash = strrchr(source, '/');
    char *name = arena_strdup(cx->perm, slash ? slash + 1 : source);
    char *dot = strrchr(name, '.');
    if (dot && dot != name)
        *dot = 0;
    return name;
}

/* The program up to its tables, behind these parts of the runtime. */
static Emit emit_tables(Ctx *cx, Out *o, const Plan *p, const char *source_name, RuntimePart shell)
{
    Emit em = {.cx = cx, .o = o, .p = p, .b = boundary_new(cx, p)};
    out_c_comment(o, EMIT_HEAD "%s. Not meant to be edited.", source_name);
    out_puts(o, "\n/* First the runtime, which is the same for every program; then, from the line\n"
                " * \"==== The program\" on: the kernels' sources, tables, and a function for each "
                "entry. */\n");
    emit_runtime(o, RUNTIME_CORE);
    emit_runtime(o, shell);
    out_puts(o, "/* ==== The program ==== */\n\n");
    emit_functions(&em);
    out_puts(o, "#ifndef RT_PART_KERNELS\n\n");
    if (p->ranks)
        emit_runtime(o, RUNTIME_MPI);
    heading(o, "Kernels");
    emit_kernels(&em);
    emit_tuning_params(&em);
    emit_sites(&em);
    emit_helpers(&em);
    for (int i = 0; i < p->entries.n; i++)
        emit_entry(&em, p->entries.at[i]);
    emit_entries(&em);
    emit_program(&em, program_name(cx, source_name));
    return em;
}

static const char END[] = "\n#endif /* RT_PART_KERNELS */\n";

size_t emit_c(Ctx *cx, Out *o, const Plan *p, const char *source_name)
{
    Emit em = emit_tables(cx, o, p, source_name, RUNTIME_PROGRAM);
    out_puts(o, "\nint main(int argc, char **argv)\n{\n"
                "    return rt_main(&program, argc, argv);\n}\n");
    out_puts(o, END);
    return em.functions;
}

size_t emit_library(Ctx *cx, const Plan *p, const char *source_name, Library *out)
{
    Emit em = emit_tables(cx, &out->c, p, source_name, RUNTIME_LIBRARY);
    out_puts(&out->c, "\n");
    heading(&out->c, "Futhark's C API: types and entry points");
    out_c_comment(&out->h, EMIT_HEAD "%s. Not meant to be edited.", source_name);
    out_puts(&out->h, "\n#pragma once\n\n");
    emit_runtime(&out->h, RUNTIME_API);
    Api *api = api_new(cx, em.b, p);
    api_header(&out->h, api);
    api_functions(&out->c, api);
    out_puts(&out->c, END);
    api_manifest(&out->json, api);
    return em.functions;
}
