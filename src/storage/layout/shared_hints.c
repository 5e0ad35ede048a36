/*
 * shared_hints.c
 *		Hints in shared memory on where to look for a partition or a leaf.
 *
 * A process that has read a container's layout from the catalogs leaves a hint
 * for each partition and leaf. Other processes then need not read all
 * partitions to find one leaf. A hint is the OID of a table, or a modulus, and
 * only a guess: the table may have been detached or dropped since, and hints
 * of different keys can overwrite each other. A process that uses a hint
 * checks it against the catalogs (partition_check.c), and otherwise reads the
 * layout. There are therefore no locks and no invalidation. A hint is one
 * atomic 64-bit value; its upper half identifies what the hint is about.
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
 * A hash table of hints. Each bucket fills a cache line. There is room for
 * three sets of containers with 1,024 partitions each.
 */
#define BUCKET_SIZE 8
#define N_BUCKETS 4096

typedef pg_atomic_uint64 Bucket[BUCKET_SIZE];

static Bucket *buckets = NULL;

/* What a hint is about. */
typedef struct HintKey
{
	Oid			database;
	Oid			parent;
	uint32		kind;
	uint32		number;
} HintKey;

/* Return the size of the shared memory for hints. */
Size
layout_hints_size(void)
{
	return sizeof(Bucket) * N_BUCKETS + PG_CACHE_LINE_SIZE;
}

/*
 * Set the address of the hints in shared memory. fresh: also initialize them.
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
 * Return the bucket of a hint. *tag becomes the upper half of the hint's
 * value, which distinguishes it from others in the bucket.
 */
static pg_atomic_uint64 *
find_bucket(HintKind kind, Oid parent, int number, uint64 *tag)
{
	HintKey		key = {MyDatabaseId, parent, kind, number};
	uint64		hash = hash_bytes_extended((unsigned char *) &key, sizeof(key), 0);

	*tag = hash & ~UINT64_C(0xffffffff);
	return buckets[hash % N_BUCKETS];
}

/* Store a hint. value: not 0. */
void
hint_leave(HintKind kind, Oid parent, int number, uint32 value)
{
	pg_atomic_uint64 *bucket;
	uint64		tag;
	int			at;

	bucket = find_bucket(kind, parent, number, &tag);
	/* in a full bucket, overwrite any other hint */
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
 * Return the value of a hint, which the caller must check; 0 if there is none.
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
