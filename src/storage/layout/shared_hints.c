/*
 * shared_hints.c
 *		Where a session may look for a partition or leaf first: hints in shared memory.
 *
 * Who has read a container's layout from the catalogs leaves a hint of each partition and
 * leaf here, so that others need not read all partitions for the sake of one leaf.
 * A hint is an OID, or a number, and no more than a guess: partitions are detached, and
 * tables dropped, while nobody takes their hints away, and one key's hint may overwrite
 * another's. Whoever follows one proves by the catalogs that it is right
 * (partition_check.c), and reads the layout otherwise. So there is no lock, and no
 * invalidation. One value of 64 bits, written and read at once, is all there is to a
 * hint: half of it tells what it is of.
 *
 * Runs in the postmaster (set-up) and in every process.
 */
#include "postgres.h"

#include "storage/layout/layout.h"
#include "storage/layout/layout_cache.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/atomics.h"

/*
 * A hint has its place in a bucket as large as a cache line. There is room for
 * three sets of containers of 1,024 partitions each.
 */
#define BUCKET_SIZE 8
#define N_BUCKETS 4096

typedef pg_atomic_uint64 Bucket[BUCKET_SIZE];

static Bucket *buckets = NULL;

/* What a hint is of. */
typedef struct HintKey
{
	Oid			database;
	Oid			parent;
	uint32		kind;
	uint32		number;
} HintKey;

/* How much shared memory hints take. */
Size
layout_hints_size(void)
{
	return sizeof(Bucket) * N_BUCKETS + PG_CACHE_LINE_SIZE;
}

/* Where hints are, in shared memory; fresh: it has just been made. */
void
layout_hints_attach(void *memory, bool fresh)
{
	buckets = (Bucket *) CACHELINEALIGN(memory);
	for (int b = 0; fresh && b < N_BUCKETS; b++)
		for (int i = 0; i < BUCKET_SIZE; i++)
			pg_atomic_init_u64(&buckets[b][i], 0);
}

/* The bucket of a hint, and what tells it from others there, in the upper half. */
static pg_atomic_uint64 *
find_bucket(HintKind kind, Oid parent, int number, uint64 *tag)
{
	HintKey		key = {MyDatabaseId, parent, kind, number};
	uint64		hash = hash_bytes_extended((unsigned char *) &key, sizeof(key), 0);

	*tag = hash & ~UINT64_C(0xffffffff);
	return buckets[hash % N_BUCKETS];
}

/* Leave a hint that something of a parent's is value, which is not 0. */
void
hint_leave(HintKind kind, Oid parent, int number, uint32 value)
{
	pg_atomic_uint64 *bucket;
	uint64		tag;
	int			at;

	bucket = find_bucket(kind, parent, number, &tag);
	/* in a full bucket, instead of any other */
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

/* What is said to be there; 0: nothing is said. It has to be proven. */
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
