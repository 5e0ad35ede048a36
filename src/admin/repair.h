/*
 * repair.h
 *		What verify() has found, and the mending of it, for this folder and cluster/ alone.
 */
#ifndef BLOGSTORE_REPAIR_H
#define BLOGSTORE_REPAIR_H

#include "admin/verify.h"
#include "storage/bookkeeping/bookkeeping.h"

/* A row of verify_run(); texts are empty, and ids zero, where it has none. */
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
	bool		has_keys;		/* post_id, user_id and creation_date */
	bool		has_actual;
	TimestampTz creation_date;
} Finding;

/* verify_finding.c */
extern void finding_get(Finding *f, HeapTuple row, TupleDesc desc);
extern bool finding_is(const Finding *f, const char *problem);

/* mend_finding.c */
extern bool mend_orphan(const Finding *f);
extern bool mend_username(const Finding *f);
extern bool mend_registry(const Finding *f);
extern void mend_missing_count(const Finding *f);
extern int64 mend_invalid(const Finding *findings, uint64 n, int64 *left);
extern void drop_invalid_copies(const Finding *findings, uint64 n);

/* cluster_repair.c: on a cluster */
extern int	repair_spread_begin(void);
extern void repair_spread_end(int nest);
extern int64 mend_spread(const Finding *findings, uint64 n, bool with_views);

#endif							/* BLOGSTORE_REPAIR_H */
