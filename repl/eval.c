/* minifut eval: the values, or types, of expressions, a line each. */
#include "repl/eval.h"

#include "base/arena.h"
#include "command/args.h"
#include "command/source.h"
#include "repl/ask.h"

#include <string.h>

typedef struct {
    Arena *a;
    const char *file;
    bool type;
    VEC(const char *) exps;
} Command;

static int take_expression(void *env, const char *word)
{
    Command *c = env;
    vec_push(c->a, &c->exps, word);
    return -1;
}

/* `-1` and `-(2 * 3)`: no option is called so. */
static int take_negative(void *env, const char *arg)
{
    return arg[1] && strchr("0123456789( ", arg[1]) ? take_expression(env, arg) : ARGS_UNKNOWN;
}

/* The program whose definitions the expressions have. 0, or the exit code after messages. */
static int begin(const Command *c, Session *s)
{
    FePiece p = {.name = c->file};
    p.text = source_read(c->a, c->file, true, NO_LOC, &p.n);
    if (!p.text) {
        diag_flush();
        return diag_exit_code();
    }
    int code = ask_load(s, &p, NULL);
    if (!code)
        session_add(s, &p, NULL);
    return code;
}

/* All of them; the exit code of the first that is wrong. */
static int evaluate(const Command *c, const Session *s)
{
    int code = 0;
    for (int i = 0; i < c->exps.n; i++) {
        FePiece p = {.name = "<expression>", .text = c->exps.at[i], .exp = true};
        p.n = strlen(p.text);
        if (c->exps.n > 1)
            p.name = arena_printf(c->a, "<expression %d>", i + 1);
        int one = c->type ? ask_type(s, &p, false) : ask_value(s, &p, SHOW_VALUE);
        code = code ? code : one;
    }
    return code;
}

int eval_main(int argc, char **argv)
{
    Command c = {.a = arena_new()};
    const ArgRow rows[] = {
        {"-f, --file FILE", "a program whose definitions the expressions may use", .text = &c.file},
        {"-t, --type", "prints their types instead", .flag = &c.type},
        {0}};
    const Args args = {"minifut eval",
                       "usage: minifut eval [options] EXPRESSION...\n\n"
                       "Interprets expressions and prints their values, each on a line.\n",
                       rows,
                       0,
                       &c,
                       take_negative,
                       take_expression,
                       NULL,
                       NULL};
    int code = args_read(&args, argc, argv);
    if (code >= 0)
        return code;
    if (!c.exps.n)
        return args_wrong(&args, "which expression?");
    Session *s = session_new();
    code = c.file ? begin(&c, s) : 0;
    if (!code)
        code = evaluate(&c, s);
    session_free(s);
    return code;
}
