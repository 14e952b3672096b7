#include "command/signals.h"

#include <signal.h>
#include <stddef.h>

void catch_signals(void (*handler)(int sig))
{
    struct sigaction act = {.sa_handler = handler}, old; /* no SA_RESTART */
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    if (sigaction(SIGHUP, NULL, &old) == 0 && old.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &act, NULL);
}
