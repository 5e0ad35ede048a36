/*
 * new_id.c
 *		Makes uuids of version 7 (RFC 9562, section 5.7).
 *
 * A uuid of version 7 begins with the time in milliseconds, so ids that are
 * made at about the same time are close together in indexes. The next 12 bits
 * contain the fraction of the millisecond (method 3 of the RFC). The rest is
 * random. Runs in any process.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/rows/rows.h"

#include <sys/time.h>
#include <time.h>

#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(blogstore_new_id);

/*
 * The number of ids for which random bytes are fetched at once. To fetch the
 * bytes for 64 ids costs hardly more than for one id.
 */
#define POOL_IDS 64

#define RANDOM_BYTES (UUID_LEN - 6)

static void
random_bytes(unsigned char *out)
{
	static unsigned char pool[POOL_IDS * RANDOM_BYTES];
	static int	left = 0;

	if (left == 0)
	{
		if (!pg_strong_random(pool, sizeof(pool)))
			ereport(ERROR,
					(errcode(ERRCODE_INTERNAL_ERROR),
					 errmsg("could not generate random values")));
		left = POOL_IDS;
	}
	memcpy(out, &pool[--left * RANDOM_BYTES], RANDOM_BYTES);
}

/* Make a uuid of version 7. Errors: XX000 if no random bytes are available. */
void
new_id(pg_uuid_t *id)
{
	struct timespec now;
	uint64		ms;
	uint32		fraction;

	random_bytes(&id->data[6]);
	clock_gettime(CLOCK_REALTIME, &now);
	ms = (uint64) now.tv_sec * 1000 + now.tv_nsec / 1000000;
	fraction = (uint32) (((uint64) (now.tv_nsec % 1000000) << 12) / 1000000);

	for (int i = 0; i < 6; i++)
		id->data[i] = (unsigned char) (ms >> (40 - 8 * i));
	id->data[6] = 0x70 | (fraction >> 8);	/* the version number, 7 */
	id->data[7] = fraction & 0xff;
	id->data[8] = (id->data[8] & 0x3f) | 0x80;	/* the variant that the RFC
												 * prescribes */
}

Datum
blogstore_new_id(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *id = palloc(sizeof(pg_uuid_t));

	new_id(id);
	PG_RETURN_UUID_P(id);
}
