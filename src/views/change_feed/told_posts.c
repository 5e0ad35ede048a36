/*
 * told_posts.c
 *		Records in which turn of the worker the change feed last reported a
 *		change to a post.
 *
 * verify() uses this to find out whether the worker still has changes of a
 * post to apply (admin/verify_settled.c). Posts are hashed to an array of
 * TOLD_PLACES turns. An element is the latest turn of all its posts, so the
 * recorded turn is never too early for any of them.
 *
 * The worker records a post in the turn that decodes its change. If the
 * transaction is held back (held_back.c), it records the post again in the
 * turn that releases it.
 *
 * The data are in shared memory. Only the worker writes them; any process
 * reads them without a lock.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "common/hashfn.h"

/* Initialize the shared memory when the server starts. */
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
 * Begin a turn and return its number, which is unique among all workers of
 * this database since the server started.
 */
uint64
told_begin_turn(ToldPosts *told)
{
	return pg_atomic_add_fetch_u64(&told->turn, 1);
}

/* Record a change in the current turn. */
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

/* Record that the current turn has decoded all WAL flushed before it began. */
void
told_complete_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->complete, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the current turn has ended. The worker does not start to serve
 * the views before its next turn. Also called when a worker ends.
 */
void
told_end_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->ended, pg_atomic_read_u64(&told->turn));
}

/*
 * Record that the views show all changes reported up to a turn, to snapshots
 * taken from now on.
 */
void
told_applied(ToldPosts *told, uint64 turn)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->applied, turn);
}

/*
 * Return whether the change feed has reported a change to a post in a later
 * turn of the worker than the given one. May also be true after a change to
 * another post, because posts share the elements of the array.
 */
bool
told_post_since(ToldPosts *told, const pg_uuid_t *post_id, uint64 turn)
{
	return pg_atomic_read_u64(&told->post[place_of(post_id)]) > turn;
}

/*
 * Return whether a change was reported after a turn that may add a post to a
 * list, remove it or move it.
 */
bool
told_list_since(ToldPosts *told, uint64 turn)
{
	return pg_atomic_read_u64(&told->listed) > turn;
}
