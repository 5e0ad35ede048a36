/*
 * verify.c
 *		blogstore.verify(): comparing counts, usernames and views with the
 *		items in the containers.
 *
 * One SQL statement compares everything except the table usernames, follows
 * (VERIFY_FOLLOWS_SQL), the container topics and the table publish_queue
 * (verify_topics.c, verify_queue.c), for each of which there is a statement of
 * its own. The statements use the same snapshot. They are in SQL so that
 * verify() shares no code with what it checks. SQL cannot extract the text
 * from HTML, or compute the keys of the table usernames. In a database with
 * encoding SQL_ASCII, SQL cannot count characters. So C code computes these
 * values, and the statements join a relation that has them.
 *
 * Each container is read in a CTE, or in a subquery with OFFSET 0, before it
 * is joined. If the partitioned tables were joined directly, planning would
 * take time quadratic in the number of partitions. Comments and likes are the
 * most numerous items. They are read once, to count them for each post
 * (verify_tally.c). The comments and likes on a post are read a second time
 * only if the post seems to have errors.
 *
 * The owner can drop constraints, so any value can be null. A comparison with
 * null is neither true nor false. So the statements test required values by IS
 * NULL, and do not use NOT IN.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/preload.h"
#include "base/settings.h"
#include "model/short_form/short_form.h"
#include "model/user_changes/user_changes.h"
#include "storage/attached_code/attached_code.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"

#include "catalog/pg_type.h"
#include "funcapi.h"
#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgrprotos.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

SQL_FUNCTION(verify);

/*
 * SHOWN_COLUMNS_SQL lists the columns that a post, its copy and its row of the
 * feed have in common. SHOWN_SQL makes one row value of these columns, for
 * comparisons.
 */
#define SHOWN_COLUMNS_SQL(hidden, publish_date) \
	"user_username COLLATE \"C\" AS user_username, title COLLATE \"C\" AS title," \
	" content COLLATE \"C\" AS content, comment_count, like_count," \
	" nullif(" hidden ", false) AS hidden, " publish_date " AS publish_date," \
	" modification_date," \
	" properties::text COLLATE \"C\" AS properties"
#define SHOWN_SQL(row) \
	"row(" row ".user_username, " row ".title, " row ".content, " row ".comment_count, " \
	row ".like_count, " row ".hidden, " row ".publish_date, " row ".modification_date, " \
	row ".properties)"

/*
 * The part of post p's column properties that the short form keeps: all keys
 * if $4 is true, otherwise the keys in $5.
 */
#define SHORT_PROPERTIES_SQL \
	"CASE WHEN $4 THEN p.properties ELSE (SELECT jsonb_object_agg(e.key, e.value)" \
	" FROM jsonb_each(p.properties) AS e WHERE e.key = ANY ($5)) END"

/*
 * True if a rename job is queued that will write the current name of an item's
 * author into the item. RENAMING_SQL is used in a query that left-joins the
 * CTE "renaming", with the alias r, by the author's user_id. If this CTE has a
 * row with a null user_id, a job will correct the names in all items.
 */
#define RENAMING_SQL \
	"(r.user_id IS NOT NULL OR EXISTS (SELECT FROM renaming WHERE user_id IS NULL))"

#define POST_NULLS_SQL \
	"num_nulls(id, post_id, user_id, user_username, title, content," \
	" comment_count, like_count, creation_date)"

/* Stands for a null id in joins, because null does not equal null. */
#define NO_UUID_SQL "'00000000-0000-0000-0000-000000000000'::uuid"

/*
 * Part of a UNION that returns a finding for each required value that is null.
 *
 * container: name of the container
 * type, id, post_id, user_id, date: expressions for these columns of the
 * finding
 * source: the relation in FROM, with the alias i
 * properties: the columns that must not be null, as a list of calls of the
 *     macros MISSING() and MISSING_IF()
 */
#define INVALID_SQL(container, type, id, post_id, user_id, date, source, properties) \
	" UNION ALL SELECT '" container "', 'invalid', " type ", " id ", " \
	post_id ", " user_id ", 'not null', missing.property, " date \
	" FROM " source " CROSS JOIN LATERAL (VALUES " properties \
	") AS missing (property, absent) WHERE missing.absent"

