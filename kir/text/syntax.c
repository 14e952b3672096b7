/* The tables of the text form. */
#include "kir/text/text.h"

#include <string.h>

const char kxchg_word[] = "exchange";

#define KSTM(TAG, word, operands, flags) static const char word_##TAG[] = word;
#include "kir/kinds.def"

#define ROW(TAG, items) [KST_##TAG] = {KST_##TAG, false, word_##TAG, items}
const KSyntax ksyntax[N_KSYNTAX] = {
    ROW(LET, "V = 0"),
    ROW(VAR, "V =0"),
    ROW(SET, "v = 0"),
    ROW(LOAD, "V = @"),
    ROW(STORE, "@ = 1"),
    ROW(ARRAY, "B"),
    ROW(VIEW, "B of at0"),
    ROW(FRESH, "b"),
    ROW(FAILING, "V"),
    ROW(ATOMIC, "V= @ op 1"),
    ROW(CAS, "V= @ from 1 to 2"),
    ROW(RACE, "@ = 1"),
    ROW(PEEK, "V = @"),
    ROW(POST, "@ = 1"),
    ROW(PREFETCH, "@"),
    ROW(COPY, "@ at args pitch = with@ if 2"),
    ROW(ROUND, "0"),
    ROW(FRAGMENTS, "with from @ and 1 at args tile"),
    ROW(MULTIPLY, "with from b tile"),
    ROW(EXPOSE, ""),
    ROW(SETTLE, "b"),
    ROW(ARRIVE, "V = @"),
    ROW(FOR, "V from 0 to 1 by unroll {"),
    ROW(WHILE, "0 {"),
    ROW(IF, "0 likely { else"),
    ROW(BLOCK, "{"),
    ROW(WORK, "label {"),
    ROW(LEAVE, "target"),
    ROW(BARRIER, "fence"),
    ROW(FAIL, "site args"),
    ROW(HEAP, "v , top = 0 times 1"),
    ROW(SHUFFLE, "V = 0 lane 1"),
    ROW(POWER, "V = 0"),
    ROW(CALL, "V = fun args"),
    ROW(GIVE, "0"),
    ROW(COMMENT, "text"),
    [N_KSTMS] = {KST_WHILE, true, "do", "{ while 0"},
};

const KSyntax *ksyntax_of(const KStm *s)
{
    return &ksyntax[s->post ? N_KSTMS : (int)s->kind];
}

bool ksyntax_item(const char **at, char item[KITEM_MOST])
{
    *at += strspn(*at, " ");
    size_t n = strcspn(*at, " ");
    ASSERT(n < KITEM_MOST);
    memcpy(item, *at, n);
    item[n] = '\0';
    *at += n;
    return n > 0;
}

/* A sign stands before those that it begins with. */
const KInfix kinfixes[] = {
    {OP_LOR, false, "||", KL_OR},     {OP_LAND, false, "&&", KL_AND},
    {OP_EQ, false, "==", KL_COMPARE}, {OP_NE, false, "!=", KL_COMPARE},
    {OP_LE, false, "<=", KL_COMPARE}, {OP_LT, false, "<", KL_COMPARE},
    {OP_ADD, true, "+", KL_SUM},      {OP_SUB, true, "-", KL_SUM},
    {OP_MUL, true, "*", KL_PRODUCT},  {OP_QUOT, true, "/", KL_PRODUCT},
    {OP_REM, true, "%", KL_PRODUCT},
};
const int n_kinfixes = sizeof kinfixes / sizeof *kinfixes;

const char *const kcolumns_word[N_KCOLUMNS] = {[KC_NONE] = "",
                                               [KC_LATER] = " columns_later",
                                               [KC_BEHIND] = " columns_behind",
                                               [KC_DONE] = " columns"};

const char *const kformal_word[] = {[KP_FAILURE] = "failure",
                                    [KP_MEM] = "mem",
                                    [KP_SCALAR] = "scalar",
                                    [KP_LOCAL] = "local",
                                    [KP_HEAP] = "heap"};
const int n_kformals = sizeof kformal_word / sizeof *kformal_word;
