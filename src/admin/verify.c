/*
 * verify.c
 *		blogstore.verify(): counts, usernames and views against the containers.
 *
 * One statement in one snapshot, in plain SQL on purpose: it shares no code
 * with what it checks. Runs in backends.
 */
#include "postgres.h"

#include "admin/settings.h"
#include "admin/verify.h"
#include "compat.h"
#include "container/container.h"
#include "container/plans.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

PG_FUNCTION_INFO_V1(blogstore_verify);

/* $1: compare the views? $2: feed_size, $3: short_form_length */
#define COPY_SQL "row(user_username, title, content, comment_count, like_count)::text"

#define COMPARE_VIEW(container, wanted, there) \
	"SELECT '" container "', CASE WHEN t.id IS NULL THEN 'missing copy'" \
	" WHEN w.id IS NULL THEN 'extra copy' ELSE 'stale copy' END," \
	" 'post', coalesce(w.id, t.id), coalesce(w.id, t.id)," \
	" coalesce(w.user_id, t.user_id), w.shown, t.shown," \
	" coalesce(w.creation_date, t.creation_date)" \
	" FROM (SELECT * FROM " wanted " WHERE $1) AS w" \
	" FULL JOIN (SELECT * FROM " there " WHERE $1) AS t" \
	" ON w.id = t.id AND w.user_id = t.user_id" \
	" AND w.creation_date = t.creation_date" \
	" WHERE w.shown IS DISTINCT FROM t.shown"

static KeptPlan verify_plan = {
	"SELECT container::text, problem::text, type::text, id::uuid,"
	" post_id::uuid, user_id::uuid, expected::text, actual::text,"
	" creation_date::timestamptz FROM ("
	"WITH account AS MATERIALIZED (SELECT user_id, username"
	" FROM blogstore.users WHERE type = 'user'),"
	" delta AS MATERIALIZED (SELECT post_id,"
	" sum(comment_count)::bigint AS comments, sum(like_count)::bigint AS likes"
	" FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id),"
	" summed AS (SELECT p.id, p.post_id, p.user_id, p.user_username, p.title,"
	" left(p.content, $3) AS content,"
	" p.comment_count + coalesce(d.comments, 0) AS comment_count,"
	" p.like_count + coalesce(d.likes, 0) AS like_count, p.creation_date"
	" FROM blogstore.posts AS p LEFT JOIN delta AS d ON d.post_id = p.post_id"
	" WHERE p.type = 'post'),"
	" post AS MATERIALIZED (SELECT *, " COPY_SQL " AS shown FROM summed),"
	" counted AS (SELECT post_id,"
	" count(*) FILTER (WHERE type = 'comment') AS comments,"
	" count(*) FILTER (WHERE type = 'like') AS likes"
	" FROM blogstore.posts WHERE type IN ('comment', 'like')"
	" GROUP BY post_id),"
	" newest AS (SELECT * FROM post ORDER BY creation_date DESC, id DESC"
	" LIMIT $2),"
	" copy AS (SELECT id, user_id, creation_date, " COPY_SQL " AS shown"
	" FROM blogstore.users WHERE type = 'post'),"
	" in_feed AS (SELECT id, user_id, creation_date, " COPY_SQL " AS shown"
	" FROM blogstore.feed)"

	/* items of nobody, or on nothing */
	" SELECT 'posts' AS container, 'orphan' AS problem, i.type, i.id,"
	" i.post_id, i.user_id,"
	" CASE WHEN p.id IS NULL THEN 'a post' ELSE 'a user' END AS expected,"
	" NULL::text AS actual, i.creation_date"
	" FROM blogstore.posts AS i"
	" LEFT JOIN post AS p ON p.id = i.post_id"
	" LEFT JOIN account AS a ON a.user_id = i.user_id"
	" WHERE (p.id IS NULL OR (a.user_id IS NULL AND i.type <> 'delta'))"
	" AND (i.user_id IS NULL OR i.user_id NOT IN (SELECT user_id"
	" FROM blogstore.jobs WHERE kind = 'deletion'))"

	" UNION ALL SELECT 'posts', 'comment_count', 'post', p.id, p.id,"
	" p.user_id, coalesce(c.comments, 0)::text, p.comment_count::text,"
	" p.creation_date FROM post AS p LEFT JOIN counted AS c ON c.post_id = p.id"
	" WHERE p.comment_count IS DISTINCT FROM coalesce(c.comments, 0)"

	" UNION ALL SELECT 'posts', 'like_count', 'post', p.id, p.id,"
	" p.user_id, coalesce(c.likes, 0)::text, p.like_count::text,"
	" p.creation_date FROM post AS p LEFT JOIN counted AS c ON c.post_id = p.id"
	" WHERE p.like_count IS DISTINCT FROM coalesce(c.likes, 0)"

	" UNION ALL SELECT 'posts', 'username', i.type, i.id, i.post_id,"
	" i.user_id, a.username, i.user_username, i.creation_date"
	" FROM blogstore.posts AS i JOIN account AS a ON a.user_id = i.user_id"
	" WHERE i.user_username IS DISTINCT FROM a.username"

	/* the registry, both ways */
	" UNION ALL SELECT 'users', 'registry', 'user', coalesce(a.user_id, n.user_id),"
	" NULL, coalesce(a.user_id, n.user_id), a.username, n.username_key, NULL"
	" FROM account AS a FULL JOIN blogstore.usernames AS n"
	" ON n.username_key = lower(a.username) COLLATE \"C\""
	" AND n.user_id = a.user_id"
	" WHERE a.user_id IS NULL OR n.user_id IS NULL"

	" UNION ALL " COMPARE_VIEW("users", "post", "copy")
	" UNION ALL " COMPARE_VIEW("feed", "newest", "in_feed")
	") AS finding",
	3, {BOOLOID, INT4OID, INT4OID}, NULL
};

/*
 * Run the comparison by the active snapshot. The result is SPI's; the caller
 * has connected to it, and acts as the containers' owner.
 */
SPITupleTable *
verify_run(uint64 *n, bool with_views)
{
	Datum		values[] = {
		BoolGetDatum(with_views), Int32GetDatum(blogstore_feed_size),
		Int32GetDatum(blogstore_short_form_length)
	};

	plan_execute(&verify_plan, values, NULL, true);
	*n = SPI_processed;
	return SPI_tuptable;
}

/*
 * blogstore.verify(): one row per discrepancy. Errors: 55000. Locks:
 * AccessShareLock on the containers.
 */
Datum
blogstore_verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	OwnerScope	scope;
	SPITupleTable *findings;
	uint64		n;
	bool		with_views;

	container_require();
	InitMaterializedSRF(fcinfo, 0);
	with_views = views_ready(GetActiveSnapshot());

	owner_begin(&scope);
	SPI_connect();
	findings = verify_run(&n, with_views);
	for (uint64 i = 0; i < n; i++)
	{
		Datum		values[N_VERIFY_COLUMNS];
		bool		nulls[N_VERIFY_COLUMNS];

		for (int c = 0; c < N_VERIFY_COLUMNS; c++)
			values[c] = SPI_getbinval(findings->vals[i], findings->tupdesc,
									  c + 1, &nulls[c]);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
	SPI_finish();
	owner_end(&scope);
	return (Datum) 0;
}
