/*
 * import_sql.c
 *		Bulk import: its SQL statements.
 *
 * The statements contain these placeholders and parameters:
 *
 *	@name	a temporary table of the import
 *	#name	a container, the table "usernames", (#deleting) the users who are
 *			being deleted, (#follows) all follows, or (#followers) how many
 *			users each user follows. On a cluster, this can be a temporary copy
 *			(ImportTarget.learn and lock_follows in import.h).
 *	$1		the current time
 *	$2		true if existing items are edited, false if rows that differ from
 *			them are rejected. It is a constant for the planner.
 *	$3		true if the source of posts has the column publish_date
 *
 * The tables @user, @post, @comment, @like, @comment_like and @follow contain
 * the source rows (import/sources/staging.c). Each check reads one of these
 * tables, and joins the rows with existing items. Accepted rows are stored
 * together with the author's name.
 *
 * The statements find users and posts that occur twice by sorting.
 * import_known.c finds comments and likes that occur twice.
 *
 * Before the names are read, the import locks all leaves of posts (lock_here()
 * in import_here.c).
 *
 * Comments and likes are sorted by leaf and post, and are written in this
 * order.
 */
#include "postgres.h"

#include "import/import.h"
#include "model/user_follows.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#define STAGE_TABLE(name) \
	"CREATE TEMP TABLE @" name " (id uuid, post_id uuid, user_id uuid, followed_id uuid," \
	" username text, title text, content text, creation_date timestamptz," \
	" properties jsonb, hidden boolean, modification_date timestamptz," \
	" publish_date timestamptz, parent_id uuid, comment_id uuid, reason text, partition integer, name_key text COLLATE \"C\"," \
	" other_name text, other_key text COLLATE \"C\", renamed boolean)" \
	" USING heap ON COMMIT DROP"

#define REFUSED_CHILD(name, column, added) \
	"CREATE TEMP TABLE @checked_" name " (id uuid, type text, post_id uuid," \
	" user_id uuid, username text" column ", creation_date timestamptz" added "," \
	" reason text, fresh boolean) USING heap ON COMMIT DROP"

#define COUNT_TABLE(name) \
	"CREATE TEMP TABLE @" name " (post_id uuid, comments bigint, likes bigint," \
	" fresh boolean) USING heap ON COMMIT DROP"

const char *const import_tables_sql[] = {
	STAGE_TABLE("user"),
	STAGE_TABLE("post"),
	STAGE_TABLE("comment"),
	STAGE_TABLE("like"),
	STAGE_TABLE("comment_like"),
	STAGE_TABLE("follow"),
	/*
	 * The checked source rows of users: the row's values, and
	 *
	 *	partition	the partition of the user's item
	 *	reason		why the row is rejected; NULL if it is not
	 *	present		true if the user exists already
	 *	old_name	the existing user's name, if the row has another name
	 *	changed		true if the existing user has other values in "properties"
	 *	holder		the id of another user who has the row's name now, but may
	 *				get a new name in this import; else NULL
	 *	own			true if the user gets a new name with the same key as the
	 *				old name, for example in capitals
	 *	other_name	the name that the user gets if the row's name is taken
	 *	other_key	the key of other_name in the table "usernames"
	 *	renamed		true if the user gets other_name, or has it already
	 */
	"CREATE TEMP TABLE @checked_user (partition integer, user_id uuid,"
	" username text, name_key text COLLATE \"C\", creation_date timestamptz,"
	" properties jsonb, reason text, present boolean, old_name text,"
	" changed boolean, holder uuid, own boolean, other_name text,"
	" other_key text COLLATE \"C\", renamed boolean) USING heap ON COMMIT DROP",
	/*
	 * The checked source rows of posts.
	 *
	 * place: the ctid of the row in @post, which has the title and content
	 * changed: true if the existing post has other values than the row
	 */
	"CREATE TEMP TABLE @checked_post (place tid, partition integer,"
	" post_id uuid, user_id uuid, username text, reason text, present boolean,"
	" changed boolean) USING heap ON COMMIT DROP",
	"CREATE TEMP TABLE @there (post_id uuid, user_id uuid) USING heap ON COMMIT DROP",
	/*
	 * Rejected comments and likes.
	 *
	 * fresh: true if this import creates the post of the comment or like
	 */
	REFUSED_CHILD("comment", ", content text",
				  ", parent_id uuid, parent_deleted boolean, hidden boolean,"
				  " modification_date timestamptz, properties jsonb,"
				  " like_count bigint, reply_count bigint"),
	REFUSED_CHILD("like", "", ", comment_id uuid"),
	REFUSED_CHILD("comment_like", "", ", comment_id uuid"),
	/* The checked source rows of follows. */
	("CREATE TEMP TABLE @checked_follow (id uuid, partition integer,"
	 " user_id uuid, username text, followed_id uuid, followed_username text,"
	 " creation_date timestamptz, reason text, present boolean)"
	 " USING heap ON COMMIT DROP"),
	/*
	 * The numbers of new comments and likes of posts. @part can have several
	 * rows for a post; @count has one row, with the sums.
	 */
	COUNT_TABLE("part"),
	COUNT_TABLE("count"),
	/*
	 * The numbers of visible new replies and of new likes that a comment gets,
	 * in one or more rows for each comment.
	 *
	 * made: true in a row with numbers of 0, for a new comment on an existing
	 *	post: it may have replies that are older than this import
	 */
	("CREATE TEMP TABLE @comment_part (post_id uuid, comment_id uuid,"
	 " replies bigint, likes bigint, made boolean, fresh boolean)"
	 " USING heap ON COMMIT DROP"),
	("CREATE TEMP TABLE @rejected (type text, reason text, item jsonb)"
	 " USING heap ON COMMIT DROP")
};

