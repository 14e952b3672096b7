/* minifut new: a small project to begin with. */
#ifndef PROJECT_NEW_H
#define PROJECT_NEW_H

/* Takes the arguments after its name; returns the exit code. */
int new_main(int argc, char **argv);

#endif
