/*
 * export.c
 *		blogstore.export_documents(): the containers as JSON documents.
 *
 * One statement in one snapshot, read by a cursor a batch at a time and
 * returned row by row, so that it streams where the caller lets it (in the list
 * of a SELECT). Runs in backends.
 */
#include "postgres.h"

#include "container/container.h"

#include "executor/spi.h"
#include "funcapi.h"
#include "utils/guc.h"
#include "utils/jsonb.h"
#include "utils/memutils.h"
#include "utils/portal.h"

PG_FUNCTION_INFO_V1(blogstore_export_documents);

#define EXPORT_BATCH 200

/* Where it stands; in the context of the multi-call function. */
typedef struct Export
{
	Portal		portal;			/* NULL once it is closed */
	MemoryContext batch;		/* "blogstore export", what was fetched */
	Datum	   *document;
	uint64		n;
	uint64		next;
} Export;

/*
 * The author's item gives the name as it is now, and leaves out the items of
 * those who are being deleted, who have none. What hangs on their posts is left
 * out too, and counts are without their items, as requests have it (deleted.c).
 */
#define HANGS_ON(type) \
	" FROM blogstore.posts AS i JOIN account AS a ON a.user_id = i.user_id" \
	" WHERE i.type = '" type "' AND i.post_id NOT IN" \
	" (SELECT g.post_id FROM gone AS g)"

static const char *const export_sql =
"WITH account AS NOT MATERIALIZED (SELECT user_id, username, creation_date"
" FROM blogstore.users WHERE type = 'user'),"
" deleting AS MATERIALIZED (SELECT DISTINCT user_id FROM blogstore.jobs"
" WHERE kind = 'deletion'),"
" gone AS MATERIALIZED (SELECT p.post_id FROM blogstore.posts AS p"
" WHERE p.type = 'post' AND p.user_id IN (SELECT user_id FROM deleting)),"
" unserved AS MATERIALIZED (SELECT i.post_id,"
" count(*) FILTER (WHERE i.type = 'comment') AS comments,"
" count(*) FILTER (WHERE i.type = 'like') AS likes"
" FROM blogstore.posts AS i WHERE i.type IN ('comment', 'like')"
" AND i.user_id IN (SELECT user_id FROM deleting) GROUP BY i.post_id),"
" delta AS MATERIALIZED (SELECT post_id,"
" sum(comment_count)::bigint AS comments, sum(like_count)::bigint AS likes"
" FROM blogstore.posts WHERE type = 'delta' GROUP BY post_id)"

" SELECT jsonb_build_object('id', a.user_id, 'type', 'user',"
" 'userId', a.user_id, 'username', a.username,"
" 'creationDate', a.creation_date) FROM account AS a"

" UNION ALL SELECT jsonb_build_object('id', p.id, 'type', 'post',"
" 'postId', p.post_id, 'userId', p.user_id, 'userUsername', a.username,"
" 'title', p.title, 'content', p.content, 'commentCount',"
" p.comment_count + coalesce(d.comments, 0) - coalesce(n.comments, 0),"
" 'likeCount', p.like_count + coalesce(d.likes, 0) - coalesce(n.likes, 0),"
" 'creationDate', p.creation_date)"
" FROM blogstore.posts AS p JOIN account AS a ON a.user_id = p.user_id"
" LEFT JOIN delta AS d ON d.post_id = p.post_id"
" LEFT JOIN unserved AS n ON n.post_id = p.post_id WHERE p.type = 'post'"

" UNION ALL SELECT jsonb_build_object('id', i.id, 'type', 'comment',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'content', i.content, 'creationDate', i.creation_date)"
HANGS_ON("comment")

" UNION ALL SELECT jsonb_build_object('id', i.id, 'type', 'like',"
" 'postId', i.post_id, 'userId', i.user_id, 'userUsername', a.username,"
" 'creationDate', i.creation_date)"
HANGS_ON("like");

static void
export_open(Export *export)
{
	OwnerScope	scope;
	int			nest = NewGUCNestLevel();

	(void) set_config_option("search_path", "pg_catalog, pg_temp", PGC_USERSET,
							 PGC_S_SESSION, GUC_ACTION_SAVE, true, 0, false);
	owner_begin(&scope);
	SPI_connect();
	export->portal = SPI_cursor_open_with_args(NULL, export_sql, 0, NULL, NULL,
											   NULL, true,
											   CURSOR_OPT_NO_SCROLL);
	SPI_finish();
	owner_end(&scope);
	AtEOXact_GUC(true, nest);
}

/* Fetch the next batch; false if there is none. */
static bool
export_fetch(Export *export)
{
	OwnerScope	scope;
	MemoryContext old;

	MemoryContextReset(export->batch);
	owner_begin(&scope);
	SPI_connect();
	SPI_cursor_fetch(export->portal, true, EXPORT_BATCH);
	old = MemoryContextSwitchTo(export->batch);
	export->n = SPI_processed;
	export->next = 0;
	export->document = palloc(sizeof(Datum) * Max(export->n, 1));
	for (uint64 i = 0; i < export->n; i++)
	{
		bool		isnull;
		Datum		value = SPI_getbinval(SPI_tuptable->vals[i],
										  SPI_tuptable->tupdesc, 1, &isnull);

		export->document[i] = PointerGetDatum(PG_DETOAST_DATUM_COPY(value));
	}
	MemoryContextSwitchTo(old);
	SPI_finish();
	owner_end(&scope);
	return export->n > 0;
}

/* The caller wants no more. After an error the portal ends by itself. */
static void
export_close(Datum arg)
{
	Export	   *export = (Export *) DatumGetPointer(arg);

	if (export->portal == NULL)
		return;
	SPI_connect();
	SPI_cursor_close(export->portal);
	SPI_finish();
	export->portal = NULL;
}

/* blogstore.export_documents(). Errors: 0A000, 55000. */
Datum
blogstore_export_documents(PG_FUNCTION_ARGS)
{
	FuncCallContext *calls;
	Export	   *export;

	if (SRF_IS_FIRSTCALL())
	{
		ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;

		container_require();
		calls = SRF_FIRSTCALL_INIT();
		export = MemoryContextAllocZero(calls->multi_call_memory_ctx,
										sizeof(Export));
		export->batch = AllocSetContextCreate(calls->multi_call_memory_ctx,
											  "blogstore export",
											  ALLOCSET_DEFAULT_SIZES);
		calls->user_fctx = export;
		export_open(export);
		RegisterExprContextCallback(info->econtext, export_close,
									PointerGetDatum(export));
	}
	calls = SRF_PERCALL_SETUP();
	export = calls->user_fctx;
	if (export->next >= export->n && !export_fetch(export))
	{
		ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;

		UnregisterExprContextCallback(info->econtext, export_close,
									  PointerGetDatum(export));
		export_close(PointerGetDatum(export));
		SRF_RETURN_DONE(calls);
	}
	SRF_RETURN_NEXT(calls, export->document[export->next++]);
}
