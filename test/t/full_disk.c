/*
 * full_disk.c
 *		Full disks of one server, for 097_full_disk.pl. While the file
 *		FULL_DISK.wal exists, where FULL_DISK is an environment variable, no
 *		file of pg_wal can grow; while FULL_DISK.tables exists, no other file
 *		of the data directory can. Loaded by LD_PRELOAD.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static char tables[1000];
static char wal[1000];

__attribute__((constructor)) static void
name_files(void)
{
	const char *path = getenv("FULL_DISK");

	if (!path || strlen(path) > sizeof(tables) - sizeof(".tables"))
		abort();
	sprintf(tables, "%s.tables", path);
	sprintf(wal, "%s.wal", path);
}

/* Is the disk of this file full, and does the file end before "end"? */
static bool
no_space(int fd, off64_t end)
{
	char		link[64];
	char		path[1000];
	ssize_t		length;
	struct stat64 status;

	sprintf(link, "/proc/self/fd/%d", fd);
	length = readlink(link, path, sizeof(path) - 1);
	if (length < 0)
		return false;
	path[length] = '\0';
	if (!strstr(path, "/pgdata/") ||
		access(strstr(path, "/pg_wal/") ? wal : tables, F_OK) != 0)
		return false;
	return fstat64(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < end;
}

/* The C library's function of the same name */
#define NEXT(function) ((__typeof__(&function)) dlsym(RTLD_NEXT, #function))

static off64_t
length_of(const struct iovec *vector, int count)
{
	off64_t		length = 0;

	for (int i = 0; i < count; i++)
		length += vector[i].iov_len;
	return length;
}

ssize_t
write(int fd, const void *data, size_t size)
{
	off64_t		offset;
	int			saved = errno;

	offset = lseek64(fd, 0, SEEK_CUR);
	errno = saved;
	if (offset >= 0 && no_space(fd, offset + size))
	{
		errno = ENOSPC;
		return -1;
	}
	return NEXT(write) (fd, data, size);
}

ssize_t
pwrite64(int fd, const void *data, size_t size, off64_t offset)
{
	if (no_space(fd, offset + size))
	{
		errno = ENOSPC;
		return -1;
	}
	return NEXT(pwrite64) (fd, data, size, offset);
}

ssize_t
pwrite(int fd, const void *data, size_t size, off_t offset)
{
	return pwrite64(fd, data, size, offset);
}

ssize_t
pwritev64(int fd, const struct iovec *vector, int count, off64_t offset)
{
	if (no_space(fd, offset + length_of(vector, count)))
	{
		errno = ENOSPC;
		return -1;
	}
	return NEXT(pwritev64) (fd, vector, count, offset);
}

ssize_t
pwritev(int fd, const struct iovec *vector, int count, off_t offset)
{
	return pwritev64(fd, vector, count, offset);
}

int
posix_fallocate64(int fd, off64_t offset, off64_t size)
{
	return no_space(fd, offset + size) ? ENOSPC : NEXT(posix_fallocate64) (fd, offset, size);
}

int
posix_fallocate(int fd, off_t offset, off_t size)
{
	return posix_fallocate64(fd, offset, size);
}
