/*
 * cluster_repair.c
 *		repair() on a cluster: the work of the calling node, the one on which
 *		repair() is called. node_repair.c has the work of the other nodes.
 *
 * verify() compares the items of all nodes in one statement, and returns
 * findings: rows that each say what is wrong with one item.
 *
 *	findings about			repaired by
 *	--------------------	------------------------------------------------
 *	a node's own items		that node
 *	usernames, follows,		statements of the calling node, which Citus runs
 *	publish_queue
 *	copies of posts			two nodes: the post's node makes the copy, and
 *							the author's node writes it
 *	topics					each node with posts, which compares them again
 *
 * The post's node makes copies in its SQL function repair_copies(). Until the
 * transaction ends, the worker of that node refreshes no copies.
 *
 * Only the calling node calls other nodes. If a called node called further
 * nodes, the transaction could have two sessions on one node. One session
 * could then wait for a lock of the other.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "admin/repair.h"
#include "base/compat.h"
#include "base/settings.h"
#include "cluster/operations/operations.h"
#include "cluster/remote/remote.h"
#include "cluster/user_items/reference_users.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "catalog/pg_type.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#define FINDINGS_A_CALL 500

typedef struct Parcel
{
	int			n;
	const Finding *finding[FINDINGS_A_CALL];
} Parcel;

/*
 * Return whether a finding is about an item or a count that belongs to a post.
 * The post's node repairs such a finding.
 */
static bool
is_of_post(const Finding *f)
{
	return !finding_is_of_follow(f) &&
		(finding_is(f, "orphan") || finding_is(f, "comment_count") ||
		 finding_is(f, "like_count") || finding_is(f, "reply_count"));
}

/*
 * Return whether repairing a finding may require writing the copy of a post.
 * This is so if the finding is about the copy or about the post itself.
 */
static bool
is_of_copy(const Finding *f)
{
	return f->has_keys && strcmp(f->type, "post") == 0 &&
		strcmp(f->container, "feed") != 0;
}

static bool
is_on(const Finding *f, int group)
{
	Shard		shard;

	return container_shard(CONTAINER_POSTS, &f->post_id, &shard) &&
		shard.group == group;
}

static NullableDatum
list_of(Datum *value, int n, Oid type)
{
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(type, &length, &by_value, &align);
	return (NullableDatum) {
		PointerGetDatum(construct_array(value, n, type, length, by_value, align)), false
	};
}

/*
 * Make a node repair what some findings report. Returns how many of these
 * findings the node has repaired.
 */
static int64
send_findings(int group, const Parcel *parcel)
{
	const Oid	types[] = {
		TEXTARRAYOID, TEXTARRAYOID, TEXTARRAYOID, UUIDARRAYOID, UUIDARRAYOID,
		UUIDARRAYOID
	};
	const Oid	element[] = {TEXTOID, TEXTOID, TEXTOID, UUIDOID, UUIDOID, UUIDOID};
	Datum		value[lengthof(types)][FINDINGS_A_CALL];
	NullableDatum args[lengthof(types)];
	GroupCall	call = {
		.name = "repair_part", .nargs = lengthof(types), .types = types, .args = args
	};
	RemoteItems *items;
	BlogItem	answer;

	for (int i = 0; i < parcel->n; i++)
	{
		const Finding *f = parcel->finding[i];

		value[0][i] = CStringGetTextDatum(f->problem);
		value[1][i] = CStringGetTextDatum(f->type);
		value[2][i] = CStringGetTextDatum(f->expected);
		value[3][i] = UUIDPGetDatum(&f->id);
		value[4][i] = UUIDPGetDatum(&f->post_id);
		value[5][i] = UUIDPGetDatum(&f->user_id);
	}
	for (int a = 0; a < lengthof(types); a++)
		args[a] = list_of(value[a], parcel->n, element[a]);
	items = remote_group_items(group, ITEM_POST, &call);
	return remote_items_next(items, &answer) ?
		item_count(&answer, PROP_COMMENT_COUNT) : 0;
}

/*
 * Make a node repair its items that the findings are about. Returns how many
 * findings the node has repaired.
 */
