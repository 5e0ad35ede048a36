/*
 * repair.h
 *		A finding of verify() as a C struct, and functions that repair
 *		findings. Only src/admin and src/cluster include this header.
 */
#ifndef BLOGSTORE_REPAIR_H
#define BLOGSTORE_REPAIR_H

#include "admin/verify.h"
#include "storage/bookkeeping/bookkeeping.h"

/*
 * How many warnings of one kind a call of repair() raises at most. If there
 * are more findings of this kind, one last warning says how many.
 */
#define MAX_WARNINGS 20

/*
 * A finding of verify(), read from a row of the result of verify_run(). A null
 * text becomes an empty string, and a null id all zeros. The fields has_id,
 * has_post_id, has_user_id and has_actual say whether the value was not null.
 */
typedef struct Finding
{
	const char *container;
	const char *problem;
	const char *type;
	pg_uuid_t	id;
	pg_uuid_t	post_id;
	pg_uuid_t	user_id;
	const char *expected;
	const char *actual;
	bool		has_id;
	bool		has_post_id;
	bool		has_user_id;
	bool		has_keys;		/* false if post_id, user_id or creation_date
								 * was null */
	bool		has_actual;
	TimestampTz creation_date;
} Finding;

/* verify_finding.c */
extern void finding_get(Finding *f, HeapTuple row, TupleDesc desc);
extern bool finding_is(const Finding *f, const char *problem);

/* verify.c */
extern Finding *findings_of_verify(uint64 *n, bool with_views);

/* verify_settled.c */
extern bool finding_has_to_be_settled(const ViewsLook *look, const Finding *f);
extern bool finding_is_settled(const ViewsLook *look, const Finding *f);

/*
 * Number and types of the arguments of a statement for mend_by(): the post_id,
 * type, id and user_id of the item that a finding is about.
 */
#define ITEM_ARGUMENTS 4, {UUIDOID, TEXTOID, UUIDOID, UUIDOID}

/*
 * Writes the current username of an item's author into the item. "users" is
 * the table that the username is read from. The arguments are ITEM_ARGUMENTS.
 */
#define MEND_USERNAME_SQL(users) \
	"UPDATE " POSTS_SQL " AS i SET user_username = u.username" \
	" FROM " users " AS u WHERE u.type = 'user' AND u.user_id = $4" \
	" AND u.username IS NOT NULL AND i.user_id = $4 AND i.post_id = $1" \
	" AND i.type = $2 AND i.id = $3" \
	" AND i.user_username COLLATE \"C\" IS DISTINCT FROM u.username"

/*
 * Statements that repair a finding about a follow. Their arguments are
 * ITEM_ARGUMENTS.
 *
 * name: writes the name of the user who follows into the follow
 * followed_name: writes the name of the user who is followed
 * orphan: deletes the follow, if one of its users does not exist
 */
typedef struct FollowPlans
{
	KeptPlan	name;
	KeptPlan	followed_name;
	KeptPlan	orphan;
} FollowPlans;

/* The FollowPlans for a table from which users are read. */
#define FOLLOW_PLANS(users) { \
	.name = {ON_USERS, MEND_FOLLOW_NAME_SQL(users, "user_username", "user_id"), \
		ITEM_ARGUMENTS, NULL}, \
	.followed_name = {ON_USERS, MEND_FOLLOW_NAME_SQL(users, "followed_username", "followed_id"), \
		ITEM_ARGUMENTS, NULL}, \
	.orphan = {ON_USERS, "DELETE FROM " USERS_SQL " AS f WHERE " OF_FOLLOW \
		" AND (" NO_USER_SQL(users, "f.user_id") " OR " NO_USER_SQL(users, "f.followed_id") ")", \
		ITEM_ARGUMENTS, NULL} \
}

#define OF_FOLLOW "f.type = $2 AND f.user_id = $4 AND f.id = $3"

#define MEND_FOLLOW_NAME_SQL(users, name, user) \
	"UPDATE " USERS_SQL " AS f SET " name " = u.username" \
	" FROM " users " AS u WHERE " OF_FOLLOW \
	" AND u.type = 'user' AND u.user_id = f." user " AND u.username IS NOT NULL" \
	" AND f." name " COLLATE \"C\" IS DISTINCT FROM u.username"

#define NO_USER_SQL(users, id) \
	"NOT EXISTS (SELECT FROM " users " AS u" \
	" WHERE u.type = 'user' AND u.user_id = " id ")"

extern bool mend_by(KeptPlan *plan, const Finding *f);

/* mend_finding.c */
extern bool mend_orphan(const Finding *f);
extern void warn_of_orphans(const Finding *findings, uint64 n);
extern bool mend_username(const Finding *f);
extern bool mend_queue(const Finding *f);
extern void drop_invalid_queue(void);
extern void mend_missing_count(const Finding *f);
extern int64 mend_invalid(const Finding *findings, uint64 n, int64 *left);
extern void drop_invalid_copies(const Finding *findings, uint64 n);

/* verify_queue.c */
extern bool finding_is_of_queue(const Finding *f);

/* verify_topics.c */
extern bool finding_is_of_topics(const Finding *f);
extern bool finding_is_of_topic_post(const Finding *f);
extern void mend_topics(const Finding *findings, uint64 n);

/* mend_follows.c */
extern bool finding_is_of_follow(const Finding *f);
extern bool mend_follow_by(FollowPlans *by, const Finding *f);
extern bool mend_follow(const Finding *f);

/* mend_registry.c */
extern int64 mend_registry(const Finding *findings, uint64 n);

#endif							/* BLOGSTORE_REPAIR_H */
