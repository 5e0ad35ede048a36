/*
 * queries.c
 *		All queries, with the arguments of their functions.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "requests/request.h"

#include "catalog/pg_type.h"

#define PAGE INT4OID, TIMESTAMPTZOID, UUIDOID, BOOLOID
#define QUERY(name) &query_##name, "blogstore_" #name

const QueryFunction query_functions[] = {
	{QUERY(get_user), 1, {UUIDOID}, -1, "users"},
	{QUERY(get_user_by_name), 1, {TEXTOID}, -1, "users"},
	{QUERY(get_users), 1, {UUIDARRAYOID}, -1, "users", false, true},
	{QUERY(get_post), 1, {UUIDOID}, -1, "posts"},
	{QUERY(get_posts), 1, {UUIDARRAYOID}, -1, "posts", false, true},
	{QUERY(get_like), 2, {UUIDOID, UUIDOID}, -1, "posts"},
	{QUERY(get_likes), 2, {UUIDOID, UUIDARRAYOID}, -1, "posts", false, true},
	{QUERY(list_user_posts), 6, {UUIDOID, PAGE, BOOLOID}, 1, "users or posts", true},
	{QUERY(list_post_comments), 6, {UUIDOID, PAGE, BOOLOID}, 1, "posts"},
	{QUERY(list_comment_replies), 7, {UUIDOID, UUIDOID, PAGE, BOOLOID}, 2, "posts"},
	{QUERY(list_post_likes), 5, {UUIDOID, PAGE}, 1, "posts"},
	{QUERY(list_feed), 4, {PAGE}, 0, "feed, posts", true},
	{QUERY(list_user_comments), 6, {UUIDOID, PAGE, BOOLOID}, 1, "posts"},
	{QUERY(list_user_likes), 7, {UUIDOID, INT4OID, UUIDOID, BOOLOID, TIMESTAMPTZOID, UUIDOID, BOOLOID}, 1, "posts"}
};

StaticAssertDecl(lengthof(query_functions) == N_QUERIES,
				 "N_QUERIES is not the number of queries");
