/* minifut eval: the values of expressions. */
#ifndef REPL_EVAL_H
#define REPL_EVAL_H

int eval_main(int argc, char **argv);

#endif
