/*
 * told_posts.c
 *		Records in which turn of the worker the change feed last reported a
 *		change to a post. A turn is one round of the worker's main loop.
 *
 * By this verify() finds out whether the worker still has changes of a post to
 * apply (admin/verify_settled.c). Posts are hashed to an array of TOLD_PLACES
 * turns. Posts with the same hash share an element, which has the latest turn
 * of them all. So the recorded turn may be too late for a post, but never too
 * early.
 *
 * The worker records a post in the turn that decodes its change. If the
 * transaction is held back because it is not visible to others yet
 * (held_back.c), the worker records the post a second time in the turn that
 * releases the transaction.
 *
 * The data are in shared memory. Only the worker writes them; any process
 * reads them without a lock.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "common/hashfn.h"

/* Initialize the shared memory of one database's worker. */
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
 * Begin a turn and return its number. No other turn of a worker of this
 * database has the same number until the server restarts.
 */
uint64
told_begin_turn(ToldPosts *told)
{
	return pg_atomic_add_fetch_u64(&told->turn, 1);
}

/*
 * Record that the change feed has reported a change to the worker in the
 * current round of the worker's main loop (a turn).
 */
void
told_change(ToldPosts *told, const Change *change)
{
	uint64		turn = pg_atomic_read_u64(&told->turn);

	if (change->kind == CHANGE_POST || change->kind == CHANGE_COUNTS)
		pg_atomic_write_u64(&told->post[place_of(&change->post.post_id)], turn);
	if (change->kind == CHANGE_ANYTHING)
		for (int i = 0; i < TOLD_PLACES; i++)
			pg_atomic_write_u64(&told->post[i], turn);
	if (change->kind == CHANGE_POST || change->kind == CHANGE_FEED_VIEW ||
		change->kind == CHANGE_ANYTHING)
		pg_atomic_write_u64(&told->listed, turn);
}

/*
 * Record that the current turn has decoded all WAL that was flushed before the
 * turn began.
 */
void
told_complete_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->complete, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the current turn has ended. The worker does not begin to serve
 * the views before its next turn. Also called when a worker exits.
 */
void
told_end_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->ended, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the views show all changes that were reported up to a turn, to
 * snapshots taken from now on.
 */
void
told_applied(ToldPosts *told, uint64 turn)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->applied, turn);
}

/*
 * Return whether the change feed has reported a change to a post in a later
 * turn than the given one. The result may also be true because of another post
 * with the same hash.
 */
bool
told_post_since(ToldPosts *told, const pg_uuid_t *post_id, uint64 turn)
{
	return pg_atomic_read_u64(&told->post[place_of(post_id)]) > turn;
}

/*
 * Return whether, after a turn, the change feed has reported a change that can
 * add a post to a list, remove it or move it.
 */
bool
told_list_since(ToldPosts *told, uint64 turn)
{
	return pg_atomic_read_u64(&told->listed) > turn;
}
