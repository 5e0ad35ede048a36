/*
 * export_documents.h
 *		SQL expressions that make JSON documents of items, for
 *		export_documents.c and cluster/.
 */
#ifndef BLOGSTORE_EXPORT_DOCUMENTS_H
#define BLOGSTORE_EXPORT_DOCUMENTS_H

/*
 * The beginning of an expression for an item's JSON document: the site's own
 * values, from the column properties. The caller appends an object with the
 * other columns. If both have the same key, the document has the value from
 * the object.
 *
 * item: alias of the item in FROM
 * added: expressions that append the columns that only some items have
 */
#define BESIDE(item, added) \
	"CASE WHEN jsonb_typeof(" item ".properties) = 'object' THEN " item ".properties" \
	" ELSE '{}' END" added " || "

#define HIDDEN_OR_EDITED(item) \
	" || CASE WHEN " item ".hidden THEN '{\"hidden\": true}'::jsonb ELSE '{}' END" \
	" || CASE WHEN " item ".modification_date IS NULL THEN '{}'::jsonb ELSE" \
	" jsonb_build_object('modificationDate', " item ".modification_date) END"

#define SCHEDULED(item) \
	" || CASE WHEN " item ".hidden AND " item ".publish_date IS NOT NULL" \
	" THEN jsonb_build_object('publishDate', " item ".publish_date) ELSE '{}' END"

#define REPLY(item) \
	" || CASE WHEN " item ".parent_id IS NULL THEN '{}'::jsonb ELSE" \
	" jsonb_build_object('parentId', " item ".parent_id) END"

/* Selects the sums of the deltas of each comment. */
#define COMMENT_DELTAS_SQL \
	"SELECT post_id, item_id, sum(comment_count)::bigint AS replies," \
	" sum(like_count)::bigint AS likes FROM " POSTS_SQL \
	" WHERE type = 'delta' AND item_id <> post_id GROUP BY post_id, item_id"

/*
 * For each comment, counts the likes and the replies (except hidden ones) by
 * some users.
 *
 * of_users: the end of a condition on user_id, for example "IN (SELECT ...)"
 * fence: "OFFSET 0" keeps the planner from pushing this condition down into
 *     the subquery. It is "" on a cluster, where a subquery with OFFSET 0
 *     would be a query of its own.
 */
#define ON_COMMENTS_SQL(of_users, fence) \
	"SELECT i.post_id, i.on_id, count(*) FILTER (WHERE i.type = 'comment') AS replies," \
	" count(*) FILTER (WHERE i.type = 'comment_like') AS likes" \
	" FROM (SELECT type, post_id, user_id, coalesce(parent_id, comment_id) AS on_id" \
	" FROM " POSTS_SQL " WHERE type = 'comment_like' OR (type = 'comment'" \
	" AND parent_id IS NOT NULL AND hidden IS NOT TRUE) " fence ") AS i" \
	" WHERE i.user_id " of_users " GROUP BY i.post_id, i.on_id"

/*
 * The expressions below name these tables of FROM: a, the user or the item's
 * author; p, a post; i, a comment, like or follow.
 */
#define USER_DOCUMENT_SQL \
	BESIDE("a", "") "jsonb_build_object('id', a.user_id, 'type', 'user'," \
	" 'userId', a.user_id, 'username', a.username," \
	" 'creationDate', a.creation_date)"

/*
 * The document of a post. In FROM, d has the sums of the post's deltas. n has
 * the numbers of comments and likes on the post by users who are being
 * deleted.
 */
#define POST_DOCUMENT_SQL \
	BESIDE("p", HIDDEN_OR_EDITED("p") SCHEDULED("p")) \
	"jsonb_build_object('id', p.id, 'type', 'post'," \
	" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username," \
	" 'title', p.title, 'content', p.content, 'commentCount'," \
	" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0)," \
	" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0)," \
	" 'creationDate', p.creation_date)"

/*
 * The document of a comment. In FROM, d has the sums of the comment's deltas.
 * n has the numbers of replies and likes by users who are being deleted.
 */
#define COMMENT_DOCUMENT_SQL \
	BESIDE("i", HIDDEN_OR_EDITED("i") REPLY("i")) \
	"jsonb_build_object('id', i.id, 'type', 'comment'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'content', i.content, 'creationDate', i.creation_date," \
	" 'likeCount', coalesce(d.likes, 0) - coalesce(n.likes, 0)," \
	" 'replyCount', coalesce(d.replies, 0) - coalesce(n.replies, 0))"

#define LIKE_DOCUMENT(type, added) \
	"jsonb_build_object('id', i.id, 'type', '" type "'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'creationDate', i.creation_date" added ")"

/* The document of a follow i. In FROM, f is the user who is followed. */
#define FOLLOW_DOCUMENT_SQL \
	"jsonb_build_object('id', i.id, 'type', 'follow'," \
	" 'userId', i.user_id, 'userUsername', a.username," \
	" 'followedId', i.followed_id, 'followedUsername', f.username," \
	" 'creationDate', i.creation_date)"

#define LIKE_DOCUMENT_SQL LIKE_DOCUMENT("like", "")
#define COMMENT_LIKE_DOCUMENT_SQL \
	LIKE_DOCUMENT("comment_like", ", 'commentId', i.comment_id")

#endif							/* BLOGSTORE_EXPORT_DOCUMENTS_H */
