/*
 * import_sql.c
 *		Bulk import: its SQL statements.
 *
 * The statements use these names and parameters:
 *
 *	@name	a temporary table of the import
 *	#name	a table of the containers, or the copy of it that the
 *			ImportTarget has made (import.h)
 *	$1		the current time
 *	$2		whether existing items are updated; the planner knows the value
 *
 * @user, @post, @comment and @like hold the rows that were read
 * (import/sources/staging.c). Each check is one pass over such a table, which
 * joins the rows with existing items. It finds duplicates by sorting; for
 * comments and likes, import_known.c finds them. Accepted rows are stored
 * together with the author's name. The names are read once, while the import
 * holds the lock on the leaves of posts for which renames wait
 * (model/user_changes/user_items_sweep.c). Comments and likes are sorted by
 * leaf and post, and later written in this order.
 */
#include "postgres.h"

#include "import/import.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#define STAGE_TABLE(name) \
	"CREATE TEMP TABLE @" name " (id uuid, post_id uuid, user_id uuid," \
	" username text, title text, content text, creation_date timestamptz," \
	" properties jsonb, hidden boolean, modification_date timestamptz," \
	" parent_id uuid, reason text, partition integer, name_key text COLLATE \"C\"," \
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
	/*
	 * The users of the source, with the result of their check.
	 *
	 *	partition	partition of the user item
	 *	reason		why the user is rejected; NULL if it is not
	 *	present		the user exists
	 *	old_name	the existing user's name, if it gets another one
	 *	changed		the user exists with other properties
	 *	holder		another user who has the name, and may give it up
	 *	own			the registry has the new name for this user already
	 *	other_name	the name that the user gets if the source's is taken
	 *	other_key	its key, by which names are compared
	 *	renamed		the user has other_name
	 */
	"CREATE TEMP TABLE @checked_user (partition integer, user_id uuid,"
	" username text, name_key text COLLATE \"C\", creation_date timestamptz,"
	" properties jsonb, reason text, present boolean, old_name text,"
	" changed boolean, holder uuid, own boolean, other_name text,"
	" other_key text COLLATE \"C\", renamed boolean) USING heap ON COMMIT DROP",
	/*
	 * The posts of the source, with the result of their check. place is the
	 * row of @post that has the texts. changed means that the post exists with
	 * other values.
	 */
	"CREATE TEMP TABLE @checked_post (place tid, partition integer,"
	" post_id uuid, user_id uuid, username text, reason text, present boolean,"
	" changed boolean) USING heap ON COMMIT DROP",
	/* The existing posts that comments and likes of the source refer to. */
	"CREATE TEMP TABLE @there (post_id uuid, user_id uuid) USING heap ON COMMIT DROP",
	/*
	 * Rejected comments and likes. fresh means that the import creates their
	 * post.
	 */
	REFUSED_CHILD("comment", ", content text",
				  ", parent_id uuid, parent_deleted boolean, hidden boolean,"
				  " modification_date timestamptz, properties jsonb"),
	REFUSED_CHILD("like", "", ""),
	/*
	 * @part has partial counts, which the import adds to posts. @count has
	 * their sum for each post.
	 */
	COUNT_TABLE("part"),
	COUNT_TABLE("count"),
	("CREATE TEMP TABLE @rejected (type text, reason text, item jsonb)"
	 " USING heap ON COMMIT DROP")
};

const int	import_tables_n = lengthof(import_tables_sql);

/* ------------------------------------------------------------------------
 * Checking
 * ------------------------------------------------------------------------ */

#define BEING_DELETED "(SELECT user_id FROM #deleting)"

#define NEW "reason IS NULL AND NOT present"

/*
 * True if an existing item has the row's date. A row without a date agrees
 * with any item, because create_post() accepts a repeated call in the same
 * way.
 */
#define SAME_DATE(date) \
	"(s.creation_date IS NULL OR s.creation_date = " date ")"

/*
 * True if an existing item has the row's properties. A row without properties
 * agrees with any item.
 */
