/*
 * told_posts.c
 *		Records in which round of the worker's main loop the change feed last
 *		reported a change to a post. verify() reads this to find out whether
 *		the worker still has changes of a post to apply
 *		(admin/verify_settled.c).
 *
 * The rounds are numbered. Functions and fields call such a number a turn. An
 * array has TOLD_PLACES of these numbers. A hash of the post_id chooses the
 * element. Posts with the same hash share an element, which has the latest
 * round of all of them. So the recorded round may be too late for a post, but
 * never too early.
 *
 * The worker records a post in the round that decodes a change of the post. If
 * the transaction of the change is held back (held_back.c), the worker records
 * the post a second time in the round that releases the transaction.
 *
 * The data are in shared memory. Only the worker writes them; any process
 * reads them without a lock.
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
 * Begin a round of the worker's main loop, and return its number. After a
 * worker has exited, the next worker of the database continues the numbering.
 * It starts from 0 only when the server is restarted.
 */
uint64
told_begin_turn(ToldPosts *told)
{
	return pg_atomic_add_fetch_u64(&told->turn, 1);
}

/*
 * Record that the change feed has reported this change in the current round of
 * the worker's main loop.
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
 * Record that the current round of the worker's main loop has decoded all WAL
 * that was flushed before the round began.
 */
void
told_complete_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->complete, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the current round of the worker's main loop has ended. Also
 * called when a worker exits. If readers may not use the views now, the worker
 * does not let them do so before the next told_begin_turn() (see
 * posts_shown()).
 */
void
told_end_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->ended, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the views show all changes that were reported up to a round of
 * the worker's main loop. Snapshots taken from now on see these views.
 *
 * turn: the number of that round.
 */
void
told_applied(ToldPosts *told, uint64 turn)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->applied, turn);
}

/*
 * Return whether the change feed has reported a change to a post after the
 * round with the number "turn". The result may also be true because another
 * post has the same hash value.
 */
bool
told_post_since(ToldPosts *told, const pg_uuid_t *post_id, uint64 turn)
{
	return pg_atomic_read_u64(&told->post[place_of(post_id)]) > turn;
}

/*
 * Return whether, after the round with the number "turn", the change feed has
 * reported a change that can add, remove or move a post in a list.
 */
bool
told_list_since(ToldPosts *told, uint64 turn)
{
	return pg_atomic_read_u64(&told->listed) > turn;
}