#define MISSING(property) "('" property "', i." property " IS NULL)"
#define MISSING_IF(condition, property) \
	"('" property "', " condition " AND i." property " IS NULL)"

/*
 * Part of a UNION that returns a finding for each row of a view that is
 * missing, extra or stale. A row is not compared if the row or its post lacks
 * a required value, because INVALID_SQL() reports that value.
 *
 * container: "users" or "feed"
 * wanted: the CTE of the rows that the view should have
 * there: the CTE of the rows that the view has
 * node: expression for the number of the node that has the view
 */
#define COMPARE_VIEW(container, wanted, there, node) \
	" UNION ALL SELECT '" container "'," \
	" CASE WHEN t.id IS NULL THEN 'missing copy'" \
	" WHEN w.id IS NULL THEN 'extra copy' ELSE 'stale copy' END," \
	" 'post', coalesce(w.id, t.id), coalesce(w.id, t.id)," \
	" coalesce(w.user_id, t.user_id)," \
	" CASE WHEN w.id IS NOT NULL THEN " SHOWN_SQL("w") "::text END," \
	" CASE WHEN t.id IS NOT NULL THEN " SHOWN_SQL("t") "::text END," \
	" coalesce(w.creation_date, t.creation_date)" \
	" FROM (SELECT *, " node " AS on_node" \
	" FROM " wanted " AS i WHERE $1 AND i.nulls = 0) AS w" \
	" FULL JOIN (SELECT *, " node " AS on_node" \
	" FROM " there " AS i WHERE $1 AND i.nulls = 0 AND NOT EXISTS" \
	" (SELECT FROM post AS p WHERE p.nulls > 0 AND coalesce(p.post_id, p.id) = i.id)) AS t" \
	" ON w.id = t.id AND w.user_id = t.user_id" \
	" AND w.creation_date = t.creation_date AND w.on_node = t.on_node" \
	" WHERE w.id IS NULL OR t.id IS NULL" \
	" OR " SHOWN_SQL("w") " IS DISTINCT FROM " SHOWN_SQL("t")

/*
 * The main statement of verify(). Its result rows are the findings. Its
 * arguments:
 *
 *	$1	whether to compare the views
 *	$2	the setting blogstore.feed_size
 *	$3	the setting blogstore.short_form_length
 *	$4	whether the short form keeps all keys of the column properties
 *	$5	the keys that the short form keeps, if $4 is false
 *	$6	on a cluster, the rows of the feeds of all nodes, as jsonb; else unused
 *
 * fill_in() replaces the names in braces. {users}, {tally}, {feed} and {nodes}
 * come from a VerifySource, and differ on a cluster. {content} and {joined}
 * come from a Verifier. {content} is an expression for the short form of a
 * post's content. {joined} is the join that this expression needs.
 */
