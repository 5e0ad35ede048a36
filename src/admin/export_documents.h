/*
 * export_documents.h
 *		SQL expressions that make documents, for export_documents.c and
 *		cluster/.
 */
#ifndef BLOGSTORE_EXPORT_DOCUMENTS_H
#define BLOGSTORE_EXPORT_DOCUMENTS_H

/*
 * What precedes the article's properties in a document: the properties that
 * clients have added, and those that blogstore adds if they have a value. The
 * article's properties follow. If the owner has written a property of the same
 * name, the article's replaces it.
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

/*
 * The documents of a user a, a post p, and a comment or like i, where a is the
 * author.
 */
#define USER_DOCUMENT_SQL \
	BESIDE("a", "") "jsonb_build_object('id', a.user_id, 'type', 'user'," \
	" 'userId', a.user_id, 'username', a.username," \
	" 'creationDate', a.creation_date)"

/*
 * d has the sums of the post's deltas. n has the numbers of its comments and
 * likes that requests do not return.
 */
#define POST_DOCUMENT_SQL \
	BESIDE("p", HIDDEN_OR_EDITED("p")) \
	"jsonb_build_object('id', p.id, 'type', 'post'," \
	" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username," \
	" 'title', p.title, 'content', p.content, 'commentCount'," \
	" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0)," \
	" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0)," \
	" 'creationDate', p.creation_date)"

#define COMMENT_DOCUMENT_SQL \
	BESIDE("i", HIDDEN_OR_EDITED("i") REPLY("i")) \
	"jsonb_build_object('id', i.id, 'type', 'comment'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'content', i.content, 'creationDate', i.creation_date)"

#define LIKE_DOCUMENT_SQL \
	"jsonb_build_object('id', i.id, 'type', 'like'," \
	" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username," \
	" 'creationDate', i.creation_date)"

#endif							/* BLOGSTORE_EXPORT_DOCUMENTS_H */
