/* Questions to a session: from its texts to values, types, versions. */
#include "repl/ask.h"

#include "base/stage.h"
#include "flatten/flatten.h"
#include "frontend/lower/lower.h"
#include "host/host.h"
#include "interp/interp.h"
#include "pipeline/explained.h"
#include "pipeline/passes.h"
#include "repl/listing.h"

#include <errno.h>
#include <string.h>

typedef struct {
    const Session *s;
    Ctx *cx;
    Ast *ast;
    const FePiece *text;
    VEC(rt_hvalue) args; /* of the entry point that is being lowered, shared with the session */
} Ask;

static Ctx *new_ctx(void)
{
    Arena *perm = arena_new();
    Ctx *cx = NEW(perm, Ctx);
    cx->perm = perm;
    cx->scratch = arena_new();
    cx->verify = verify_wanted();
    return cx;
}

static Ask ask_begin(const Session *s, const FePiece *text)
{
    Ask q = {.s = s, .cx = new_ctx(), .text = text};
    FePiece *all;
    diag_reset();
    stage_enter("parse");
    int n = session_texts(s, q.cx->perm, text, &all);
    q.ast = fe_parse_session(q.cx->perm, all, n);
    return q;
}

/* 0, or the exit code after the messages. */
static int told(void)
{
    diag_flush();
    return diag_exit_code();
}

static int check(const Ask *q)
{
    bool ok = fe_check(q->ast);
    int code = told();
    return !ok && !code ? EXIT_USER : code;
}

/* The definition that the expression has become. */
static Def *expression(const Ask *q)
{
    const Decls *ds = &q->ast->main->decls;
    return ds->n ? vec_last(ds).def : NULL;
}

/* A type without what says nothing of a value that is there: that nobody else has it. */
static const AType *plain(Arena *a, const AType *t)
{
    AType *c = arena_memdup(a, type_deref(t), sizeof *t);
    c->unique = false;
    if (type_is_composite(c)) {
        ATypes parts = c->elems;
        c->elems = (ATypes){0};
        for (int i = 0; i < parts.n; i++)
            vec_push(a, &c->elems, (AType *)plain(a, parts.at[i]));
    }
    return c;
}

static const char *type_of(const Ask *q, const Def *d)
{
    return type_str(q->cx->perm, plain(q->cx->perm, d->bind->type));
}

static int flushed(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    fprintf(stderr, "minifut: cannot write to standard output: %s\n", strerror(errno));
    return EXIT_USER;
}

/* --- Values --------------------------------------------------------------------------------- */

static bool is_known(void *env, const Def *d)
{
    Ask *q = env;
    const Known *k = session_known(q->s, q->ast, d);
    for (int i = 0; k && i < k->n; i++)
        vec_push(q->cx->perm, &q->args, k->leaves[i]);
    return k != NULL;
}

/* The program of the entry points that there are, behind passes up to that one; NULL after
 * messages. */
static Prog *program(Ask *q, int last)
{
    const FeGiven given = {is_known, q};
    const PassOptions options = {.verify = q->cx->verify};
    Prog *p = fe_lower_given(q->cx, q->ast, &given);
    if (p && q->cx->verify)
        ir_verify(q->cx, p, "lower");
    if (p)
        p = passes_run(q->cx, p, 0, passes_last(p, last), &options);
    return told() ? NULL : p;
}

/* Runs the value of a definition; 0 and *r, to be freed, or the exit code after a message. */
static int run_value(Ask *q, Def *d, ExtType *type, InterpResult *r)
{
    q->ast->entries.n = 0;
    q->args.n = 0;
    q->cx->traces = true;
    fe_add_value(q->ast, d);
    Prog *p = program(q, pass_find("flatten") - 1);
    if (!p)
        return diag_exit_code();
    stage_enter("run");
    const Entry *en = &p->entries.at[0];
    Interp *in = interp_new(p);
    *r = interp_run(in, en, q->args.at, q->args.n, NULL);
    *type = en->ext_results.at[0].type;
    interp_free(in);
    return r->status == INTERP_OK ? 0 : interp_complain(r);
}

/* Why the value of a definition cannot be printed; NULL: it can. */
static const char *unprintable(const Def *d)
{
    switch (fe_value(d)) {
    case FE_VALUE: return NULL;
    case FE_FUNCTION: return "functions have no text form; this is of type";
    case FE_WRITING: return "accumulators have no text form; this is of type";
    case FE_GENERAL: return "its type has to be said before it has a value; it is of type";
    }
    return NULL;
}