static const char verify_sql[] =
	"SELECT container::text, problem::text, type::text, id::uuid,"
	" post_id::uuid, user_id::uuid, expected::text, actual::text,"
	" creation_date::timestamptz FROM ("

	"WITH user_item AS MATERIALIZED (SELECT id, user_id, username,"
	" creation_date FROM {users} WHERE type = 'user'),"

	/*
	 * GROUP BY tells the planner that user_id is unique in this CTE. The
	 * planner then hashes the rows of this CTE in joins, and not the items.
	 * The CTE "suspect" is grouped for the same reason.
	 */
	" account AS NOT MATERIALIZED (SELECT user_id, min(username) AS username"
	" FROM user_item WHERE user_id IS NOT NULL GROUP BY user_id),"
	" leaving AS MATERIALIZED (SELECT DISTINCT user_id"
	" FROM (" USERS_BEING_DELETED_SQL ") AS d),"

	/*
	 * The users whose items may still have an old username, because a rename
	 * job is queued. A null user_id stands for all users.
	 */
	" renaming AS MATERIALIZED (SELECT DISTINCT user_id"
	" FROM (" USERS_BEING_RENAMED_SQL ") AS r),"

	"{tally},"

	/*
	 * All posts. comment_count and like_count are the counts that get_post()
	 * would return; "comments" and "likes" are how many comments and likes the
	 * post has.
	 */
	" post AS MATERIALIZED (SELECT p.id, p.post_id, p.user_id,"
	" p.user_username, p.title, p.content,"
	" p.comment_count + coalesce(t.comment_delta, 0) AS comment_count,"
	" p.like_count + coalesce(t.like_delta, 0) AS like_count,"
	" p.creation_date, p.nulls, coalesce(t.comments, 0) AS comments,"
	" coalesce(t.likes, 0) AS likes, p.hidden, p.publish_date, p.modification_date, "
	SHORT_PROPERTIES_SQL " AS properties FROM (SELECT id, post_id, user_id,"
	" user_username, title, {content} AS content,"
	" comment_count::numeric AS comment_count,"
	" like_count::numeric AS like_count, creation_date, hidden,"
	" publish_date, modification_date, properties, "
	POST_NULLS_SQL " AS nulls"
	" FROM " POSTS_SQL "{joined} WHERE type = 'post' OFFSET 0) AS p"
	" LEFT JOIN tally AS t ON t.post_id = p.post_id),"
	" copied AS NOT MATERIALIZED (SELECT id, user_id, creation_date, nulls, "
	SHOWN_COLUMNS_SQL("hidden", "CASE WHEN hidden THEN publish_date END") " FROM post),"
	" newest AS (SELECT * FROM copied WHERE nulls = 0 AND hidden IS NOT TRUE"
	" ORDER BY creation_date DESC, id DESC LIMIT $2),"

	/*
	 * Posts whose comments, likes and deltas are checked one by one. The
	 * column "lost" is true if the post does not exist.
	 */
	" suspect AS NOT MATERIALIZED (SELECT coalesce(t.post_id, " NO_UUID_SQL
	") AS post_id,"
	" bool_or(t.post_id IS NOT NULL AND p.post_id IS NULL) AS lost"
	" FROM tally AS t LEFT JOIN post AS p ON p.post_id = t.post_id"
	" WHERE t.odd OR p.post_id IS NULL OR t.post_id IN"
	" (SELECT r.post_id FROM recounted AS r WHERE r.lost AND r.likes > 0) GROUP BY 1),"
	" item AS MATERIALIZED (SELECT i.*, s.lost, c.id IS NOT NULL AS adrift, a.username,"
	" i.user_id IS NOT NULL AND a.user_id IS NULL AS nobodys, " RENAMING_SQL " AS renaming"
	" FROM suspect AS s JOIN (SELECT id, type, post_id, user_id,"
	" user_username, type = 'comment' AND content IS NULL AS no_content,"
	" item_id, comment_id, comment_count, like_count, creation_date FROM " POSTS_SQL
	" WHERE " ON_POST_SQL " OFFSET 0) AS i"
	" ON coalesce(i.post_id, " NO_UUID_SQL ") = s.post_id"
	" LEFT JOIN (SELECT r.post_id, r.id FROM recounted AS r WHERE r.lost) AS c"
	" ON i.type = 'comment_like' AND c.post_id = i.post_id AND c.id = i.comment_id"
	" LEFT JOIN account AS a ON a.user_id = i.user_id"
	" LEFT JOIN leaving AS l ON l.user_id = i.user_id"
	" LEFT JOIN renaming AS r ON r.user_id = i.user_id"
	" WHERE l.user_id IS NULL),"
	" authored AS MATERIALIZED (SELECT p.*, a.username,"
	" p.user_id IS NOT NULL AND a.user_id IS NULL AS nobodys, " RENAMING_SQL " AS renaming"
	" FROM post AS p LEFT JOIN account AS a ON a.user_id = p.user_id"
	" LEFT JOIN leaving AS l ON l.user_id = p.user_id"
	" LEFT JOIN renaming AS r ON r.user_id = p.user_id"
	" WHERE l.user_id IS NULL AND (p.nulls > 0 OR a.user_id IS NULL"
	" OR p.user_username COLLATE \"C\" IS DISTINCT FROM a.username)),"

	" copy AS MATERIALIZED (SELECT id, user_id, creation_date, "
	POST_NULLS_SQL " AS nulls, " SHOWN_COLUMNS_SQL("hidden", "CASE WHEN hidden THEN publish_date END")
	" FROM " COPIES_SQL " WHERE type = 'post'),"
	" in_feed AS MATERIALIZED (SELECT id, user_id, creation_date, "
	POST_NULLS_SQL " AS nulls, " SHOWN_COLUMNS_SQL("NULL::boolean", "NULL::timestamptz")
	", node FROM {feed}),"
	" wanted_feed AS (SELECT w.*, n.node FROM newest AS w CROSS JOIN ({nodes}) AS n)"

	/* items whose author, post or liked comment does not exist */
	" SELECT 'posts' AS container, 'orphan' AS problem, i.type, i.id,"
	" i.post_id, i.user_id,"
	" CASE WHEN i.lost THEN 'a post' WHEN i.nobodys THEN 'a user'"
	" ELSE 'a comment' END AS expected,"
	" NULL::text AS actual, i.creation_date FROM item AS i"
	" WHERE i.post_id IS NOT NULL"
	" AND (i.lost OR i.adrift OR (i.nobodys AND i.type <> 'delta'))"
	" AND (i.type <> 'delta' OR i.item_id = i.post_id)"
	" UNION ALL SELECT 'posts', 'orphan', 'delta', i.id, i.post_id, NULL,"
	" 'a comment', coalesce(nullif(i.replies_counted, 0), i.likes_counted)::text, NULL"
	" FROM recounted AS i WHERE i.lost AND (i.replies_counted <> 0 OR i.likes_counted <> 0)"
	" UNION ALL SELECT 'posts', 'orphan', 'post', i.id, i.post_id, i.user_id,"
	" 'a user', NULL, i.creation_date FROM authored AS i WHERE i.nobodys"

	" UNION ALL SELECT 'posts', 'comment_count', 'post', p.id, p.post_id,"
	" p.user_id, p.comments::text, p.comment_count::text, p.creation_date"
	" FROM post AS p WHERE p.comment_count IS DISTINCT FROM p.comments"
	" UNION ALL SELECT 'posts', 'like_count', 'post', p.id, p.post_id,"
	" p.user_id, p.likes::text, p.like_count::text, p.creation_date"
	" FROM post AS p WHERE p.like_count IS DISTINCT FROM p.likes"
	" UNION ALL SELECT 'posts', 'reply_count', 'comment', i.id, i.post_id,"
	" i.user_id, i.replies::text, i.replies_counted::text, i.creation_date"
	" FROM recounted AS i WHERE NOT i.lost AND i.replies <> i.replies_counted"
	" UNION ALL SELECT 'posts', 'like_count', 'comment', i.id, i.post_id,"
	" i.user_id, i.likes::text, i.likes_counted::text, i.creation_date"
	" FROM recounted AS i WHERE NOT i.lost AND i.likes <> i.likes_counted"

	/*
	 * Items whose username is not that of their author. If a rename job for
	 * the author is queued, an item is reported only if its username is null.
	 */
	" UNION ALL SELECT 'posts', 'username', i.type, i.id, i.post_id,"
	" i.user_id, i.username, i.user_username, i.creation_date"
	" FROM item AS i WHERE i.type <> 'delta' AND i.username IS NOT NULL"
	" AND (i.user_username IS NULL OR NOT i.renaming)"
	" AND i.user_username COLLATE \"C\" IS DISTINCT FROM i.username"
	" UNION ALL SELECT 'posts', 'username', 'post', i.id, i.post_id,"
	" i.user_id, i.username, i.user_username, i.creation_date"
	" FROM authored AS i WHERE i.username IS NOT NULL"
	" AND (i.user_username IS NULL OR NOT i.renaming)"
	" AND i.user_username COLLATE \"C\" IS DISTINCT FROM i.username"

	INVALID_SQL("users", "'user'", "i.id", "NULL::uuid", "i.user_id",
				"i.creation_date", "user_item AS i",
				MISSING("id") ", " MISSING("user_id") ", "
				MISSING("username") ", " MISSING("creation_date"))
	INVALID_SQL("posts", "'post'", "i.id", "i.post_id", "i.user_id",
				"i.creation_date",
				"(SELECT * FROM authored WHERE nulls > 0) AS i",
				MISSING("id") ", " MISSING("post_id") ", "
				MISSING("user_id") ", "
				MISSING_IF("i.username IS NULL AND NOT i.nobodys",
						   "user_username") ", "
				MISSING("title") ", " MISSING("content") ", "
				MISSING("creation_date"))
	INVALID_SQL("posts", "i.type", "i.id", "i.post_id", "i.user_id",
				"i.creation_date", "item AS i",
				MISSING("id") ", " MISSING("post_id") ", "
				MISSING_IF("i.type <> 'delta'", "user_id") ", "
				MISSING_IF("i.type <> 'delta' AND i.username IS NULL"
						   " AND NOT i.nobodys", "user_username") ", "
				"('content', i.no_content), "
				MISSING_IF("i.type = 'delta'", "item_id") ", "
				MISSING_IF("i.type = 'comment_like'", "comment_id") ", "
				MISSING_IF("i.type = 'delta'", "comment_count") ", "
				MISSING_IF("i.type = 'delta'", "like_count") ", "
				MISSING_IF("i.type <> 'delta'", "creation_date"))
	" UNION ALL SELECT 'users', 'invalid', 'post', i.id, i.id, i.user_id,"
	" 'not null', " SHOWN_SQL("i") "::text, i.creation_date FROM copy AS i WHERE i.nulls > 0"
	" UNION ALL SELECT 'feed', 'invalid', 'post', i.id, i.id, i.user_id,"
	" 'not null', " SHOWN_SQL("i") "::text, i.creation_date FROM in_feed AS i"
	" WHERE i.nulls > 0"
	INVALID_SQL("usernames", "NULL", "NULL::uuid", "NULL::uuid", "i.user_id",
				"NULL", "(SELECT * FROM " USERNAMES_SQL
				" WHERE num_nulls(username_key, user_id) > 0) AS i",
				MISSING("username_key") ", " MISSING("user_id"))
	INVALID_SQL("jobs", "i.kind", "i.id", "NULL::uuid", "i.user_id",
				"i.created_at", JOBS_SQL " AS i",
				MISSING("id") ", " MISSING("kind") ", "
				MISSING_IF("i.kind = 'deletion'", "user_id") ", "
				MISSING("phase") ", " MISSING("partition_number") ", "
				MISSING("done") ", " MISSING("created_at"))

	COMPARE_VIEW("users", "copied", "copy", "0")
	COMPARE_VIEW("feed", "wanted_feed", "in_feed", "i.node")
	") AS finding";