const int	import_tables_n = lengthof(import_tables_sql);

#define BEING_DELETED "(SELECT user_id FROM #deleting)"

#define NEW "reason IS NULL AND NOT present"

/*
 * SQL: true if a source row s has no date, or the same date as the existing
 * item.
 */
#define SAME_DATE(date) \
	"(s.creation_date IS NULL OR s.creation_date = " date ")"

/*
 * SQL: true if a source row s has no properties, or the same properties as the
 * existing item.
 */
#define KEEPS_PROPERTIES(of_item) \
	"(s.properties IS NULL" \
	" OR s.properties::text = coalesce(" of_item ", '{}')::text)"

#define HAS_PROPERTIES(of_item) \
	"(s.properties = '{}' OR " KEEPS_PROPERTIES(of_item) ")"

/*
 * SQL: true if the import shows an existing post i that was hidden. The post
 * then gets the creation date of its source row s.
 */
#define PUBLISHED "coalesce($2 AND i.hidden AND NOT s.hidden, false)"

/*
 * SQL: true if the source says that a post is a draft without a date. A source
 * without the column publish_date does not say that.
 */
#define UNSCHEDULED "($3 AND s.hidden IS TRUE AND s.publish_date IS NULL)"

/*
 * SQL: the reason for rejecting a source row that differs from the existing
 * item with the same id.
 *
 * by_another: a WHEN clause for an existing item of another user, or ""
 */
#define TAKEN_REASON(by_another) \
	"CASE WHEN NOT $2 THEN '" TAKEN "'" by_another \
	" ELSE '" TAKEN_WITH_ANOTHER_DATE "' END"

/* SQL: true for a new user, and for a user whose name changes. */
#define NAMED "reason IS NULL AND (NOT present OR old_name IS NOT NULL)"

#define NO_USER_REASON NO_SUCH_USER_REASON("user_id")

#define NO_SUCH_USER_REASON(column) \
	"CASE WHEN s." column " IN " BEING_DELETED \
	" THEN 'user is being deleted' ELSE 'unknown user' END"

/*
 * SQL: the source rows of a type, each with the user item of its author.
 *
 * In all statements, a subquery with OFFSET 0 reads each container. If two
 * containers were joined directly, the planner would consider every pair of
 * their leaves. Planning would take too long with many partitions.
 */
#define WITH_AUTHOR(type) \
	"(SELECT s.*, s.ctid AS place, u.user_id AS author_id," \
	" u.username AS author_name, u.creation_date AS author_date," \
	" u.properties AS author_properties" \
	" FROM @" type " AS s LEFT JOIN (SELECT type, user_id, username," \
	" creation_date, properties FROM #users) AS u" \
	" ON u.type = 'user' AND u.user_id = s.user_id OFFSET 0)"