#define KEEPS_PROPERTIES(of_item) \
	"(s.properties IS NULL" \
	" OR s.properties::text = coalesce(" of_item ", '{}')::text)"

#define HAS_PROPERTIES(of_item) \
	"(s.properties = '{}' OR " KEEPS_PROPERTIES(of_item) ")"

/*
 * True if a hidden post becomes visible by the row. Such a post gets the row's
 * date.
 */
#define PUBLISHED "coalesce($2 AND i.hidden AND NOT s.hidden, false)"

/* Why a row is rejected that differs from the existing item with its id. */
#define TAKEN_REASON(by_another) \
	"CASE WHEN NOT $2 THEN '" TAKEN "'" by_another \
	" ELSE '" TAKEN_WITH_ANOTHER_DATE "' END"

/*
 * True for a user who needs a name: a new one, or one who gets another name.
 */
#define NAMED "reason IS NULL AND (NOT present OR old_name IS NOT NULL)"

#define NO_USER_REASON \
	"CASE WHEN s.user_id IN " BEING_DELETED \
	" THEN 'user is being deleted' ELSE 'unknown user' END"

/*
 * The rows that were read, each with its author's item.
 *
 * No query joins two containers directly. Each container is in a subquery, and
 * OFFSET 0 keeps the planner from pulling the subquery up. For a join of two
 * containers the planner would try every index of every leaf with the leaves
 * of both, and planning time would grow with more than the square of the
 * number of partitions.
 */
#define WITH_AUTHOR(type) \
	"(SELECT s.*, s.ctid AS place, u.user_id AS author_id," \
	" u.username AS author_name, u.creation_date AS author_date," \
	" u.properties AS author_properties" \
	" FROM @" type " AS s LEFT JOIN (SELECT type, user_id, username," \
	" creation_date, properties FROM #users) AS u" \
	" ON u.type = 'user' AND u.user_id = s.user_id OFFSET 0)"

/*
 * The rows of comments or likes, each with its post. fresh means that this
 * import creates the post. there_id is the id of the post if it exists.
 */
#define WITH_POST(type) \
	"(SELECT a.*, n.post_id IS NOT NULL AS fresh, p.post_id AS there_id," \
	" p.user_id AS there_user FROM " WITH_AUTHOR(type) " AS a" \
	" LEFT JOIN @checked_post AS n" \
	" ON n.post_id = a.post_id AND n.reason IS NULL AND NOT n.present" \
	" LEFT JOIN @there AS p ON p.post_id = a.post_id OFFSET 0)"

/*
 * Numbers the valid rows that have the same key. All but the first are
 * duplicates.
 */
#define NTH(key, order) \
	"row_number() OVER (PARTITION BY " key ", reason IS NULL" \
	" ORDER BY " order ")"

/*
 * Selects the properties of comments or likes in the order of
 * item_properties(), the reason why a row is rejected, and whether the import
 * creates its post. The rows of a post, and of a key, are adjacent, as
 * import_known.c needs them to find existing items and duplicates.
 */
#define CHECK_CHILD(type, column, added, other, order) \
	"SELECT id, '" type "', post_id, user_id, username" column "," \
	" creation_date" added ", reason, fresh FROM (" \
	"SELECT s.id, s.post_id, s.user_id, s.author_name AS username, s.content," \
	" s.partition, s.creation_date, coalesce(s.creation_date, $1) AS dated," \
	" s.parent_id, s.hidden, s.modification_date, s.properties, s.fresh," \
	" CASE WHEN s.reason IS NOT NULL THEN s.reason" \
	" WHEN s.author_id IS NULL THEN " NO_USER_REASON \
	" WHEN NOT s.fresh AND (s.there_id IS NULL" \
	" OR s.there_user IN " BEING_DELETED ") THEN 'unknown post' END AS reason" \
	" FROM " WITH_POST(type) " AS s" \
	") AS looked_up ORDER BY partition, post_id, " other ", reason IS NULL, " order