int ask_value(const Session *s, const FePiece *exp, unsigned shown)
{
    Ask q = ask_begin(s, exp);
    InterpResult r = {0};
    ExtType type;
    bool all = true;
    int code = check(&q);
    if (code)
        return code;
    Def *d = expression(&q);
    const char *why = unprintable(d);
    if (why) {
        diag_error(d->loc, "%s `%s`", why, type_of(&q, d));
        return told();
    }
    code = run_value(&q, d, &type, &r);
    if (!code) {
        if (shown & SHOW_ENDS)
            interp_show_ends(stdout, &type, r.values, &all);
        else
            interp_show(stdout, &type, r.values);
        printf(shown & SHOW_TYPE ? " : %s\n" : "\n", type_of(&q, d));
        code = flushed();
    }
    interp_result_free(&r);
    return code;
}

int ask_type(const Session *s, const FePiece *exp, bool name)
{
    Ask q = ask_begin(s, exp);
    int code = check(&q);
    if (code)
        return code;
    if (name)
        printf("%.*s : ", (int)exp->n, exp->text);
    printf("%s\n", type_of(&q, expression(&q)));
    return flushed();
}

/* --- Versions ------------------------------------------------------------------------------- */

int ask_explain(const Session *s, const FePiece *exp)
{
    Ask q = ask_begin(s, exp);
    Def *d = expression(&q);
    if (d)
        d->entry = true;
    int code = check(&q);
    if (code)
        return code;
    EntryPoint *ep = &q.ast->entries.at[0];
    if (ep->name == d->name)
        ep->name = "it";
    Prog *p = program(&q, n_passes - 1);
    if (!p)
        return diag_exit_code();
    Plan *plan = host_plan(q.cx, p, false);
    if ((code = told()))
        return code;
    stage_enter("explain");
    FlExplainHook hook = explain_hook(plan, NULL);
    Out out = {0};
    fl_explain_plain(&out, q.cx, p, &hook);
    fputs(out.text ? out.text : "", stdout);
    out_free(&out);
    return flushed();
}

/* --- Declarations --------------------------------------------------------------------------- */

static void find_sources(const Ask *q, Findings *found)
{
    for (int i = 0; i < q->ast->files.n; i++) {
        const File *f = q->ast->files.at[i];
        bool known = f->bare;
        for (int k = 0; k < q->s->sources.n && !known; k++)
            known = strcmp(q->s->sources.at[k].path, f->path) == 0;
        if (!known)
            vec_push(q->cx->perm, &found->sources, (Source){f->path, f->text, f->n});
    }
}

static int find_values(Ask *q, Findings *found)
{
    const File *f = q->ast->main;
    for (int i = 0; i < f->decls.n; i++) {
        Def *d = f->decls.at[i].def;
        InterpResult r = {0};
        ExtType type;
        if (!d || d->params.n || fe_value(d) != FE_VALUE)
            continue;
        int code = run_value(q, d, &type, &r);
        if (code)
            return code;
        vec_push(q->cx->perm, &found->known, (Known){d->loc.beg - f->base, r.values, r.n});
    }
    return 0;
}

static void show_declared(const Ask *q)
{
    Listing l = {.a = q->cx->perm};
    const Decls *ds = &q->ast->main->decls;
    for (int i = 0; i < ds->n; i++)
        if (ds->at[i].bind)
            vec_push(l.a, &l.all, ds->at[i].bind);
    listing_print(&l);
}

static int unknown(const char *name, const char *what)
{
    fprintf(stderr, "unknown %s `%s`\n", what, name);
    return EXIT_USER;
}

int ask_names(const Session *s, const FePiece *nothing, const char *module)
{
    Ask q = ask_begin(s, nothing);
    Listing l = {.a = q.cx->perm};
    int code = check(&q);
    if (code)
        return code;
    if (!*module)
        listing_all(&l, q.ast);
    else if (!listing_members(&l, q.ast, module))
        return unknown(module, "module");
    listing_print(&l);
    return flushed();
}

int ask_doc(const Session *s, const FePiece *nothing, const char *name)
{
    Ask q = ask_begin(s, nothing);
    int code = check(&q);
    if (code)
        return code;
    return listing_doc(q.cx->perm, q.ast, name) ? flushed() : unknown(name, "name");
}

static int write_findings(const Ask *q, Findings *all, FILE *found)
{
    find_sources(q, all);
    if (findings_write(found, all))
        return 0;
    fprintf(stderr, "minifut: what was defined cannot be kept: %s\n", strerror(errno));
    return EXIT_USER;
}

int ask_declare(const Session *s, const FePiece *decls, FILE *found)
{
    Ask q = ask_begin(s, decls);
    Findings all = {0};
    int code = check(&q);
    if (!code)
        code = find_values(&q, &all);
    if (!code)
        code = write_findings(&q, &all, found);
    if (code)
        return code;
    show_declared(&q);
    return flushed();
}

int ask_load(const Session *s, const FePiece *program, FILE *found)
{
    Ask q = ask_begin(s, program);
    Findings all = {0};
    int code = check(&q);
    return !code && found ? write_findings(&q, &all, found) : code;
}