/*
 * SQL: the source rows of comments or likes, each with its author and post.
 *
 * fresh: true if this import creates the post
 * there_id: the id of the post if it existed before, else NULL
 */
#define WITH_POST(type) \
	"(SELECT a.*, n.post_id IS NOT NULL AS fresh, p.post_id AS there_id," \
	" p.user_id AS there_user FROM " WITH_AUTHOR(type) " AS a" \
	" LEFT JOIN @checked_post AS n" \
	" ON n.post_id = a.post_id AND n.reason IS NULL AND NOT n.present" \
	" LEFT JOIN @there AS p ON p.post_id = a.post_id OFFSET 0)"

/*
 * SQL: numbers the valid rows with the same key from 1. All rows but the first
 * are duplicates.
 *
 * order: the columns by which rows with the same key are sorted
 */
#define NTH(key, order) \
	"row_number() OVER (PARTITION BY " key ", reason IS NULL" \
	" ORDER BY " order ")"

/*
 * SQL: selects the source rows of comments or likes for import_known.c. The
 * columns are the fields in the order of item_properties(), then "reason" (why
 * the row is rejected, or NULL) and "fresh" (whether the import creates the
 * post). The rows are sorted by partition, post and key.
 */
#define CHECK_CHILD(type, column, added, other, order) \
	"SELECT id, '" type "', post_id, user_id, username" column "," \
	" creation_date" added ", reason, fresh FROM (" \
	"SELECT s.id, s.post_id, s.user_id, s.author_name AS username, s.content," \
	" s.partition, s.creation_date, coalesce(s.creation_date, $1) AS dated," \
	" s.parent_id, s.comment_id, s.hidden, s.modification_date, s.properties, s.fresh," \
	" CASE WHEN s.reason IS NOT NULL THEN s.reason" \
	" WHEN s.author_id IS NULL THEN " NO_USER_REASON \
	" WHEN NOT s.fresh AND (s.there_id IS NULL" \
	" OR s.there_user IN " BEING_DELETED ") THEN 'unknown post' END AS reason" \
	" FROM " WITH_POST(type) " AS s" \
	") AS looked_up ORDER BY partition, post_id, " other ", reason IS NULL, " order

/*
 * SQL: the innermost of three nested queries that check users. It compares
 * each source row with the existing user. The column "dated" is the creation
 * date that a new user gets.
 */
#define USERS_COMPARED \
	"SELECT s.partition, s.user_id, s.username, s.name_key, s.creation_date," \
	" s.properties, coalesce(s.creation_date, $1) AS dated," \
	" s.author_id IS NOT NULL AS present, s.other_name, s.other_key," \
	" s.renamed OR coalesce(NOT $2 AND s.author_name = s.other_name" \
	" AND s.author_name <> s.username, false) AS renamed," \
	" CASE WHEN $2 AND s.author_name <> s.username THEN s.author_name END AS old_name," \
	" $2 AND s.author_id IS NOT NULL AND NOT " KEEPS_PROPERTIES("s.author_properties") \
	" AS changed," \
	" CASE WHEN s.reason IS NOT NULL THEN s.reason" \
	" WHEN s.author_id IS NULL AND s.user_id IN " BEING_DELETED \
	" THEN 'user is being deleted'" \
	" WHEN s.author_id IS NOT NULL AND NOT (($2 OR (s.author_name IN (s.username, s.other_name)" \
	" AND " HAS_PROPERTIES("s.author_properties") "))" \
	" AND " SAME_DATE("s.author_date") ") THEN " TAKEN_REASON("") " END AS reason" \
	" FROM " WITH_AUTHOR("user") " AS s"

/*
 * SQL: the second of three nested queries that check users. It rejects all but
 * one of the rows with the same user_id.
 */
#define USERS_ONCE \
	"SELECT partition, user_id, username, name_key, other_name, other_key, renamed," \
	" creation_date, properties, dated, present, old_name, changed," \
	" CASE WHEN reason IS NULL AND " \
	NTH("user_id", "renamed, dated, username COLLATE \"C\"") " > 1" \
	" THEN 'duplicate id' ELSE reason END AS reason FROM (" \
	USERS_COMPARED ") AS looked_up"

