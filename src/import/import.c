/*
 * import.c
 *		Bulk import: the steps of an import.
 *
 * The sources are read with the rights of the role that calls import()
 * (import/sources/staging.c). All other steps run as the containers' owner.
 * They are a few statements, each of which handles all rows of a type
 * (import_sql.c):
 *
 *	1.	check and write users
 *	2.	check posts, comments and likes
 *	3.	count the new comments and likes of each post, and take row locks (FOR
 *		KEY SHARE) on posts that already existed
 *	4.	write posts with their counts, then comments; count replies and likes
 *		on comments; write likes
 *	5.	for posts that already existed, write the counts as deltas
 *		(model/post_counts/count_delta.c)
 *	6.	if requested, edit existing items that differ (import_edit.c)
 *
 * Follows are checked and written as comments and likes are, but are not
 * counted.
 *
 * The checks read committed items. If another transaction writes an item with
 * the same key after the check, the import fails (40001).
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "base/progress.h"
#include "base/worker_hooks.h"
#include "import/import.h"
#include "model/post_counts/post_counts.h"
#include "model/user_changes/user_changes.h"
#include "requests/requests.h"
#include "requests/results/results.h"
#include "storage/attached_code/attached_code.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/cluster_calls.h"
#include "storage/layout/layout.h"
#include "storage/rows/rows.h"

#include "access/xact.h"
#include "executor/spi.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/jsonb.h"
#include "utils/snapmgr.h"
#include "utils/tuplestore.h"

/*
 * Show the import's current step in pg_stat_activity, for example "writing
 * 1000 posts". Send it to the client, too, if the import takes long.
 */
static void
show_step(const Import *import, const char *step, int64 rows, const char *what)
{
	char	   *text = psprintf("blogstore.%s: %s " INT64_FORMAT " %s",
								import->command, step, rows, what);

	pgstat_report_activity(STATE_RUNNING, text);
	progress_begin(text);
	pfree(text);
}

/*
 * Copy the rejected items to the table that the caller of import() has passed
 * for them. Runs with the caller's rights.
 *
 * rehearse: insert no rows, but raise an error if the caller may not insert.
 *	import_begin() does this, so that a long import does not fail at its end.
 */
static void
write_rejected(const Import *import, bool rehearse)
{
	import_run_named(import, "INSERT INTO ", quoted_relation(import->rejects),
					 rehearse ?
					 " (type, reason, item) SELECT r.type, r.reason, r.item"
					 " FROM @rejected AS r LIMIT 0" :
					 " (type, reason, item) SELECT r.type, r.reason, r.item"
					 " FROM @rejected AS r");
}

/*
 * Begin an import: create its temporary tables as the containers' owner. On
 * return, SPI is connected, and the current user is again the role that has
 * called import(). Errors: 25006, 42501, 55000. Locks: those of
 * tables_lock_for_import(), to the end of the transaction.
 */
void
import_begin(Import *import, const char *command)
{
	const ClusterCalls *cluster;
	ImportPhase	phase;
	pg_uuid_t	id;
	Oid			caller = GetUserId();
	char	   *name;

	StaticAssertStmt(UUID_LEN + sizeof("blogstore__checked_comment_like") < NAMEDATALEN,
					 "names of temporary tables are too long");
	import->command = command;
	progress_begin(psprintf("blogstore.%s: reading the sources", command));
	import->now = GetCurrentTimestamp();
	new_id(&id);
	name = import->prefix;
	name += sprintf(name, "blogstore_");
	for (int i = UUID_LEN / 2; i < UUID_LEN; i++)
		name += sprintf(name, "%02x", id.data[i]);
	strcpy(name, "_");

	request_begin(&phase.scope, command);
	cluster = cluster_calls();
	import->target = cluster != NULL ? cluster->import_target : &import_here;
	import_phase_settings(&phase);
	SPI_connect();
	for (int i = 0; i < import_tables_n; i++)
		(void) import_run(import, import_tables_sql[i]);
	import->target->begin(import);
	import_run_named(import, "GRANT SELECT ON @rejected TO ",
					 quote_identifier(GetUserNameFromId(caller, false)), "");
	stage_open(import);
	import_phase_end(&phase);
	if (OidIsValid(import->rejects))
		write_rejected(import, true);
}