#define SHORT_FORMS "short_forms"

static KeptPlan short_forms_plan = {
	ON_POSTS,
	"SELECT tableoid, ctid, content FROM " POSTS_SQL " WHERE type = 'post'",
	0, {0}, NULL
};

static KeptPlan names_plan = {ON_USERS, VERIFY_NAMES_SQL(USERS_SQL), 0, {0}, NULL};

static KeptPlan registry_plan = {
	ON_USERNAMES, VERIFY_REGISTRY_SQL(USERNAMES_SQL), 0, {0}, NULL
};

static KeptPlan follows_plan = {
	ON_USERS | ON_JOBS, VERIFY_FOLLOWS_SQL(USERS_SQL, "MATERIALIZED"), 0, {0}, NULL
};

/*
 * The texts that replace {content} and {joined} in verify_sql. They depend on
 * the setting blogstore.short_form_format.
 */
typedef struct Verifier
{
	const char *content;
	const char *joined;
	KeptPlan	plan;
} Verifier;

#define VERIFY_PLAN { \
	0, NULL, \
	6, {BOOLOID, INT4OID, INT4OID, BOOLOID, TEXTARRAYOID, JSONBOID}, NULL \
}

static Verifier verifiers[] = {
	[SHORT_FORM_RAW] = {"left(content, $3)", "", VERIFY_PLAN},
	[SHORT_FORM_TEXT] = {"s.short", " AS i LEFT JOIN " SHORT_FORMS " AS s"
	" ON s.leaf = i.tableoid AND s.place = i.ctid", VERIFY_PLAN}
};