/*
 * SQL: the outermost of three nested queries that check users. It adds to each
 * row:
 *
 * holder: the user whom the table "usernames" has for the row's name
 * own: true if the row gives the holder a new name. The old and the new name
 *	then have the same key.
 * claimed: true if the holder is not the row's user; valid only for users who
 *	match NAMED
 */
#define USERS_WITH_HOLDERS \
	"SELECT o.*, holder IS NOT NULL AND NOT own AS claimed FROM (" \
	"SELECT k.*, r.user_id AS holder, $2 AND k.old_name IS NOT NULL" \
	" AND r.user_id IS NOT DISTINCT FROM k.user_id AS own FROM (" \
	USERS_ONCE ") AS k" \
	" LEFT JOIN #usernames AS r ON r.username_key = k.name_key" \
	") AS o"

/*
 * For each type of item: the statement that checks the source rows.
 *
 * The row of a user is rejected if another row gets the name, or if another
 * user, the holder, has the name. If existing items are edited, the holder may
 * get a new name in this import. import_refuse_names_sql and
 * import_pass_names_sql then decide about the row.
 */
const char *const import_check_sql[N_IMPORTED] = {
	[ITEM_USER] =
	"INSERT INTO @checked_user (partition, user_id, username, name_key,"
	" creation_date, properties, reason, present, old_name, changed, holder, own,"
	" other_name, other_key, renamed)"
	" SELECT partition, user_id, username, name_key, creation_date, properties,"
	" CASE WHEN " NAMED " AND ((claimed AND NOT $2)"
	" OR row_number() OVER (PARTITION BY name_key, " NAMED " AND ($2 OR NOT claimed)"
	" ORDER BY own DESC, dated, user_id) > 1)"
	" THEN 'username taken' ELSE reason END, present, old_name, changed,"
	" CASE WHEN $2 AND claimed AND (NOT present OR old_name IS NOT NULL)"
	" THEN holder END, own, other_name, other_key, renamed FROM ("
	USERS_WITH_HOLDERS ") AS named",

	[ITEM_POST] =
	"INSERT INTO @checked_post (place, partition, post_id, user_id, username,"
	" reason, present, changed)"
	" SELECT place, partition, post_id, user_id, username,"
	" CASE WHEN reason IS NULL AND nth > 1 THEN 'duplicate id'"
	" ELSE reason END, present, changed FROM ("
	"SELECT *, " NTH("post_id", "dated, user_id, place") " AS nth FROM ("
	"SELECT s.place, s.partition, s.post_id, s.user_id,"
	" s.author_name AS username,"
	" coalesce(s.creation_date, $1) AS dated, i.post_id IS NOT NULL AS present,"
	" $2 AND i.post_id IS NOT NULL"
	" AND NOT (i.title = s.title AND i.content = s.content"
	" AND coalesce(s.hidden = coalesce(i.hidden, false), true)"
	" AND CASE WHEN s.publish_date IS NOT NULL THEN s.publish_date IS NOT DISTINCT FROM i.publish_date"
	" ELSE NOT (i.publish_date IS NOT NULL AND " UNSCHEDULED ") END"
	" AND " KEEPS_PROPERTIES("i.properties") ") AS changed,"
	" CASE WHEN s.reason IS NOT NULL THEN s.reason"
	" WHEN s.author_id IS NULL THEN " NO_USER_REASON
	" WHEN i.post_id IS NOT NULL AND NOT (i.user_id = s.user_id"
	" AND ($2 OR (i.title = s.title AND i.content = s.content"
	" AND " HAS_PROPERTIES("i.properties") "))"
	" AND (" SAME_DATE("i.creation_date") " OR " PUBLISHED ")) THEN "
	TAKEN_REASON(" WHEN i.user_id <> s.user_id THEN '" TAKEN_BY_ANOTHER "'")
	" END AS reason"
	" FROM " WITH_AUTHOR("post") " AS s"
	" LEFT JOIN (SELECT type, post_id, user_id, title, content, creation_date,"
	" hidden, publish_date, properties FROM #posts) AS i"
	" ON i.type = 'post' AND i.post_id = s.post_id"
	") AS looked_up) AS numbered",

	[ITEM_COMMENT] =
	CHECK_CHILD("comment", ", content",
				", parent_id, NULL::boolean, hidden, modification_date, properties,"
				" NULL::bigint, NULL::bigint", "id",
				"dated, user_id, content COLLATE \"C\""),

	[ITEM_LIKE] =
	CHECK_CHILD("like", "", ", comment_id", "user_id", "dated, id"),

	[ITEM_COMMENT_LIKE] =
	CHECK_CHILD("comment_like", "", ", comment_id", "comment_id, user_id", "dated, id"),

	[ITEM_FOLLOW] =
	"INSERT INTO @checked_follow (id, partition, user_id, username, followed_id,"
	" followed_username, creation_date, reason, present)"
	" SELECT id, partition, user_id, username, followed_id, followed_username,"
	" creation_date, CASE WHEN reason IS NULL AND NOT present"
	" AND followed + row_number() OVER (PARTITION BY user_id,"
	" reason IS NULL AND NOT present ORDER BY dated, followed_id)"
	" > " CppAsString2(MAX_FOLLOWED)
	" THEN 'user follows too many users' ELSE reason END, present FROM ("
	"SELECT *, CASE WHEN problem IS NULL AND "
	"row_number() OVER (PARTITION BY user_id, followed_id, problem IS NULL ORDER BY dated, id) > 1"
	" THEN 'followed already' ELSE problem END AS reason FROM ("
	"SELECT s.id, s.partition, s.user_id, s.author_name AS username,"
	" s.followed_id, o.username AS followed_username, s.creation_date,"
	" coalesce(s.creation_date, $1) AS dated, i.user_id IS NOT NULL AS present,"
	" coalesce(n.followed, 0) AS followed,"
	" CASE WHEN s.reason IS NOT NULL THEN s.reason"
	" WHEN s.author_id IS NULL THEN " NO_USER_REASON
	" WHEN o.user_id IS NULL THEN " NO_SUCH_USER_REASON("followed_id")
	" WHEN NOT " SAME_DATE("i.creation_date") " THEN " TAKEN_REASON("")
	" END AS problem FROM " WITH_AUTHOR("follow") " AS s"
	" LEFT JOIN (SELECT type, user_id, username FROM #users OFFSET 0) AS o"
	" ON o.type = 'user' AND o.user_id = s.followed_id"
	" LEFT JOIN (SELECT * FROM #follows OFFSET 0) AS i"
	" ON i.user_id = s.user_id AND i.followed_id = s.followed_id"
	" LEFT JOIN (SELECT * FROM #followers OFFSET 0) AS n ON n.user_id = s.user_id"
	") AS looked_up) AS numbered"
};

