/*
 * verify_queue.c
 *		Comparing the table publish_queue with the scheduled posts, for
 *		verify().
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "storage/bookkeeping/bookkeeping.h"

/*
 * Rows that lack a value are a finding of their own. Other rows are compared
 * with the scheduled posts. A row whose post is not scheduled is no error. The
 * worker removes it when its date has come (publish_queue.c).
 */
#define QUEUE_SQL \
	"SELECT 'publish_queue', CASE WHEN q.post_id IS NULL THEN 'missing copy'" \
	" ELSE 'stale copy' END, 'post', p.id::uuid, p.id::uuid, p.user_id::uuid," \
	" p.publish_date::text, q.publish_date::text, p.creation_date::timestamptz" \
	" FROM %s AS p LEFT JOIN (SELECT * FROM " PUBLISH_QUEUE_SQL \
	" WHERE publish_date IS NOT NULL) AS q ON q.post_id = p.id" \
	" WHERE p.type = 'post' AND p.hidden AND isfinite(p.publish_date)" \
	" AND num_nulls(p.id, p.user_id, p.creation_date) = 0 AND p.post_id = p.id" \
	" AND q.publish_date IS DISTINCT FROM p.publish_date" \
	" UNION ALL SELECT 'publish_queue', 'invalid', NULL, NULL, post_id, NULL, 'not null'," \
	" CASE WHEN post_id IS NULL THEN 'post_id' ELSE 'publish_date' END, NULL" \
	" FROM " PUBLISH_QUEUE_SQL " WHERE num_nulls(post_id, publish_date) > 0"

/* its SQL is set before it runs */
static KeptPlan queue_plan = {0, NULL, 0, {0}, NULL};

/*
 * Compare the table publish_queue with this server's scheduled posts, with the
 * active snapshot, and return the findings. The caller has called
 * SPI_connect(), and acts as the containers' owner. Errors: 55000.
 */
SPITupleTable *
queue_compare(void)
{
	queue_plan.sql = psprintf(QUEUE_SQL, own_posts_sql(&queue_plan.tables));
	queue_plan.tables |= ON_PUBLISH_QUEUE;
	plan_execute_once(&queue_plan, NULL, true);
	return SPI_tuptable;
}

bool
finding_is_of_queue(const Finding *f)
{
	return strcmp(f->container, bookkeeping_name(BOOK_PUBLISH_QUEUE)) == 0;
}