static void
need_columns(Container container)
{
	Oid			relid = container_table_oid(container);

	for (Property prop = 0; prop < N_PROPERTIES; prop++)
	{
		AttrNumber	attno = get_attnum(relid, property_column(prop));

		if (!container_has_property(container, prop))
			continue;
		if (attno <= 0 || get_atttype(relid, attno) != property_type(prop))
			ereport(ERROR,
					(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
					 errmsg("container \"%s\" has no column \"%s\" of type %s",
							container_table(container), property_column(prop),
							format_type_be(property_type(prop))),
					 errhint("Add the column again, or restore its name and type."),
					 err_fields(container_table(container), property_column(prop),
							RULE_UNALTERED)));
	}
}

static Datum
short_form_keys(void)
{
	ArrayBuildState *state = initArrayResult(TEXTOID, CurrentMemoryContext, false);
	const char *key;

	for (int i = 0; (key = short_form_key(i)) != NULL; i++)
		state = accumArrayResult(state, CStringGetTextDatum(key), false, TEXTOID,
								 CurrentMemoryContext);
	return makeArrayResult(state, CurrentMemoryContext);
}

/*
 * Compute the short forms of all posts that the active snapshot sees. Register
 * them with SPI as the ephemeral named relation SHORT_FORMS. Returns the rows
 * of the relation, which the caller passes to end_short_forms().
 */