/*
 * Inserts into @there the existing posts of the comments and likes in the
 * sources. If all these posts are new, as in most imports, the container of
 * posts is not read.
 */
const char *const import_there_sql =
"INSERT INTO @there (post_id, user_id) SELECT p.post_id, p.user_id FROM ("
"SELECT post_id FROM @comment WHERE reason IS NULL"
" UNION SELECT post_id FROM @like WHERE reason IS NULL"
" UNION SELECT post_id FROM @comment_like WHERE reason IS NULL"
" EXCEPT SELECT post_id FROM @checked_post WHERE reason IS NULL AND NOT present"
") AS s JOIN #posts AS p ON p.type = 'post' AND p.post_id = s.post_id";

/* Rejects users whose new name another user has, and keeps. */
const char *const import_refuse_names_sql =
"UPDATE @checked_user AS c SET reason = 'username taken'"
" WHERE c.reason IS NULL AND c.holder IS NOT NULL AND NOT EXISTS"
" (SELECT 1 FROM @checked_user AS h WHERE h.user_id = c.holder"
" AND h.reason IS NULL AND h.name_key <> c.name_key AND h.old_name IS NOT NULL)";

/*
 * Counts the users whose new name another user, the holder, has now. Runs
 * after import_refuse_names_sql, so the holder may get a new name in this
 * import.
 */
const char *const import_held_names_sql =
"SELECT count(*) FROM @checked_user WHERE reason IS NULL AND holder IS NOT NULL";

