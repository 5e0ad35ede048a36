/*
 * pages_asked.c
 *		Count a server's prefetches, for 062_read_ahead.pl. Each call of
 *		posix_fadvise() that asks for pages adds a line to the file that
 *		PAGES_ASKED names. Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

static int	asked = -1;

__attribute__((constructor)) static void
open_file(void)
{
	const char *path = getenv("PAGES_ASKED");

	asked = path ? open(path, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
	if (asked < 0)
		abort();
}

int
posix_fadvise64(int fd, off64_t offset, off64_t length, int advice)
{
	if (advice == POSIX_FADV_WILLNEED && write(asked, "\n", 1) != 1)
		abort();
	return syscall(SYS_fadvise64, fd, offset, length, advice) == 0 ? 0 : errno;
}

int
posix_fadvise(int fd, off_t offset, off_t length, int advice)
{
	return posix_fadvise64(fd, offset, length, advice);
}
