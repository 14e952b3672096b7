#include "kir/tool/tool.h"

#include "base/stage.h"

#include "command/source.h"
#include "kir/facts/verify.h"
#include "kir/passes/passes.h"
#include "kir/target/target.h"
#include "kir/text/text.h"
#include "kir/walk.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const char *file;
    VEC(const KPass *) passes;
    const KTarget *target; /* NULL: the kernels as they are */
    bool opencl;
} KTool;

static int usage(const char *what, const char *arg)
{
    fprintf(stderr,
            "minifut: %s '%s': minifut kir FILE.kir [--target=NAME] [--pass=NAME]... [--opencl]\n",
            what, arg);
    return EXIT_USAGE;
}

static int take_arg(KTool *t, Arena *a, const char *arg)
{
    static const char pass[] = "--pass=", target[] = "--target=";
    if (strcmp(arg, "--opencl") == 0) {
        t->opencl = true;
    } else if (strncmp(arg, pass, strlen(pass)) == 0) {
        const KPass *p = kir_pass(arg + strlen(pass));
        if (!p)
            return usage("no pass", arg);
        vec_push(a, &t->passes, p);
    } else if (strncmp(arg, target, strlen(target)) == 0) {
        t->target = ktarget_named(arg + strlen(target));
        if (!t->target)
            return usage("no target", arg);
    } else if (arg[0] == '-' || t->file) {
        return usage("unknown argument", arg);
    } else {
        t->file = arg;
    }
    return 0;
}

/* The passes, on a kernel that is well-formed, and the text of what they leave. */
static void run(Out *o, Arena *a, const KTool *t, KFun *f)
{
    const KTarget *on = t->target || !t->opencl ? t->target : &ktargets[KTARGET_GPU];
    if (on)
        f = kir_specialize(a, f, on);
    for (int i = 0; i < t->passes.n; i++) {
        stage_enter(t->passes.at[i]->name);
        t->passes.at[i]->run(a, f);
        kir_verify(f, t->passes.at[i]->name);
    }
    if (t->opencl)
        on->print(o, f);
    else
        kir_print(o, f);
}

static void check(Arena *a, const KFun *f)
{
    Loc at = f->loc;
    const char *wrong = kir_check(a, f, &at);
    if (wrong)
        diag_error(at, "%s", wrong);
}

static bool read_kernels(Ctx *cx, const char *file, KFuns *fs)
{
    size_t n;
    char *text = source_read(cx->perm, file, true, NO_LOC, &n);
    bool ok = text && kir_read(cx, file, text, n, fs);
    for (int i = 0; ok && i < fs->n; i++) {
        KFuns called = kfun_called(cx->perm, fs->at[i]);
        for (int k = 0; k < called.n; k++)
            check(cx->perm, called.at[k]);
        check(cx->perm, fs->at[i]);
    }
    diag_flush();
    return ok && !diag_errors();
}

int kir_main(int argc, char **argv)
{
    Arena *a = arena_new();
    Ctx cx = {.perm = a, .scratch = arena_new()};
    KTool t = {0};
    for (int i = 0; i < argc; i++) {
        int code = take_arg(&t, a, argv[i]);
        if (code)
            return code;
    }
    if (!t.file)
        return usage("which file?", "");
    KFuns fs = {0};
    if (!read_kernels(&cx, t.file, &fs))
        return EXIT_USER;
    Out o = {0};
    for (int i = 0; i < fs.n; i++) {
        out_puts(&o, i ? "\n" : "");
        run(&o, a, &t, fs.at[i]);
    }
    fputs(o.text ? o.text : "", stdout);
    out_free(&o);
    return 0;
}
