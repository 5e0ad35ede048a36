/*
 * told_posts.c
 *		When the change feed last told of a post, in turns of the worker.
 *
 * So verify() knows whether the worker has still work to do on a post
 * (admin/verify_settled.c). Posts whose ids have the same hash share a place. The turn in it
 * is that of the post that was told of last, so it is never too early for any of them.
 *
 * The worker tells of a post in the turn in which it decodes a change, and once more when it takes
 * over what was held back (held_back.c): then it is known to be visible to all.
 *
 * In shared memory. Written by the worker, read by any process, without a lock.
 */
#include "postgres.h"

#include "views/change_feed/decoded_changes.h"

#include "common/hashfn.h"

/* Set up the memory, when the server starts. */
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

/* A turn of the worker begins. Returns its number, which no turn had before, of any worker. */
uint64
told_begin_turn(ToldPosts *told)
{
	return pg_atomic_add_fetch_u64(&told->turn, 1);
}

/* Tell of a change, in the present turn. */
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

/* The present turn has told of all that was committed, and flushed, before it began. */
void
told_complete_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->complete, pg_atomic_read_u64(&told->turn));
}

/*
 * The present turn has ended. The worker does not start to serve the views
 * before its next turn. Also called when a worker ends.
 */
void
told_end_turn(ToldPosts *told)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->ended, pg_atomic_read_u64(&told->turn));
}

/* The views show all that was told of up to a turn, to snapshots from now on. */
void
told_applied(ToldPosts *told, uint64 turn)
{
	pg_write_barrier();
	pg_atomic_write_u64(&told->applied, turn);
}

/* Was a post told of, or one of its hash, after a turn? */
bool
told_post_since(ToldPosts *told, const pg_uuid_t *post_id, uint64 turn)
{
	return pg_atomic_read_u64(&told->post[place_of(post_id)]) > turn;
}

/* Was any post told of after a turn that may have come into lists, gone from them, or moved there? */
bool
told_list_since(ToldPosts *told, uint64 turn)
{
	return pg_atomic_read_u64(&told->listed) > turn;
}
