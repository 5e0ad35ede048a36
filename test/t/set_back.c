/*
 * set_back.c
 *		A clock of one server that a test can set, for 059_clock_set_back.pl.
 *		gettimeofday() adds a number of seconds, a 64-bit number in the file
 *		that CLOCK_OFFSET names. Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static const volatile int64_t *offset = NULL;

__attribute__((constructor)) static void
open_offset(void)
{
	const char *path = getenv("CLOCK_OFFSET");
	int			fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	void	   *map = fd < 0 ? MAP_FAILED :
		mmap(NULL, sizeof(*offset), PROT_READ, MAP_SHARED, fd, 0);

	if (map == MAP_FAILED)
		abort();
	offset = map;
	close(fd);
}

int
gettimeofday(struct timeval *restrict tv, void *restrict tz)
{
	struct timespec now;

	(void) tz;
	if (syscall(SYS_clock_gettime, CLOCK_REALTIME, &now) != 0)
		return -1;
	tv->tv_sec = now.tv_sec + *offset;
	tv->tv_usec = now.tv_nsec / 1000;
	return 0;
}
