/*
 * state.h
 *		The small tables beside the containers, and their owner.
 */
#ifndef BLOGSTORE_STATE_H
#define BLOGSTORE_STATE_H

#include "layout/layout.h"

#include "access/xlogdefs.h"
#include "utils/snapshot.h"

/* job_queue.c: work that outlives the command that asked for it */
extern void job_enqueue(const char *kind, const pg_uuid_t *user_id);

/* view_state.c: may readers use the views? */
typedef struct ViewState
{
	bool		enabled;		/* false: stopped by stop_worker() */
	bool		ready;			/* the views are complete */
	int			feed_size;		/* the settings they were built with */
	int			short_form_length;
} ViewState;

extern void view_state_init(void);
extern bool views_ready(Snapshot snapshot);
extern void views_abandon(void);
extern void views_lock(void);
extern void view_state_read(ViewState *state);
extern void view_state_write(const ViewState *state);

/* feed_position.c: how far the change feed has come */
typedef struct FeedPosition
{
	XLogRecPtr	applied_lsn;	/* the views show all commits before it */
	TimestampTz applied_at;
	int64		timeline;		/* of the server that applied it */
	int64		system_identifier;
	int64		layout;			/* container_layout() then */
} FeedPosition;

extern void feed_position_read(FeedPosition *position);
extern void feed_position_write(const FeedPosition *position);
extern void feed_position_forget(void);

/* owner.c: what is done inside a request is done as the containers' owner */
typedef struct OwnerScope
{
	Oid			user;
	int			sec_context;
} OwnerScope;

extern void owner_begin(OwnerScope *scope);
extern void owner_end(const OwnerScope *scope);
extern void need_writable(const char *command);

#endif							/* BLOGSTORE_STATE_H */
