/*
 * shared_hints.c
 *		Hints in shared memory on which tables the containers consist of.
 *
 * A process that has read a container's layout from the catalogs leaves a hint
 * for each partition and each leaf. Other processes then need not read all
 * partitions to find one leaf. A hint is the OID of a table, or a modulus. A
 * hint is only a guess: the table may have been detached or dropped since, and
 * a hint can overwrite one on another subject. So there are no locks and no
 * invalidation. A process that uses a hint checks it against the catalogs
 * (partition_check.c). If the hint is wrong, the process reads the whole
 * layout. A hint is one atomic 64-bit value, whose upper half identifies its
 * subject.
 *
 * Runs in the postmaster, which sets up the memory, and in every process.
 */
#include "postgres.h"

#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"

/*
 * The size of the hash table of hints. Each bucket has eight hints and fills a
 * cache line. There is room for the hints of three databases with 1,024
 * partitions in each container.
 */
#define BUCKET_SIZE 8
#define N_BUCKETS 4096

typedef pg_atomic_uint64 Bucket[BUCKET_SIZE];

static Bucket *buckets = NULL;

/*
 * The subject of a hint, by which a hint is found: the kind of hint, and the
 * table that it is about. A hash of the subject determines the bucket that the
 * hint is in.
 */
typedef struct HintKey
{
	Oid			database;
	Oid			parent;
	uint32		kind;
	uint32		number;
} HintKey;

Size
layout_hints_size(void)
{
	return sizeof(Bucket) * N_BUCKETS + PG_CACHE_LINE_SIZE;
}

/*
 * Set the address of the shared memory for hints. fresh: the memory is new,
 * and is initialized.
 */
void
layout_hints_attach(void *memory, bool fresh)
{
	buckets = (Bucket *) CACHELINEALIGN(memory);
	for (int b = 0; fresh && b < N_BUCKETS; b++)
		for (int i = 0; i < BUCKET_SIZE; i++)
			pg_atomic_init_u64(&buckets[b][i], 0);
}

/*
 * Return the bucket for a hint on a subject. Sets *tag to the upper half of
 * the hint's value, which distinguishes the hint from others in the bucket.
 */
static pg_atomic_uint64 *
find_bucket(HintKind kind, Oid parent, int number, uint64 *tag)
{
	HintKey		key = {MyDatabaseId, parent, kind, number};
	uint64		hash = hash_bytes_extended((unsigned char *) &key, sizeof(key), 0);

	*tag = hash & ~UINT64_C(0xffffffff);
	return buckets[hash % N_BUCKETS];
}

/*
 * Store a hint in shared memory. It may overwrite another one.
 *
 * kind, parent, number: the subject of the hint
 * value: an OID or a modulus, not 0
 */
void
hint_leave(HintKind kind, Oid parent, int number, uint32 value)
{
	pg_atomic_uint64 *bucket;
	uint64		tag;
	int			at;

	bucket = find_bucket(kind, parent, number, &tag);
	/* If the bucket is full, this overwrites one of its hints. */
	at = (tag >> 32) % BUCKET_SIZE;
	for (int i = BUCKET_SIZE - 1; i >= 0; i--)
	{
		uint64		there = pg_atomic_read_u64(&bucket[i]);

		if (there == 0)
			at = i;
		else if ((there & ~UINT64_C(0xffffffff)) == tag)
		{
			at = i;
			break;
		}
	}
	if (pg_atomic_read_u64(&bucket[at]) != (tag | value))
		pg_atomic_write_u64(&bucket[at], tag | value);
}

/*
 * Return the value of a hint in shared memory; 0 if there is none. The caller
 * must check the value, because hints may be wrong.
 */
uint32
hint_find(HintKind kind, Oid parent, int number)
{
	pg_atomic_uint64 *bucket;
	uint64		tag;

	bucket = find_bucket(kind, parent, number, &tag);
	for (int i = 0; i < BUCKET_SIZE; i++)
	{
		uint64		there = pg_atomic_read_u64(&bucket[i]);

		if (there != 0 && (there & ~UINT64_C(0xffffffff)) == tag)
			return (uint32) there;
	}
	return 0;
}
