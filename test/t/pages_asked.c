/*
 * pages_asked.c
 *		What a server asks the system to read ahead (062_read_ahead.pl): a line for each call
 *		of posix_fadvise() that does goes to the file PAGES_ASKED. Preloaded by LD_PRELOAD.
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