/*
 * In an error message, a rejected item with more bytes of text than this is
 * replaced by a remark.
 */
#define MAX_SHOWN (1024 * 1024)

static char *
beginning(const char *text)
{
	return pnstrdup(text, characters_clip(text, strlen(text), 200));
}

/*
 * Return the first characters of a rejected item, for an error message.
 * Returns a remark instead if the item's text is too long. Even a small item
 * can have a long text: jsonb prints the number 1e100000 with all its zeros.
 */
static const char *
item_beginning(Datum item)
{
	Jsonb	   *jsonb = DatumGetJsonbP(item);

	if (jsonb_prints_longer(jsonb, MAX_SHOWN))
		return "(too long to show)";
	return beginning(JsonbToCString(NULL, &jsonb->root, VARSIZE(jsonb)));
}

/*
 * Raise the error that items were rejected. Called if the caller of import()
 * has passed no table for rejected items. Errors: 23514.
 */
static void
refuse_rejected(const Import *import, int64 rejected)
{
	TupleDesc	desc;
	HeapTuple	row;
	Datum		item;
	bool		isnull;
	char	   *reason;

	(void) import_run(import,
					  "SELECT coalesce(type, 'document'), coalesce(reason, ''), item"
					  " FROM @rejected LIMIT 1");
	row = SPI_tuptable->vals[0];
	desc = SPI_tuptable->tupdesc;
	reason = beginning(SPI_getvalue(row, desc, 2));
	item = SPI_getbinval(row, desc, 3, &isnull);
	ereport(ERROR,
			(errcode(ERRCODE_CHECK_VIOLATION),
			 errmsg_plural("%lld item cannot be imported",
						   "%lld items cannot be imported",
						   (unsigned long) rejected, (long long) rejected),
			 errdetail("The first: %s, %s: %s",
					   SPI_getvalue(row, desc, 1), reason,
					   isnull ? "null" : item_beginning(item)),
			 errhint("Pass a table with the columns type text, reason text and item jsonb as rejects to import all but these."),
			 err_fields(NULL, "rejects", RULE_ITEMS_TAKEN)));
}

static int64
count_rejected(const Import *import)
{
	int64		n = import->untyped.rejected;

	for (int t = 0; t < N_IMPORTED; t++)
		n += import->tally[t].rejected;
	return n;
}

static void
check_items(Import *import, ItemType type)
{
	const ImportTally *tally = &import->tally[type];
	char	   *updated = "";

	if (tally->read == tally->rejected)
		return;
	show_step(import, "checking", tally->read - tally->rejected,
			  plural_name(type));
	import_check(import, type);
	if (import->update)
		updated = psprintf(", " INT64_FORMAT " to update", tally->updated);
	ereport(NOTICE,
			(errmsg("%s: %lld new%s, %lld present, %lld rejected",
					plural_name(type), (long long) tally->written, updated,
					(long long) tally->present,
					(long long) tally->rejected)));
}

static void
write_items(const Import *import, ItemType type)
{
	int64		n = import->tally[type].written;

	if (n == 0)
		return;
	show_step(import, "writing", n, plural_name(type));
	import->target->write(import, type, n);
}

/*
 * Throw an error if the guest does not exist. The guest is the user whom
 * import() makes the author of items without an author. The guest may be a new
 * user, so this is called after the users were imported. Errors: 23503.
 */
static void
need_guest(const Import *import)
{
	BlogItem	user;
	bool		found;

	PushActiveSnapshot(GetLatestSnapshot());
	found = user_find(import->guest, &user) && !author_being_deleted(&user);
	PopActiveSnapshot();
	if (!found)
		ereport(ERROR,
				(errcode(ERRCODE_FOREIGN_KEY_VIOLATION),
				 errmsg("guest %s does not exist", id_text(import->guest)),
				 errhint("Create the user first, or import it among users; guest is the user's id."),
				 err_fields(container_table(CONTAINER_USERS), "guest",
						RULE_USER_EXISTS)));
}