/*
 * The check of users nests three queries. This is the innermost one. It
 * compares each row of @user with the existing user. dated is the date that a
 * new user gets.
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

/* Rejects rows of a user that repeat an earlier row of the user. */
#define USERS_ONCE \
	"SELECT partition, user_id, username, name_key, other_name, other_key, renamed," \
	" creation_date, properties, dated, present, old_name, changed," \
	" CASE WHEN reason IS NULL AND " \
	NTH("user_id", "renamed, dated, username COLLATE \"C\"") " > 1" \
	" THEN 'duplicate id' ELSE reason END AS reason FROM (" \
	USERS_COMPARED ") AS looked_up"

/*
 * Adds the user who has each row's name in the registry: holder. own means
 * that the new name has the same key as the existing user's old one, so the
 * user keeps the registry's row. claimed means that another user has the name.
 */
#define USERS_WITH_HOLDERS \
	"SELECT o.*, holder IS NOT NULL AND NOT own AS claimed FROM (" \
	"SELECT k.*, r.user_id AS holder, $2 AND k.old_name IS NOT NULL" \
	" AND r.user_id IS NOT DISTINCT FROM k.user_id AS own FROM (" \
	USERS_ONCE ") AS k" \
	" LEFT JOIN #usernames AS r ON r.username_key = k.name_key" \
	") AS o"

/*
 * The checks of each type. A user's name is refused here if another user has
 * it, or if another row gets it. If the other user may give it up,
 * import_refuse_names_sql and import_pass_names_sql decide later.
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
	" hidden, properties FROM #posts) AS i"
	" ON i.type = 'post' AND i.post_id = s.post_id"
	") AS looked_up) AS numbered",

	[ITEM_COMMENT] =
	CHECK_CHILD("comment", ", content",
				", parent_id, NULL::boolean, hidden, modification_date, properties", "id",
				"dated, user_id, content COLLATE \"C\""),

	[ITEM_LIKE] =
	CHECK_CHILD("like", "", "", "user_id", "dated, id")
};

/*
 * Stores the existing posts that comments and likes refer to. In most imports
 * there are none, and no post is read.
 */
const char *const import_there_sql =
"INSERT INTO @there (post_id, user_id) SELECT p.post_id, p.user_id FROM ("
"SELECT post_id FROM @comment WHERE reason IS NULL"
" UNION SELECT post_id FROM @like WHERE reason IS NULL"
" EXCEPT SELECT post_id FROM @checked_post WHERE reason IS NULL AND NOT present"
") AS s JOIN #posts AS p ON p.type = 'post' AND p.post_id = s.post_id";

/* Rejects users who want a name whose holder does not get another one. */
const char *const import_refuse_names_sql =
"UPDATE @checked_user AS c SET reason = 'username taken'"
" WHERE c.reason IS NULL AND c.holder IS NOT NULL AND NOT EXISTS"
" (SELECT 1 FROM @checked_user AS h WHERE h.user_id = c.holder"
" AND h.reason IS NULL AND h.name_key <> c.name_key AND h.old_name IS NOT NULL)";

/* Counts the users who wait for the holder of a name to get another one. */
const char *const import_held_names_sql =
"SELECT count(*) FROM @checked_user WHERE reason IS NULL AND holder IS NOT NULL";

/*
 * Shortens the chains of users who wait for names. The holder of a user's name
 * is replaced by the user for whom that holder waits. If the holder waits for
 * none, the user gets the name. If the holder is rejected because its own new
 * name is taken, so is the user.
 */
const char *const import_pass_names_sql =
"UPDATE @checked_user AS c SET holder = h.holder, reason = h.reason"
" FROM @checked_user AS h WHERE c.reason IS NULL AND h.user_id = c.holder"
" AND h.old_name IS NOT NULL"
" AND (h.reason IS NULL OR h.reason = 'username taken')";

/*
 * Gives new users whose names are taken their other names, unless these are
 * taken as well. An existing user who got its other name from an earlier
 * import keeps it. If two rows lead to the same other name, the one with the
 * lower id gets it.
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
 * Counts the checked users or posts by result. Comments and likes are counted
 * while they are checked.
 */