/*
 * A user with a holder waits for the holder's name. The holder may wait for
 * another user, so users form chains. check_names() repeats this statement,
 * which does for each user:
 *
 *	the holder					the user
 *	--------------------------	------------------------------------------
 *	waits for another user		waits for that user instead
 *	waits for nobody			gets the name
 *	is rejected, because the	is rejected for the same reason
 *	holder's new name is taken
 *
 * Users who still wait after the last run form a ring, and get their names.
 */
const char *const import_pass_names_sql =
"UPDATE @checked_user AS c SET holder = h.holder, reason = h.reason"
" FROM @checked_user AS h WHERE c.reason IS NULL AND h.user_id = c.holder"
" AND h.old_name IS NOT NULL"
" AND (h.reason IS NULL OR h.reason = 'username taken')";

/*
 * Gives the name in the column other_name to users whose name is taken. A new
 * user gets other_name if no other user has or gets this name. If two rows
 * have the same other_name, the user with the lower id gets it. An existing
 * user who has got other_name in an earlier import keeps it.
 */
const char *const import_other_names_sql =
"UPDATE @checked_user AS c SET reason = NULL, username = c.other_name,"
" name_key = c.other_key, holder = NULL, old_name = NULL, renamed = true"
" WHERE c.reason = 'username taken' AND (c.old_name = c.other_name OR (NOT c.present"
" AND NOT EXISTS (SELECT 1 FROM #usernames AS r WHERE r.username_key = c.other_key)"
" AND NOT EXISTS (SELECT 1 FROM @checked_user AS h WHERE h.name_key = c.other_key"
" AND h.reason IS NULL)"
" AND NOT EXISTS (SELECT 1 FROM @checked_user AS h WHERE h.other_key = c.other_key"
" AND h.reason = 'username taken' AND h.user_id < c.user_id)))";

/*
 * SQL: counts the checked rows of users, posts or follows: all rows; rejected
 * rows; rows whose item exists; rows that differ from an existing item.
 */
#define TALLY(type, changed, renamed) \
	"SELECT count(*), count(reason)," \
	" count(*) FILTER (WHERE reason IS NULL AND present)," \
	" count(*) FILTER (WHERE reason IS NULL AND " changed ")" renamed \
	" FROM @checked_" type

const char *const import_tally_sql[N_IMPORTED] = {
	[ITEM_USER] = TALLY("user", "(old_name IS NOT NULL OR changed)",
						", count(*) FILTER (WHERE reason IS NULL AND renamed),"
						" count(*) FILTER (WHERE reason IS NULL AND renamed AND NOT present),"
						" count(*) FILTER (WHERE reason IS NULL AND renamed"
						" AND old_name IS NOT NULL)"),
	[ITEM_POST] = TALLY("post", "changed", ""),
	[ITEM_FOLLOW] = TALLY("follow", "false", "")
};

/*
 * SQL: the properties of a rejected row, or {} if they are not a JSON object,
 * followed by the operator ||.
 */
#define OWN(item) \
	"CASE WHEN jsonb_typeof(" item ".properties) = 'object'" \
	" THEN " item ".properties ELSE '{}' END || "

/*
 * SQL: a JSON object with those fields of a rejected row that the article's
 * documents do not have, followed by the operator ||. NULLs and hidden = false
 * are left out.
 */
#define BESIDE(item, parent, publish_date) \
	OWN(item) "jsonb_strip_nulls(jsonb_build_object(" \
	"'hidden', nullif(" item ".hidden, false)," \
	" 'modificationDate', " item ".modification_date, 'parentId', " parent "," \
	" 'publishDate', " publish_date ")) || "

/*
 * SQL: inserts the rejected rows of a type, as JSON documents, into @rejected.
 */
#define REJECT(type, beside, properties, source) \
	"INSERT INTO @rejected (type, reason, item) SELECT '" type "', c.reason," \
	" " beside "jsonb_build_object('type', '" type "', " properties ")" \
	" FROM @checked_" type " AS c" source " WHERE c.reason IS NOT NULL"

