/* Ending on request. */
#ifndef COMMAND_SIGNALS_H
#define COMMAND_SIGNALS_H

/* From now on SIGINT, SIGTERM and, unless it is ignored (nohup), SIGHUP call the handler. Calls of
 * the system that wait end then (EINTR). */
void catch_signals(void (*handler)(int sig));

#endif