static Tuplestorestate *
show_short_forms(void)
{
	EphemeralNamedRelation relation = palloc0(sizeof(EphemeralNamedRelationData));
	Tuplestorestate *rows = tuplestore_begin_heap(true, false, work_mem);
	DestReceiver *receiver = short_receiver_create(rows);
	TupleDesc	desc = CreateTemplateTupleDesc(3);

	TupleDescInitEntry(desc, 1, "leaf", OIDOID, -1, 0);
	TupleDescInitEntry(desc, 2, "place", TIDOID, -1, 0);
	TupleDescInitEntry(desc, 3, "short", TEXTOID, -1, 0);
	compat_tuple_desc_finalize(desc);
	plan_send(&short_forms_plan, receiver);
	receiver->rDestroy(receiver);

	relation->md.name = SHORT_FORMS;
	relation->md.tupdesc = desc;
	relation->md.enrtype = ENR_NAMED_TUPLESTORE;
	relation->md.enrtuples = tuplestore_tuple_count(rows);
	relation->reldata = rows;
	if (SPI_register_relation(relation) != SPI_OK_REL_REGISTER)
		elog(ERROR, "could not register the relation of short forms");
	return rows;
}

static void
end_short_forms(Tuplestorestate *rows)
{
	if (SPI_unregister_relation(SHORT_FORMS) != SPI_OK_REL_UNREGISTER)
		elog(ERROR, "could not take the relation of short forms away");
	tuplestore_end(rows);
}

static const char *
fill_in(const Verifier *verifier, const VerifySource *source)
{
	struct
	{
		const char *name;
		const char *by;
	}			part[] = {
		{"{users}", source->users},
		{"{tally}", source->tally},
		{"{content}", verifier->content},
		{"{joined}", verifier->joined},
		{"{feed}", source->feed},
		{"{nodes}", source->nodes}
	};
	StringInfoData sql;
	const char *at = verify_sql;

	initStringInfo(&sql);
	for (int i = 0; i < lengthof(part); i++)
	{
		const char *found = strstr(at, part[i].name);

		appendBinaryStringInfo(&sql, at, found - at);
		appendStringInfoString(&sql, part[i].by);
		at = found + strlen(part[i].name);
	}
	appendStringInfoString(&sql, at);
	return sql.data;
}

/*
 * Compare topics and the table publish_queue with this server's posts, with
 * the active snapshot. Returns the findings as a list of SPITupleTable. The
 * caller has called SPI_connect(), and acts as the containers' owner. Errors:
 * 55000.
 */
List *
own_posts_compare(void)
{
	List	   *results = list_make1(topics_compare());

	return lappend(results, queue_compare());
}

static void
source_here(VerifySource *source)
{
	source->users = USERS_SQL;
	source->names = &names_plan;
	source->registry = &registry_plan;
	source->follows = &follows_plan;
	source->tally = verify_tally_sql;
	source->feed = "(SELECT 0 AS node, * FROM " FEED_SQL ") AS f";
	source->nodes = "SELECT 0 AS node";
	source->tables = ON_USERS | ON_POSTS | ON_FEED | ON_USERNAMES | ON_JOBS;
	source->argument = DirectFunctionCall1(jsonb_in, CStringGetDatum("[]"));
	source->derived = own_posts_compare;
}