const char *const import_reject_sql[N_IMPORTED] = {
	[ITEM_USER] =
	REJECT("user", OWN("c"), "'id', c.user_id, 'userId', c.user_id,"
		   " 'username', c.username, 'creationDate', c.creation_date", ""),
	[ITEM_POST] =
	REJECT("post", BESIDE("s", "NULL", "s.publish_date"), "'id', c.post_id, 'postId', c.post_id,"
		   " 'userId', c.user_id, 'title', s.title, 'content', s.content,"
		   " 'creationDate', s.creation_date",
		   " JOIN @post AS s ON s.ctid = c.place"),
	[ITEM_COMMENT] =
	REJECT("comment", BESIDE("c", "c.parent_id", "NULL"),
		   "'id', c.id, 'postId', c.post_id, 'userId', c.user_id,"
		   " 'content', c.content, 'creationDate', c.creation_date", ""),
	[ITEM_LIKE] =
	REJECT("like", "", "'id', c.id, 'postId', c.post_id, 'userId', c.user_id,"
		   " 'creationDate', c.creation_date", ""),
	[ITEM_COMMENT_LIKE] =
	REJECT("comment_like", "", "'id', c.id, 'postId', c.post_id,"
		   " 'commentId', c.comment_id, 'userId', c.user_id,"
		   " 'creationDate', c.creation_date", ""),
	[ITEM_FOLLOW] =
	REJECT("follow", "", "'id', c.id, 'userId', c.user_id,"
		   " 'followedId', c.followed_id, 'creationDate', c.creation_date", "")
};

const char *const import_lock_tables_sql =
"LOCK TABLE " POSTS_SQL " IN ROW EXCLUSIVE MODE";

const char *const import_count_sql =
"INSERT INTO @count (post_id, comments, likes, fresh)"
" SELECT post_id, sum(comments), sum(likes), fresh"
" FROM @part GROUP BY post_id, fresh";

/*
 * Adds up the rows of @comment_part for each comment, sorted by leaf. "made"
 * is whether the import creates the comment, and "fresh" whether it creates
 * the post.
 */
const char *const import_comment_counts_sql =
"SELECT s.partition, c.post_id, c.comment_id, c.replies, c.likes, c.made, c.fresh FROM"
" (SELECT post_id, comment_id, sum(replies)::bigint AS replies,"
" sum(likes)::bigint AS likes, bool_or(made) AS made, fresh"
" FROM @comment_part GROUP BY post_id, comment_id, fresh) AS c"
" JOIN (SELECT post_id, partition FROM @comment WHERE reason IS NULL"
" UNION SELECT post_id, partition FROM @comment_like WHERE reason IS NULL) AS s"
" ON s.post_id = c.post_id ORDER BY s.partition, c.post_id, c.comment_id";

/* Counts the existing posts that get visible comments or likes. */
const char *const import_counted_sql =
"SELECT count(*) FROM @count WHERE NOT fresh AND comments + likes > 0";

/*
 * Counts the existing posts that get comments or likes, visible or hidden, or
 * whose comments are edited.
 */
const char *const import_to_lock_sql =
"SELECT count(*) FROM @count WHERE NOT fresh";

/*
 * Locks (FOR KEY SHARE) the posts that import_to_lock_sql counts, so that none
 * of them is deleted before the transaction ends. Returns the number of locked
 * posts.
 */
const char *const import_lock_posts_sql =
"SELECT count(*) FROM (SELECT 1 FROM " POSTS_SQL " AS p"
" WHERE p.type = 'post' AND p.post_id IN"
" (SELECT k.post_id FROM @count AS k WHERE NOT k.fresh)"
" ORDER BY p.post_id FOR KEY SHARE OF p) AS locked";

/*
 * SQL: true for users whose names must be inserted into the table "usernames":
 * new users, and users who get a name with another key. If the table has the
 * name for another user, that row is deleted first
 * (import_released_names_sql).
 */
#define OTHER_NAME \
	"reason IS NULL AND (NOT present OR (old_name IS NOT NULL AND NOT own))"

/*
 * Inserts users' names into the table "usernames". The order of the keys keeps
 * two imports of the same names from a deadlock.
 */
const char *const import_write_names_sql =
"INSERT INTO " USERNAMES_SQL " (username_key, user_id)"
" SELECT name_key, user_id FROM @checked_user WHERE " OTHER_NAME
" ORDER BY name_key";