static int64
mend_on_node(int group, const Finding *findings, uint64 n)
{
	Parcel		parcel = {0};
	int64		mended = 0;

	for (uint64 i = 0; i < n; i++)
	{
		if (!is_of_post(&findings[i]) || !is_on(&findings[i], group))
			continue;
		if (parcel.n == FINDINGS_A_CALL)
		{
			mended += send_findings(group, &parcel);
			parcel.n = 0;
		}
		parcel.finding[parcel.n++] = &findings[i];
	}

	/*
	 * Call the node even if no finding is about its items. repair_part() also
	 * checks the tables that each node has for itself, and folds the deltas of
	 * all posts.
	 */
	return mended + send_findings(group, &parcel);
}

/*
 * Make a node return what the copies of its posts should be.
 *
 * parcel: findings about these copies
 */
static RemoteItems *
ask_for_copies(int group, const Parcel *parcel)
{
	const Oid	types[] = {UUIDARRAYOID, UUIDARRAYOID, TIMESTAMPTZARRAYOID};
	Datum		value[lengthof(types)][FINDINGS_A_CALL];
	NullableDatum args[lengthof(types)];
	GroupCall	call = {
		.name = "repair_copies", .nargs = lengthof(types), .types = types, .args = args
	};

	for (int i = 0; i < parcel->n; i++)
	{
		value[0][i] = UUIDPGetDatum(&parcel->finding[i]->post_id);
		value[1][i] = UUIDPGetDatum(&parcel->finding[i]->user_id);
		value[2][i] = TimestampTzGetDatum(parcel->finding[i]->creation_date);
	}
	args[0] = list_of(value[0], parcel->n, UUIDOID);
	args[1] = list_of(value[1], parcel->n, UUIDOID);
	args[2] = list_of(value[2], parcel->n, TIMESTAMPTZOID);
	return remote_group_items(group, ITEM_POST, &call);
}

static void
add_copy(ArrayBuildState **copies, const BlogItem *copy, TupleDesc desc)
{
	*copies = accumArrayResult(*copies, remote_row_of_item(copy, ITEM_POST, desc),
							   false, remote_row_type(ITEM_POST),
							   CurrentMemoryContext);
}

/*
 * Send each copy to the node that has the author's shard of "users". The SQL
 * function put_copies() of that node writes the copy.
 */
static void
put_copies(RemoteItems *items)
{
	TupleDesc	desc = BlessTupleDesc(lookup_rowtype_tupdesc_copy(remote_row_type(ITEM_POST), -1));
	List	   *groups = remote_groups();
	ArrayBuildState **copies = palloc0(sizeof(ArrayBuildState *) * list_length(groups));
	Oid			type = get_array_type(remote_row_type(ITEM_POST));
	BlogItem	copy;

	while (remote_items_next(items, &copy))
	{
		Shard		shard;

		if (!container_shard(CONTAINER_USERS, item_uuid(&copy, PROP_USER_ID), &shard))
			continue;
		for (int g = 0; g < list_length(groups); g++)
			if (list_nth_int(groups, g) == shard.group)
				add_copy(&copies[g], &copy, desc);
	}
	for (int g = 0; g < list_length(groups); g++)
	{
		NullableDatum arg = {0};
		GroupCall	call = {.name = "put_copies", .nargs = 1, .types = &type, .args = &arg};

		if (copies[g] == NULL)
			continue;
		arg.value = makeArrayResult(copies[g], CurrentMemoryContext);
		if (!remote_group_flag(list_nth_int(groups, g), &call))
			elog(ERROR, "the shard of a user was moved");
	}
}

static int
compare_copies(const void *a, const void *b)
{
	const Finding *x = *(const Finding *const *) a;
	const Finding *y = *(const Finding *const *) b;
	int			posts = memcmp(&x->post_id, &y->post_id, UUID_LEN);
	int			users = memcmp(&x->user_id, &y->user_id, UUID_LEN);

	if (posts != 0)
		return posts;
	if (users != 0)
		return users;
	return x->creation_date < y->creation_date ? -1 :
		x->creation_date > y->creation_date;
}

/*
 * Repair the copies of the posts that are on one node. If several findings are
 * about the same copy, write the copy once.
 */
