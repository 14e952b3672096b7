/* minifut repl: a dialogue. */
#ifndef REPL_REPL_H
#define REPL_REPL_H

int repl_main(int argc, char **argv);

#endif