/* Counts the rows that import_write_names_sql inserts. */
const char *const import_names_sql =
"SELECT count(*) FROM @checked_user WHERE " OTHER_NAME;

const char *const import_old_names_sql =
"SELECT user_id, old_name FROM @checked_user"
" WHERE reason IS NULL AND old_name IS NOT NULL ORDER BY partition, user_id";

const char *const import_changed_users_sql =
"SELECT user_id, username, properties FROM @checked_user"
" WHERE reason IS NULL AND (old_name IS NOT NULL OR changed)"
" ORDER BY partition, user_id";

/*
 * Selects the names to be deleted from the table "usernames": the old names of
 * existing users whose names change.
 *
 * The table may also give such a user another name, by a wrong row that
 * repair() would delete. If another user of this import gets that name, the
 * wrong row has to be deleted, too. For a wrong row, the query returns the key
 * of the name. The caller computes the key of each result, which leaves a key
 * as it is.
 */
const char *const import_released_names_sql =
"SELECT user_id, old_name FROM @checked_user"
" WHERE reason IS NULL AND old_name IS NOT NULL AND NOT own"
" UNION ALL SELECT r.user_id, r.username_key FROM"
" (SELECT user_id, name_key FROM @checked_user WHERE " OTHER_NAME ") AS c"
" JOIN #usernames AS r ON r.username_key = c.name_key"
" JOIN @checked_user AS h ON h.user_id = r.user_id"
" WHERE r.user_id <> c.user_id AND h.reason IS NULL AND h.old_name IS NOT NULL"
" ORDER BY user_id";

/*
 * Selects the posts to be edited. The publish_date -infinity says that the
 * post is not scheduled, and NULL that its publish_date stays.
 */
const char *const import_changed_posts_sql =
"SELECT c.post_id, c.user_id, s.title, s.content, s.creation_date, s.hidden,"
" s.modification_date, s.properties,"
" CASE WHEN " UNSCHEDULED " THEN '-infinity' ELSE s.publish_date END"
" FROM @checked_post AS c JOIN @post AS s ON s.ctid = c.place"
" WHERE c.reason IS NULL AND c.changed ORDER BY c.partition, c.post_id";

/*
 * Counts the new users with the same id as an earlier user who is being
 * deleted. Other transactions have created and deleted the earlier user after
 * the import's check.
 */
const char *const import_deleting_sql =
"SELECT count(*) FROM @checked_user WHERE " NEW
" AND user_id IN " BEING_DELETED;

/* Selects the users who are being deleted. */
const char *const import_all_deleting_sql =
"SELECT user_id FROM #deleting ORDER BY user_id";

/*
 * Selects the new users, posts or follows, sorted by leaf. The columns are the
 * fields in the order of item_properties().
 */
const char *const import_new_sql[N_IMPORTED] = {
	[ITEM_USER] =
	"SELECT user_id, 'user', user_id, username, creation_date, properties"
	" FROM @checked_user WHERE " NEW " ORDER BY partition, user_id",
	[ITEM_POST] =
	"SELECT c.post_id, 'post', c.post_id, c.user_id, c.username, s.title,"
	" s.content, coalesce(k.comments, 0), coalesce(k.likes, 0),"
	" s.creation_date, s.hidden, s.modification_date, s.properties, s.publish_date"
	" FROM @checked_post AS c JOIN @post AS s ON s.ctid = c.place"
	" LEFT JOIN @count AS k ON k.post_id = c.post_id"
	" WHERE c.reason IS NULL AND NOT c.present"
	" ORDER BY c.partition, c.post_id",
	[ITEM_FOLLOW] =
	"SELECT id, 'follow', user_id, username, followed_id, followed_username,"
	" creation_date FROM @checked_follow WHERE " NEW
	" ORDER BY partition, user_id, followed_id"
};

const char *const import_write_deltas_sql =
"INSERT INTO " POSTS_SQL " (id, type, post_id, item_id, comment_count, like_count)"
" SELECT gen_random_uuid(), 'delta', post_id, post_id, comments, likes"
" FROM @count WHERE NOT fresh AND comments + likes > 0";
