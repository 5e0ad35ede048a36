/*
 * told_posts.c
 *		Records in which round the change feed last reported a change of a
 *		post. A round is one pass of the worker's main loop. verify() reads
 *		these records, to find out whether the worker still has to apply
 *		changes of a post (admin/verify_settled.c).
 *
 * The rounds are numbered. Identifiers call the number of a round a turn.
 * ToldPosts.post is an array of TOLD_PLACES such numbers, and a hash of the
 * post_id selects the element. Posts with the same hash share an element. So
 * the round recorded for a post may be too late, but never too early.
 *
 * The worker records a post when it decodes a change of the post. If the
 * transaction is held back until other processes see its commit (held_back.c),
 * the worker records the post again when it releases the transaction.
 *
 * The data are in shared memory. The worker writes them. If the launcher could
 * not start a worker, it calls told_end_turn(). Readers take no lock.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "common/hashfn.h"

void
told_init(ToldPosts *told)
{
	pg_atomic_init_u64(&told->turn, 0);
	pg_atomic_init_u64(&told->ended, 0);
	pg_atomic_init_u64(&told->complete, 0);
	pg_atomic_init_u64(&told->applied, 0);
	pg_atomic_init_u64(&told->listed, 0);
	for (int i = 0; i < TOLD_PLACES; i++)
		pg_atomic_init_u64(&told->post[i], 0);
}

static int
place_of(const pg_uuid_t *post_id)
{
	return hash_bytes(post_id->data, UUID_LEN) % TOLD_PLACES;
}

/*
 * Begin a round, and return its number. A new worker of the database continues
 * the numbers of the previous one.
 */
uint64
told_begin_turn(ToldPosts *told)
{
	return pg_atomic_add_fetch_u64(&told->turn, 1);
}

/* Record that the change feed has reported a change in this round. */
void
told_change(ToldPosts *told, const Change *change)
{
	uint64		turn = pg_atomic_read_u64(&told->turn);

	if (change->kind == CHANGE_POST ||
		(change->kind == CHANGE_COUNTS &&
		 memcmp(&change->post.post_id, &change->item_id, UUID_LEN) == 0))
		pg_atomic_write_u64(&told->post[place_of(&change->post.post_id)], turn);
	if (change->kind == CHANGE_ANYTHING)
		for (int i = 0; i < TOLD_PLACES; i++)
			pg_atomic_write_u64(&told->post[i], turn);
	if (change->kind == CHANGE_POST || change->kind == CHANGE_FEED_VIEW ||
		change->kind == CHANGE_ANYTHING)
		pg_atomic_write_u64(&told->listed, turn);
}

/*
 * Record that the current round has decoded all WAL that was flushed before
 * the round began.
 */
void
told_complete_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->complete, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the current round has ended. Also called when a worker exits.
 *
 * If the worker lets readers use the views in this round, it sets
 * WorkerEntry.served before it calls this function. posts_shown() reads
 * "ended" first, and "served" after it. So when posts_shown() finds that the
 * round has ended, it also finds the new value of "served".
 */
void
told_end_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->ended, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the views show all changes reported up to round "turn".
 * Snapshots taken from now on see these changes.
 */
void
told_applied(ToldPosts *told, uint64 turn)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->applied, turn);
}

/*
 * Return whether the change feed has reported a change of a post in a later
 * round than round "turn". May return true for an unchanged post, because
 * posts with the same hash share an element.
 */
bool
told_post_since(ToldPosts *told, const pg_uuid_t *post_id, uint64 turn)
{
	return pg_atomic_read_u64(&told->post[place_of(post_id)]) > turn;
}

/*
 * Return whether the change feed has reported a change that can add, remove or
 * move a post in a list of posts, in a later round than round "turn".
 */
bool
told_list_since(ToldPosts *told, uint64 turn)
{
	return pg_atomic_read_u64(&told->listed) > turn;
}
