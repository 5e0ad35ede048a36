/*
 * shared_hints.c
 *		OIDs of partitions and leaves in shared memory, for new backends.
 *
 * A backend that has read the layout of a container from the catalogs leaves
 * hints in shared memory. The hints are the OIDs of all partitions and leaves,
 * and the largest modulus of the hash partitions (FOR VALUES WITH (MODULUS
 * ..., REMAINDER ...)). A new backend then need not read all partitions to
 * find one leaf.
 *
 * A hint may be wrong: the table may have been dropped since. So a backend
 * checks an OID against the catalogs before use (partition_check.c). If the
 * check fails, the backend reads the whole layout. Therefore hints need no
 * locks and no invalidation, and a new hint may overwrite an old one.
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
 * The size of the hash table of hints. Each bucket holds eight hints and fills
 * a cache line. The hash table has room for the hints of three databases in
 * which each container has 1,024 partitions.
 */
#define BUCKET_SIZE 8
#define N_BUCKETS 4096

typedef pg_atomic_uint64 Bucket[BUCKET_SIZE];

static Bucket *buckets = NULL;

/*
 * The key by which a hint is found. A hash of the key determines the bucket.
 * In shared memory a hint is an atomic 64-bit number: its upper half is a part
 * of the hash, and its lower half is an OID or a modulus.
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
 * Set the address of the shared memory for hints.
 *
 * fresh: the memory is new, and must be initialized
 */
void
layout_hints_attach(void *memory, bool fresh)
{
	buckets = (Bucket *) CACHELINEALIGN(memory);
	for (int b = 0; fresh && b < N_BUCKETS; b++)
		for (int i = 0; i < BUCKET_SIZE; i++)
			pg_atomic_init_u64(&buckets[b][i], 0);
}

static pg_atomic_uint64 *
find_bucket(HintKind kind, Oid parent, int number, uint64 *tag)
{
	HintKey		key = {MyDatabaseId, parent, kind, number};
	uint64		hash = hash_bytes_extended((unsigned char *) &key, sizeof(key), 0);

	*tag = hash & ~UINT64_C(0xffffffff);
	return buckets[hash % N_BUCKETS];
}

/*
 * Store a hint in shared memory. May overwrite another hint.
 *
 * kind, parent, number: the fields of the HintKey
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