/*
 * Check and write the users. The checks of posts, comments and likes then read
 * the authors' names from the container of users.
 */
static void
import_users(Import *import)
{
	const ImportTally *tally = &import->tally[ITEM_USER];
	int64		n;
	int64		names;

	check_items(import, ITEM_USER);
	names = n = tally->written;
	if (tally->updated > 0)
	{
		import_release_names(import);
		names = import_run_number(import, import_names_sql);
	}
	if (names > 0)
		import_run_write(import, import_write_names_sql, names);
	write_items(import, ITEM_USER);
	if (tally->updated > 0)
	{
		show_step(import, "updating", tally->updated, "users");
		import_edit_users(import);
	}
	if (import->guest != NULL)
		need_guest(import);
	/*
	 * If the import has written new users, check that no user with one of
	 * their ids is being deleted. Another transaction may have created and
	 * deleted such a user after the import's check of the ids. Items of the
	 * deleted user may still exist, so throw an error.
	 */
	if (n == 0)
		return;
	import->target->learn(import, LEARN_DELETING);
	if (import_run_number(import, import_deleting_sql) > 0)
		import_outdated(import, "a user was created and deleted");
}

/*
 * Edit the existing items of a type that differ from their source rows. An
 * item counts as "present", not as "updated", if another transaction has made
 * the same change after the check.
 */
static void
edit_items(Import *import, ItemType type)
{
	ImportTally *tally = &import->tally[type];
	int64		edited;

	if (tally->updated == 0)
		return;
	show_step(import, "updating", tally->updated, plural_name(type));
	edited = import->target->edit(import, type);
	tally->present += tally->updated - edited;
	tally->updated = edited;
}

/*
 * Count the new comments and likes of each post. Lock (FOR KEY SHARE) the rows
 * of existing posts that get comments or likes, or whose comments are edited.
 * Returns the number of existing posts that get visible comments or likes, and
 * so need a delta.
 */
static int64
lock_others(const Import *import)
{
	/* the number of existing posts to lock */
	int64		others;

	if (import->tally[ITEM_COMMENT].written == 0 &&
		import->tally[ITEM_LIKE].written == 0 &&
		import->tally[ITEM_COMMENT_LIKE].written == 0 &&
		import->tally[ITEM_COMMENT].updated == 0)
		return 0;
	(void) import_run(import, import_count_sql);
	(void) import_run(import, "ANALYZE @count");
	others = import_run_number(import, import_to_lock_sql);
	if (others == 0)
		return 0;
	import->target->keep_posts(import, others);
	return import_run_number(import, import_counted_sql);
}

/*
 * Count new replies and likes on comments. If the import has written a comment
 * with the id of a deleted one, this step also deletes the likes that the
 * deleted one has left. So it comes before new likes are written.
 */
static void
count_on_comments(const Import *import)
{
	if (import->tally[ITEM_COMMENT].written > 0 ||
		import->tally[ITEM_COMMENT_LIKE].written > 0)
		import->target->count_on_comments(import);
}

static void
import_posts(Import *import)
{
	int64		others = lock_others(import);

	for (ItemType t = ITEM_POST; t < N_IMPORTED; t++)
	{
		write_items(import, t);
		if (t == ITEM_COMMENT)
			count_on_comments(import);
		if (import->passed[t] != NULL)
			tuplestore_end(import->passed[t]);
	}
	if (others > 0)
		import_run_write(import, import_write_deltas_sql, others);
	edit_items(import, ITEM_POST);
	edit_items(import, ITEM_COMMENT);
	import_hide_posts(import);
	if (import->changed != NULL)
		tuplestore_end(import->changed);
}