#define TALLY(type, changed, renamed) \
	"SELECT count(*), count(reason)," \
	" count(*) FILTER (WHERE reason IS NULL AND present)," \
	" count(*) FILTER (WHERE reason IS NULL AND " changed ")" renamed \
	" FROM @checked_" type

const char *const import_tally_sql[ITEM_POST + 1] = {
	[ITEM_USER] = TALLY("user", "(old_name IS NOT NULL OR changed)",
						", count(*) FILTER (WHERE reason IS NULL AND renamed),"
						" count(*) FILTER (WHERE reason IS NULL AND renamed AND NOT present),"
						" count(*) FILTER (WHERE reason IS NULL AND renamed"
						" AND old_name IS NOT NULL)"),
	[ITEM_POST] = TALLY("post", "changed", "")
};

/*
 * A row's own properties, or {} if they are not an object; then the operator
 * that adds more properties.
 */
#define OWN(item) \
	"CASE WHEN jsonb_typeof(" item ".properties) = 'object'" \
	" THEN " item ".properties ELSE '{}' END || "

/*
 * A rejected row's own properties and those that the article does not have.
 * NULLs, and hidden = false, are left out.
 */
#define BESIDE(item, parent) \
	OWN(item) "jsonb_strip_nulls(jsonb_build_object(" \
	"'hidden', nullif(" item ".hidden, false)," \
	" 'modificationDate', " item ".modification_date, 'parentId', " parent ")) || "

/* Stores the rejected rows of a type as JSON documents. */
#define REJECT(type, beside, properties, source) \
	"INSERT INTO @rejected (type, reason, item) SELECT '" type "', c.reason," \
	" " beside "jsonb_build_object('type', '" type "', " properties ")" \
	" FROM @checked_" type " AS c" source " WHERE c.reason IS NOT NULL"

const char *const import_reject_sql[N_IMPORTED] = {
	[ITEM_USER] =
	REJECT("user", OWN("c"), "'id', c.user_id, 'userId', c.user_id,"
		   " 'username', c.username, 'creationDate', c.creation_date", ""),
	[ITEM_POST] =
	REJECT("post", BESIDE("s", "NULL"), "'id', c.post_id, 'postId', c.post_id,"
		   " 'userId', c.user_id, 'title', s.title, 'content', s.content,"
		   " 'creationDate', s.creation_date",
		   " JOIN @post AS s ON s.ctid = c.place"),
	[ITEM_COMMENT] =
	REJECT("comment", BESIDE("c", "c.parent_id"),
		   "'id', c.id, 'postId', c.post_id, 'userId', c.user_id,"
		   " 'content', c.content, 'creationDate', c.creation_date", ""),
	[ITEM_LIKE] =
	REJECT("like", "", "'id', c.id, 'postId', c.post_id, 'userId', c.user_id,"
		   " 'creationDate', c.creation_date", "")
};

/* ------------------------------------------------------------------------
 * Locking
 * ------------------------------------------------------------------------ */

/*
 * Locks the container of posts with all its leaves, before the import reads
 * names of users.
 */
const char *const import_lock_tables_sql =
"LOCK TABLE " POSTS_SQL " IN ROW EXCLUSIVE MODE";

/* Adds up the counts of each post that import_check.c has written to @part. */
const char *const import_count_sql =
"INSERT INTO @count (post_id, comments, likes, fresh)"
" SELECT post_id, sum(comments), sum(likes), fresh"
" FROM @part GROUP BY post_id, fresh";

/* Counts the existing posts that get visible comments or likes. */
const char *const import_counted_sql =
"SELECT count(*) FROM @count WHERE NOT fresh AND comments + likes > 0";

/*
 * Counts the existing posts that get comments or likes, also hidden comments,
 * or whose comments are edited.
 */
const char *const import_to_lock_sql =
"SELECT count(*) FROM @count WHERE NOT fresh";

/*
 * Locks the posts that import_to_lock_sql counts, so that none is deleted
 * before the transaction ends.
 */