/*
 * Compare the table usernames with the names of users, and return the
 * findings. verify_sql cannot do this on a cluster: the planner cannot join
 * distributed tables with the relation of case-folded names, which C code
 * computes.
 */
static SPITupleTable *
compare_registry(const VerifySource *source)
{
	DestReceiver *names = keyed_names_begin();

	plan_send_once(source->names, names);
	keyed_names_show(names);
	plan_execute_once(source->registry, NULL, true);
	keyed_names_end(names);
	return SPI_tuptable;
}

/*
 * Run the statements of verify() with the active snapshot, and return the
 * findings as a list of SPITupleTable. The caller has called SPI_connect(),
 * and acts as the containers' owner. Errors: 55000.
 */
static List *
verify_run(bool with_views)
{
	const ClusterCalls *cluster = cluster_calls();
	bool		ascii = GetDatabaseEncoding() == PG_SQL_ASCII;

	/*
	 * C code computes the short forms if the format is "text", or if the
	 * database's encoding is SQL_ASCII. In such a database, SQL cannot cut a
	 * content to a number of characters.
	 */
	ShortFormFormat format = !with_views ? SHORT_FORM_RAW :
		ascii ? SHORT_FORM_TEXT : blogstore_short_form_format;
	Verifier   *verifier = &verifiers[format];
	VerifySource source;
	Tuplestorestate *short_forms = NULL;
	List	   *results;
	int			nest = NewGUCNestLevel();

	if (cluster != NULL)
		cluster->verify_source(&source);
	else
		source_here(&source);
	for (Container c = 0; c < N_CONTAINERS; c++)
		need_columns(c);
	if (format == SHORT_FORM_TEXT)
		short_forms = show_short_forms();
	verifier->plan.sql = fill_in(verifier, &source);
	verifier->plan.tables = source.tables;
	plan_execute_once(&verifier->plan, (Datum[]) {
		BoolGetDatum(with_views), Int32GetDatum(blogstore_feed_size),
		Int32GetDatum(blogstore_short_form_length),
		BoolGetDatum(short_form_keeps_all()), short_form_keys(), source.argument
	}, true);
	results = list_make1(SPI_tuptable);
	if (short_forms != NULL)
		end_short_forms(short_forms);
	results = lappend(results, compare_registry(&source));
	if (with_views)
		results = list_concat(results, source.derived());
	plan_execute_once(source.follows, NULL, true);
	results = lappend(results, SPI_tuptable);
	AtEOXact_GUC(true, nest);
	return results;
}

/*
 * qsort() comparator for findings. The order of findings must not depend on
 * the plan of verify_sql.
 */
static int
finding_compare(const void *a, const void *b)
{
	const Finding *f = a;
	const Finding *g = b;
	int			order = strcmp(f->container, g->container);

	if (order == 0)
		order = strcmp(f->type, g->type);
	if (order == 0)
		order = memcmp(&f->post_id, &g->post_id, UUID_LEN);
	if (order == 0)
		order = memcmp(&f->id, &g->id, UUID_LEN);
	if (order == 0)
		order = memcmp(&f->user_id, &g->user_id, UUID_LEN);
	if (order == 0)
		order = strcmp(f->problem, g->problem);
	return order != 0 ? order : strcmp(f->actual, g->actual);
}

/*
 * Run the statements of verify() with a new snapshot, for repair(). Returns a
 * sorted array of *n findings, in the current memory context. The caller has
 * called SPI_connect(), and acts as the containers' owner. Errors: 55000.
 * Locks: AccessShareLock on the containers.
 */
Finding *
findings_of_verify(uint64 *n, bool with_views)
{
	List	   *results;
	ListCell   *lc;
	Finding    *findings;
	uint64		all = 0;

	PushActiveSnapshot(GetTransactionSnapshot());
	results = verify_run(with_views);
	PopActiveSnapshot();
	foreach(lc, results)
		all += ((SPITupleTable *) lfirst(lc))->numvals;
	findings = palloc(sizeof(Finding) * Max(all, 1));
	*n = 0;
	foreach(lc, results)
	{
		const SPITupleTable *result = lfirst(lc);

		for (uint64 i = 0; i < result->numvals; i++)
			finding_get(&findings[(*n)++], result->vals[i], result->tupdesc);
	}
	qsort(findings, *n, sizeof(Finding), finding_compare);
	return findings;
}

