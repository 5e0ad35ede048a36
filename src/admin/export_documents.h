/*
 * export_documents.h
 *		SQL expressions that make JSON documents of items, for
 *		export_documents.c and cluster/.
 */
#ifndef BLOGSTORE_EXPORT_DOCUMENTS_H
#define BLOGSTORE_EXPORT_DOCUMENTS_H

/*
 * The first part of an expression for an item's JSON document: the contents of
 * the item's column properties. The caller appends an object with other
 * columns. If a key is in this object and in the column properties, the
 * document has the value from the object.
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

#define REPLY(item) \
	" || CASE WHEN " item ".parent_id IS NULL THEN '{}'::jsonb ELSE" \
	" jsonb_build_object('parentId', " item ".parent_id) END"

/* Selects the sums of the deltas of comments. */
#define REPLIES_SQL \
	"SELECT post_id, item_id, sum(comment_count)::bigint AS replies FROM " POSTS_SQL \
	" WHERE type = 'delta' AND item_id <> post_id GROUP BY post_id, item_id"

/*
 * The expressions below use these aliases in FROM: a, the user or the author
 * of the item; p, a post; i, a comment or like.
 */
#define USER_DOCUMENT_SQL \
	BESIDE("a", "") "jsonb_build_object('id', a.user_id, 'type', 'user'," \
	" 'userId', a.user_id, 'username', a.username," \
	" 'creationDate', a.creation_date)"

/*
 * The document of a post uses two more aliases in FROM: d has the sums of the
 * post's deltas; n has the numbers of comments and likes on the post by users
 * who are being deleted.
 */
#define POST_DOCUMENT_SQL \
	BESIDE("p", HIDDEN_OR_EDITED("p")) \
	"jsonb_build_object('id', p.id, 'type', 'post'," \
	" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username," \
	" 'title', p.title, 'content', p.content, 'commentCount'," \
	" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0)," \
	" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0)," \
	" 'creationDate', p.creation_date)"

/*
 * The document of a comment. FROM also has two rows: r, with the sum of the
 * comment's deltas; and n, with the number of replies by users who are being
 * deleted.
 */
#define COMMENT_DOCUMENT_SQL \
	BESIDE("i", HIDDEN_OR_EDITED("i") REPLY("i")) \
	"jsonb_build_object('id', i.id, 'type', 'comment'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'content', i.content, 'creationDate', i.creation_date," \
	" 'replyCount', coalesce(r.replies, 0) - coalesce(n.replies, 0))"

#define LIKE_DOCUMENT_SQL \
	"jsonb_build_object('id', i.id, 'type', 'like'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'creationDate', i.creation_date)"

#endif							/* BLOGSTORE_EXPORT_DOCUMENTS_H */