const char *const import_lock_posts_sql =
"SELECT count(*) FROM (SELECT 1 FROM " POSTS_SQL " AS p"
" WHERE p.type = 'post' AND p.post_id IN"
" (SELECT k.post_id FROM @count AS k WHERE NOT k.fresh)"
" ORDER BY p.post_id FOR KEY SHARE OF p) AS locked";

/* ------------------------------------------------------------------------
 * Writing
 * ------------------------------------------------------------------------ */

/*
 * True for users whose name the registry lacks. If the registry has the name
 * for another user, that user gives it up first.
 */
#define OTHER_NAME \
	"reason IS NULL AND (NOT present OR (old_name IS NOT NULL AND NOT own))"

/*
 * Claims names in the registry, sorted, so that two imports of the same names
 * do not deadlock.
 */
const char *const import_write_names_sql =
"INSERT INTO " USERNAMES_SQL " (username_key, user_id)"
" SELECT name_key, user_id FROM @checked_user WHERE " OTHER_NAME
" ORDER BY name_key";

/* Counts the names that import_write_names_sql claims. */
const char *const import_names_sql =
"SELECT count(*) FROM @checked_user WHERE " OTHER_NAME;

/* Selects the users who get other names, with their old names. */
const char *const import_old_names_sql =
"SELECT user_id, old_name FROM @checked_user"
" WHERE reason IS NULL AND old_name IS NOT NULL ORDER BY partition, user_id";

/* Selects the users who differ from the source, with their new values. */
const char *const import_changed_users_sql =
"SELECT user_id, username, properties FROM @checked_user"
" WHERE reason IS NULL AND (old_name IS NOT NULL OR changed)"
" ORDER BY partition, user_id";

/*
 * Selects the names that are released in the registry.
 *
 * The registry's row of a user who gets another name may have a key that is
 * not the key of the old name. repair() would delete such a row. It is
 * released, too, if another user gets that key as a name. Its key can stand
 * for the name, because the key of a key is the key itself.
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
 * Selects the existing posts that differ from the source, with their new
 * values, in the order of leaves.
 */
const char *const import_changed_posts_sql =
"SELECT c.post_id, c.user_id, s.title, s.content, s.creation_date, s.hidden,"
" s.modification_date, s.properties"
" FROM @checked_post AS c JOIN @post AS s ON s.ctid = c.place"
" WHERE c.reason IS NULL AND c.changed ORDER BY c.partition, c.post_id";

/*
 * Counts the users to be created whose ids belong to users that are being
 * deleted. Another transaction has called delete_user() for them since the
 * import checked its users.
 */
const char *const import_deleting_sql =
"SELECT count(*) FROM @checked_user WHERE " NEW
" AND user_id IN " BEING_DELETED;

/*
 * Selects the new users or posts in the order of leaves, with their properties
 * in the order of item_properties() (import_write.c).
 */
const char *const import_new_sql[ITEM_POST + 1] = {
	[ITEM_USER] =
	"SELECT user_id, 'user', user_id, username, creation_date, properties"
	" FROM @checked_user WHERE " NEW " ORDER BY partition, user_id",
	[ITEM_POST] =
	"SELECT c.post_id, 'post', c.post_id, c.user_id, c.username, s.title,"
	" s.content, coalesce(k.comments, 0), coalesce(k.likes, 0),"
	" s.creation_date, s.hidden, s.modification_date, s.properties"
	" FROM @checked_post AS c JOIN @post AS s ON s.ctid = c.place"
	" LEFT JOIN @count AS k ON k.post_id = c.post_id"
	" WHERE c.reason IS NULL AND NOT c.present"
	" ORDER BY c.partition, c.post_id"
};

const char *const import_write_deltas_sql =
"INSERT INTO " POSTS_SQL " (id, type, post_id, comment_count, like_count)"
" SELECT gen_random_uuid(), 'delta', post_id, comments, likes"
" FROM @count WHERE NOT fresh AND comments + likes > 0";
