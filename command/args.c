#include "command/args.h"

#include "base/diag.h"
#include "common/spell.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

int args_wrong(const Args *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s: ", a->command);
    vfprintf(stderr, fmt, ap);
    fprintf(stderr, " (%s --help)\n", a->command);
    va_end(ap);
    return EXIT_USAGE;
}

/* --- What a row shows ------------------------------------------------------------------------- */

/* A name in it: characters of *at, which moves behind it and what divides it from the next one. 0:
 * there is none. */
static int next_name(const char **at)
{
    const char *name = *at;
    int n = name[0] == '-' ? (int)strcspn(name, ", =") : 0;
    *at = name + n + (strncmp(name + n, ", ", 2) == 0 ? 2 : 0);
    return n;
}

/* What its value is called; "" if it takes none. */
static const char *value_shown(const ArgRow *row)
{
    const char *at = row->shown;
    while (next_name(&at))
        ;
    return *at ? at + 1 : at;
}

static bool is_called(const ArgRow *row, const char *name, size_t n)
{
    const char *at = row->shown, *own = at;
    for (int len; (len = next_name(&at)); own = at)
        if ((size_t)len == n && strncmp(own, name, n) == 0)
            return true;
    return false;
}

static bool has_row(const Args *a, const ArgRow *row)
{
    return !row->commands || (row->commands & a->which);
}

/* Every command has it: it is read before all rows. */
static const ArgRow help_row = {.shown = "-h, --help", .help = "this text"};

static void help_of(const ArgRow *row, FILE *f)
{
    enum { COLUMN = 25 };
    int at = fprintf(f, "  %s%s", strncmp(row->shown, "--", 2) == 0 ? "    " : "", row->shown);
    fprintf(f, "%*s", at < COLUMN ? COLUMN - at : 1, "");
    for (const char *line = row->help; *line;) {
        int n = (int)strcspn(line, "\n");
        fprintf(f, "%*s%.*s\n", line == row->help ? 0 : COLUMN, "", n, line);
        line += n + (line[n] == '\n');
    }
}

void args_help(const Args *a, FILE *f)
{
    fputs(a->about, f);
    for (const ArgRow *row = a->rows; row->shown; row++)
        if (row->help && has_row(a, row))
            help_of(row, f);
    help_of(&help_row, f);
}

/* The first of the words at *at, which moves behind it: its characters, 0 at the end. */
static int next_word(const char **at, const char **word)
{
    *word = *at + strspn(*at, " ");
    int n = (int)strcspn(*word, " ");
    *at = *word + n;
    return n;
}

bool args_listed(const char *words, const char *word)
{
    const char *w;
    for (int n; (n = next_word(&words, &w));)
        if (strlen(word) == (size_t)n && strncmp(word, w, (size_t)n) == 0)
            return true;
    return false;
}

/* The names of a row; --TYPE-bounds=A:B is as many as there are words for TYPE, each with its `=`:
 * no other form is read. */
static void complete_names(const ArgRow *row, FILE *f)
{
    static const char kind[] = "TYPE";
    const char *at = row->shown, *name = at, *part = strstr(row->shown, kind), *words = row->values,
               *word;
    if (!part) {
        for (int n; (n = next_name(&at)); name = at)
            fprintf(f, "%s%.*s", name == row->shown ? "" : " ", n, name);
        return;
    }
    const char *rest = part + strlen(kind);
    int before = (int)(part - name), after = next_name(&at) - before - (int)strlen(kind);
    for (int n; (n = next_word(&words, &word));)
        fprintf(f, "%s%.*s%.*s%.*s=", word == row->values ? "" : " ", before, name, n, word, after,
                rest);
}

static void complete_row(const ArgRow *row, FILE *f)
{
    const char *value = value_shown(row),
               *words = row->values && !strstr(row->shown, "TYPE") ? row->values : "";
    if (*value >= 'a' && *value <= 'z') /* it is the only one: --only=thresholds */
        words = value;
    complete_names(row, f);
    fprintf(f, "\t%s\t%s\t%.*s\n", value, words, (int)strcspn(row->help, "\n"), row->help);
}

static void complete(const Args *a, FILE *f)
{
    fprintf(f, "files %s\n", a->files ? a->files : "");
    if (a->first)
        fprintf(f, "first %s\n", a->first);
    for (const ArgRow *row = a->rows; row->shown; row++)
        if (row->help && has_row(a, row))
            complete_row(row, f);
    complete_row(&help_row, f);
}

/* --- Reading ---------------------------------------------------------------------------------- */

static int unknown(const Args *a, const char *arg, size_t n)
{
    char *name = strndup(arg, n);
    rt_spelling s = rt_spell(name);
    for (const ArgRow *row = a->rows; row->shown; row++) {
        const char *at = row->shown, *own = at;
        for (int len; has_row(a, row) && (len = next_name(&at)); own = at)
            rt_spell_try(&s, strndup(own, (size_t)len));
    }
    return args_wrong(a, "unknown option '%s'%s", name, rt_spell_hint(&s));
}

static int take_value(const Args *a, const ArgRow *row, const char *name, int n, const char *value)
{
    if (row->take)
        return row->take(a->env, value);
    if (row->text) {
        *row->text = value;
        return -1;
    }
    char *end;
    *row->number = strtod(value, &end);
    if (*end || end == value || !(*row->number > 0) || isinf(*row->number))
        return args_wrong(a, "option %.*s takes a positive number, not '%s'", n, name, value);
    return -1;
}

/* The option at *i, which moves over its value if that is an argument of its own. */
static int take_option(const Args *a, int argc, char **argv, int *i)
{
    const char *arg = argv[*i];
    bool is_long = arg[1] == '-';
    size_t n = is_long ? strcspn(arg, "=") : 2;
    const ArgRow *row = a->rows;
    while (row->shown && !(has_row(a, row) && is_called(row, arg, n)))
        row++;
    bool valued = row->shown && *value_shown(row);
    bool glued = !is_long && arg[n] &&
                 arg[n] != '='; /* -j4: numbers only, or misspelt names would be values */
    if (!row->shown || (glued && !(valued && row->number))) {
        int code = a->other ? a->other(a->env, arg) : ARGS_UNKNOWN;
        return code == ARGS_UNKNOWN ? unknown(a, arg, is_long ? n : strlen(arg)) : code;
    }
    const char *value = !arg[n] ? NULL : glued ? arg + n : arg + n + 1;
    if (!valued && value)
        return args_wrong(a, "option %.*s takes no value", (int)n, arg);
    if (!valued && row->take)
        return row->take(a->env, NULL);
    if (!valued) {
        *row->flag = true;
        return -1;
    }
    if (!value && *i + 1 == argc)
        return args_wrong(a, "option %.*s needs a value", (int)n, arg);
    return take_value(a, row, arg, (int)n, value ? value : argv[++*i]);
}

int args_read(const Args *a, int argc, char **argv)
{
    bool options = true; /* until `--` */
    int code = -1;
    if (argc == 1 && strcmp(argv[0], "--complete") == 0) {
        complete(a, stdout);
        return 0;
    }
    for (int i = 0; i < argc && code < 0; i++) {
        const char *arg = argv[i];
        if (options && (strcmp(arg, "--help") == 0 || strcmp(arg, "-h") == 0)) {
            args_help(a, stdout);
            return 0;
        }
        if (options && strcmp(arg, "--") == 0)
            options = false;
        else if (options && arg[0] == '-' && arg[1])
            code = take_option(a, argc, argv, &i);
        else
            code = a->word(a->env, arg);
    }
    return code;
}