static void
mend_copies(int group, const Finding *findings, uint64 n)
{
	const Finding **of_copy = palloc(sizeof(Finding *) * Max(n, 1));
	int			n_copies = 0;
	Parcel		parcel = {0};

	for (uint64 i = 0; i < n; i++)
		if (is_of_copy(&findings[i]) && is_on(&findings[i], group))
			of_copy[n_copies++] = &findings[i];
	if (n_copies > 1)
		qsort(of_copy, n_copies, sizeof(Finding *), compare_copies);
	for (int i = 0; i < n_copies; i++)
	{
		if (i == 0 || compare_copies(&of_copy[i], &of_copy[i - 1]) != 0)
			parcel.finding[parcel.n++] = of_copy[i];
		if (parcel.n == FINDINGS_A_CALL || i == n_copies - 1)
		{
			put_copies(ask_for_copies(group, &parcel));
			parcel.n = 0;
		}
	}
	pfree(of_copy);
}

/*
 * If any finding is about topics, make each node repair its topics. A finding
 * does not say on which node it was made.
 */
static void
mend_topics_on(int group, const Finding *findings, uint64 n)
{
	GroupCall	call = {.name = "repair_topics"};
	bool		any = false;

	for (uint64 i = 0; i < n; i++)
		any |= finding_is_of_topics(&findings[i]);
	if (any)
		(void) remote_group_flag(group, &call);
}

static KeptPlan username_plan = {
	ON_POSTS, MEND_USERNAME_SQL(USER_ITEMS_SQL), ITEM_ARGUMENTS, NULL
};

static FollowPlans follow_plans = FOLLOW_PLANS(USER_ITEMS_SQL);

/*
 * If a statement on this node can repair what a finding reports, run the
 * statement. Returns whether to count the finding as repaired. A finding about
 * a copy or topics is counted here, although they are written later.
 */
static bool
mend_by_statement(const Finding *f)
{
	if (finding_is(f, "invalid") || finding_is(f, "registry"))
		return false;
	if (finding_is_of_follow(f))
		return mend_follow_by(&follow_plans, f);
	if (finding_is_of_queue(f))
		return mend_queue(f);
	if (finding_is(f, "username"))
		return mend_by(&username_plan, f);
	if (!is_of_post(f))
		return true;
	if (!finding_is(f, "orphan"))
		mend_missing_count(f);
	return false;
}

/*
 * Repair what the findings report. The caller has repaired the findings of the
 * kind "invalid" before. Returns how many findings were repaired.
 */
static int64
mend_all(const Finding *findings, uint64 n, bool with_views)
{
	List	   *groups = remote_groups();
	ListCell   *lc;
	int64		mended = mend_registry(findings, n);

	warn_of_orphans(findings, n);
	for (uint64 i = 0; i < n; i++)
	{
		CHECK_FOR_INTERRUPTS();
		mended += mend_by_statement(&findings[i]);
	}
	drop_invalid_copies(findings, n);
	foreach(lc, groups)
		mended += mend_on_node(lfirst_int(lc), findings, n);
	if (with_views)
		foreach(lc, groups)
		{
			mend_topics_on(lfirst_int(lc), findings, n);
			mend_copies(lfirst_int(lc), findings, n);
		}
	return mended;
}

/*
 * Run verify(), and repair on all nodes what its findings report. Returns how
 * many findings were repaired.
 *
 * with_views: whether to repair the views, too
 *
 * All shards of posts are locked first, so that none is moved during the
 * repair. Citus uses one connection to each node, so that each statement sees
 * what the earlier ones have written. Called as the containers' owner. Errors,
 * locks: those of repair().
 */
int64
cluster_repair(bool with_views)
{
	int			nest = NewGUCNestLevel();
	Finding    *findings;
	uint64		n;
	int64		mended;
	int64		left;

	setting_change("citus.max_adaptive_executor_pool_size", "1");
	setting_change("citus.multi_shard_modify_mode", "sequential");
	(void) container_hold_all(CONTAINER_POSTS);
	cluster_writes_here();
	SPI_connect();
	findings = findings_of_verify(&n, with_views);
	mended = mend_invalid(findings, n, &left);
	/*
	 * "left" is the number of NULLs that mend_invalid() could not replace. The
	 * other repairs would fail on these NULLs.
	 */
	if (left == 0)
		mended += mend_all(findings, n, with_views);
	SPI_finish();
	AtEOXact_GUC(true, nest);
	return mended;
}