/*
 * Add a finding to the result of verify() for each function in a container's
 * attached code that has no SET search_path clause. Returns whether there is
 * such a function.
 */
static bool
put_unpinned(ReturnSetInfo *info, Container container)
{
	List	   *unpinned = container_unpinned(container);
	ListCell   *lc;

	foreach(lc, unpinned)
	{
		char	   *value[N_VERIFY_COLUMNS] = {
			[FINDING_CONTAINER - 1] = pstrdup(container_table(container)),
			[FINDING_PROBLEM - 1] = "search_path",
			[FINDING_EXPECTED - 1] = function_pin_statement(lfirst_oid(lc)),
			[FINDING_ACTUAL - 1] = function_name(lfirst_oid(lc))
		};

		tuplestore_puttuple(info->setResult,
							BuildTupleFromCStrings(TupleDescGetAttInMetadata(info->setDesc),
												   value));
	}
	return unpinned != NIL;
}

/*
 * Return whether verify() has to report a finding. A finding about a view is
 * not reported if the worker may be about to correct the view
 * (verify_settled.c).
 */
static bool
is_discrepancy(ViewsLook *look, List *results, HeapTuple row, TupleDesc desc)
{
	Finding		f;

	finding_get(&f, row, desc);
	return !finding_has_to_be_settled(look, &f) ||
		(views_look_end(look, results) && finding_is_settled(look, &f));
}

/*
 * Add findings to the result of verify(), except those that is_discrepancy()
 * rejects.
 *
 * findings: the findings to add
 * results: the findings of all statements, as a list of SPITupleTable
 * look: the state of the comparison of the views; NULL if the views were not
 * compared
 */
static void
put_findings(ReturnSetInfo *info, const SPITupleTable *findings, List *results,
			 ViewsLook *look)
{
	for (uint64 i = 0; i < findings->numvals; i++)
	{
		Datum		values[N_VERIFY_COLUMNS];
		bool		nulls[N_VERIFY_COLUMNS];

		if (look != NULL &&
			!is_discrepancy(look, results, findings->vals[i], findings->tupdesc))
			continue;
		for (int c = 0; c < N_VERIFY_COLUMNS; c++)
			values[c] = SPI_getbinval(findings->vals[i], findings->tupdesc,
									  c + 1, &nulls[c]);
		tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
	}
}

/*
 * Run the statements of verify(), and add the findings to its result. If
 * "look" is NULL, the views are not compared.
 */
static void
put_discrepancies(ReturnSetInfo *info, ViewsLook *look)
{
	List	   *results;
	ListCell   *lc;

	SPI_connect();
	results = verify_run(look != NULL);
	foreach(lc, results)
		put_findings(info, lfirst(lc), results, look);
	SPI_finish();
}

/*
 * blogstore.verify(): return one row for each discrepancy.
 *
 * If the attached code of a container has functions without a SET search_path
 * clause, verify() only returns one row for each of these functions. Nothing
 * is compared, because planning the comparison could call the functions.
 *
 * The comparison uses a new snapshot, whatever the isolation level. Errors:
 * 55000. Locks: AccessShareLock on the containers.
 */
static Datum
verify(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	OwnerScope	scope;
	ViewsLook	look;
	bool		unpinned = false;
	bool		with_views;

	container_require();
	InitMaterializedSRF(fcinfo, 0);
	with_views = views_look_begin(&look);
	PushActiveSnapshot(GetLatestSnapshot());
	with_views = with_views && views_ready(GetActiveSnapshot()) &&
		views_fit_settings();

	owner_begin(&scope);
	for (Container c = 0; c < N_CONTAINERS; c++)
		unpinned |= put_unpinned(info, c);
	if (!unpinned)
		put_discrepancies(info, with_views ? &look : NULL);
	owner_end(&scope);
	PopActiveSnapshot();
	return (Datum) 0;
}
