/* Makes each fdatasync of a server later by FLUSH_DELAY_US microseconds. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int fdatasync(int fd)
{
    static int (*real)(int);
    static long us = -1;
    if (!real) {
        const char *text = getenv("FLUSH_DELAY_US");
        real = (int (*)(int))dlsym(RTLD_NEXT, "fdatasync");
        us = text ? atol(text) : 0;
    }
    int result = real(fd);
    if (us > 0) {
        struct timespec time = {us / 1000000, us % 1000000 * 1000};
        nanosleep(&time, NULL);
    }
    return result;
}
