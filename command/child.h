/* Processes that a command starts and waits for: a signal that is to end the command ends them
 * first, and what they leave is tidied up before it ends itself. */
#ifndef COMMAND_CHILD_H
#define COMMAND_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

/* From now on SIGINT, SIGTERM and SIGHUP are only noted, and sent to the child that there is; up to
 * child_release, which has them act as before, and does so with one that came. Of such pairs within
 * each other the outermost counts. */
void child_hold(void);
void child_release(void);

/* As fork(), for a child that will be another program, one at a time, while signals are held. They
 * go to the child (`group`: and to all that it starts), as does SIGTERM when this process is
 * killed. -1 and EINTR if one came before. */
pid_t child_fork(bool group);
/* Waits for it: its status as of waitpid, or -1 and errno. */
int child_wait(pid_t pid);

#endif
