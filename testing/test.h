/* minifut test: the command. */
#ifndef TESTING_TEST_H
#define TESTING_TEST_H

/* Takes the arguments after its name; returns the exit code. */
int test_main(int argc, char **argv);

#endif