static void
import_staged(Import *import)
{
	ImportPhase	phase;
	Guard	   *guard;
	int64		rejected;
	bool		wrote = false;

	import_phase_begin(&phase);
	/*
	 * Until guard_leave(), triggers and other code of the containers' owner
	 * cannot harm the caller of import().
	 */
	guard = guard_enter();
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
		if (import->tally[t].read > 0)
			(void) import_run(import,
							  psprintf("ANALYZE @%s", item_type_name(t)));
	container_lock(CONTAINER_USERS, true);
	import->target->lock(import);

	import->target->learn(import, LEARN_DELETING);
	import_users(import);
	import->target->learn(import, LEARN_POSTS);
	check_items(import, ITEM_POST);
	(void) import_run(import, "ANALYZE @checked_post");
	import->target->learn(import, LEARN_PARENTS);
	(void) import_run(import, import_there_sql);
	(void) import_run(import, "ANALYZE @there");
	check_items(import, ITEM_COMMENT);
	check_items(import, ITEM_LIKE);
	check_items(import, ITEM_COMMENT_LIKE);
	if (import->tally[ITEM_FOLLOW].read > 0)
		import->target->lock_follows(import);
	check_items(import, ITEM_FOLLOW);
	rejected = count_rejected(import);
	if (rejected > 0 && !OidIsValid(import->rejects))
		refuse_rejected(import, rejected);
	import_posts(import);
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
		wrote |= import->tally[t].written > 0 || import->tally[t].updated > 0;
	if (wrote)
		worker_hooks.item_written(true);
	guard_leave(guard);
	import->target->end(import);
	import_phase_end(&phase);
}

/*
 * Append a row to the result of import() or import_documents(): the numbers of
 * items of one type. The result of import_documents() has no columns "updated"
 * and "left_out".
 *
 * left_out: an array of the names of the source's columns that were not
 *	imported; (Datum) 0 stands for NULL
 */
static void
put_tally(ReturnSetInfo *info, const char *type, const ImportTally *tally,
		  Datum left_out)
{
	Datum		values[7];
	bool		nulls[7] = {type == NULL};

	values[0] = type ? CStringGetTextDatum(type) : (Datum) 0;
	values[1] = Int64GetDatum(tally->read);
	values[2] = Int64GetDatum(tally->written);
	values[3] = Int64GetDatum(tally->present);
	values[4] = Int64GetDatum(tally->rejected);
	values[5] = Int64GetDatum(tally->updated);
	values[6] = left_out;
	nulls[6] = left_out == (Datum) 0;
	tuplestore_putvalues(info->setResult, info->setDesc, values, nulls);
}

/*
 * Check and write what was read from the sources. Returns the result rows of
 * import() or import_documents(). Errors: 09000, 23503, 23514, 40001, 42501,
 * 55000. Locks: those of import().
 */
void
import_end(Import *import, FunctionCallInfo fcinfo)
{
	ReturnSetInfo *info = (ReturnSetInfo *) fcinfo->resultinfo;
	ImportPhase	phase;

	stage_close(import);
	import_staged(import);
	if (count_rejected(import) > 0)
		write_rejected(import, false);
	import_phase_begin(&phase);
	(void) import_run(import,
					  "DROP TABLE @user, @post, @comment, @like, @comment_like,"
					  " @follow, @checked_follow,"
					  " @checked_user, @checked_post, @there, @checked_comment,"
					  " @checked_like, @checked_comment_like, @part, @count,"
					  " @comment_part, @rejected");
	import_phase_end(&phase);
	SPI_finish();
	if (debug_query_string != NULL)
		pgstat_report_activity(STATE_RUNNING, debug_query_string);

	InitMaterializedSRF(fcinfo, 0);
	for (ItemType t = ITEM_USER; t < N_IMPORTED; t++)
		if (t <= ITEM_LIKE || import->tally[t].read > 0 ||
			import->left_out[t] != (Datum) 0)
			put_tally(info, item_type_name(t), &import->tally[t],
					  import->left_out[t]);
	if (import->renamed.read > 0)
		put_tally(info, "renamed", &import->renamed, (Datum) 0);
	if (import->untyped.read > 0)
		put_tally(info, NULL, &import->untyped, (Datum) 0);
}
