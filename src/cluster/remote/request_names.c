/*
 * request_names.c
 *		Looking up requests by name: the function of a request, whether its
 *		items are on all nodes, and the composite type of its result.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "cluster/remote/remote_call.h"
#include "storage/blog_item.h"
#include "storage/layout/layout.h"

#include "access/htup_details.h"
#include "catalog/dependency.h"
#include "catalog/namespace.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "funcapi.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/*
 * Return the name of the SQL function through which other nodes run a request,
 * for example serve_post().
 *
 * type: the type of the items that the request returns
 */
const char *
remote_serve_function(ItemType type)
{
	switch (type)
	{
		case ITEM_POST:
			return "serve_post";
		case ITEM_COMMENT:
			return "serve_comment";
		case ITEM_LIKE:
		case ITEM_COMMENT_LIKE:
			return "serve_like";
		case ITEM_TOPIC:
			return "serve_topic";
		case ITEM_FOLLOW:
			return "serve_follow";
		default:
			elog(ERROR, "items of type \"%s\" are on every node",
				 item_type_name(type));
	}
}

/*
 * The functions that a node may make another node run. Other functions of the
 * schema are refused, because any role with the CREATE privilege could have
 * created them.
 */
static const char *const served[] = {
	"create_post", "edit_post", "delete_post", "hide_post", "publish_post",
	"schedule_post", "create_comment", "edit_comment", "delete_comment", "hide_comment",
	"create_like", "delete_like",
	"own_edit_post", "own_delete_post", "own_hide_post", "own_publish_post",
	"own_schedule_post", "own_create_comment", "own_edit_comment", "own_delete_comment",
	"own_create_like",
	"get_post", "get_posts", "get_comment", "get_like", "get_likes",
	"get_comment_likes", "list_user_posts", "list_post_comments",
	"list_comment_replies", "list_post_likes", "list_comment_likes",
	"list_user_comments", "list_user_likes", "list_feed", "list_topic_posts",
	"list_topics",
	"follow_user", "unfollow_user", "get_follows", "list_following",
	"list_followers", "list_followed", "home_feed_copies", "home_feed_posts",
	"put_copies", "touch_copies", "begin_user_deletion", "revive_user",
	"wait_for_views", "wait_for_posts", "rebuild_views",
	"import_begin_part", "deleting_users", "import_posts", "import_comments",
	"import_likes", "import_comment_likes", "import_keep_posts",
	"import_lock_follows", "import_count_follows", "import_follows",
	"import_count_posts", "import_count_comments", "import_same_names",
	"import_edit_posts", "import_edit_comments", "repair_part", "repair_topics",
	"repair_copies"
};

static int
served_number(const char *name)
{
	for (int i = 0; i < lengthof(served); i++)
		if (strcmp(name, served[i]) == 0)
			return i;
	return -1;
}

typedef struct FoundFunction
{
	Oid			function;
	int			nargs;
	Oid			types[FLEXIBLE_ARRAY_MEMBER];
} FoundFunction;

static MemoryContext known_context = NULL;

/*
 * The cache of functions. known_functions[i] is a list of FoundFunction, the
 * functions with the name served[i]. known_commands is a list of Command.
 */
static List *known_functions[lengthof(served)];
static List *known_commands = NIL;
static bool known_are_stale = false;

static void
functions_invalidate(void)
{
	known_are_stale = true;
}

/*
 * Return the memory context of the cache of functions. If a function has
 * changed in the catalogs, empty the cache first.
 */
static MemoryContext
known_begin(void)
{
	if (known_context == NULL)
	{
		invalidation_listen_catalog(PROCOID, functions_invalidate);
		known_context = AllocSetContextCreate(CacheMemoryContext,
											  "blogstore requests by name",
											  ALLOCSET_SMALL_SIZES);
	}
	if (known_are_stale)
	{
		MemoryContextReset(known_context);
		memset(known_functions, 0, sizeof(known_functions));
		known_commands = NIL;
		known_are_stale = false;
	}
	return known_context;
}

/*
 * Look up in the catalogs a C function of the extension by its name and number
 * of arguments. Set types[] to the argument types. Returns InvalidOid if there
 * is no such function.
 */
static Oid
look_up_function(const char *name, int nargs, Oid *types)
{
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, false);
	Oid			extension = get_extension_oid("blogstore", false);
	CatCList   *list = SearchSysCacheList1(PROCNAMEARGSNSP,
										   CStringGetDatum(name));
	Oid			found = InvalidOid;

	for (int i = 0; i < list->n_members; i++)
	{
		Form_pg_proc form = (Form_pg_proc) GETSTRUCT(&list->members[i]->tuple);

		if (form->pronamespace != nsp || form->pronargs != nargs ||
			form->prolang != ClanguageId ||
			getExtensionOfObject(ProcedureRelationId, form->oid) != extension)
			continue;
		found = form->oid;
		memcpy(types, form->proargtypes.values, sizeof(Oid) * nargs);
	}
	ReleaseCatCacheList(list);
	return found;
}

/*
 * Add a function to the cache. Do nothing if some function has changed in the
 * catalogs since known_begin().
 *
 * number: the function's index in served[]
 */
static void
keep_function(int number, Oid function, int nargs, const Oid *types)
{
	MemoryContext old;
	FoundFunction *kept;

	if (known_are_stale)
		return;
	old = MemoryContextSwitchTo(known_context);
	kept = palloc(offsetof(FoundFunction, types) + sizeof(Oid) * nargs);
	kept->function = function;
	kept->nargs = nargs;
	memcpy(kept->types, types, sizeof(Oid) * nargs);
	known_functions[number] = lappend(known_functions[number], kept);
	MemoryContextSwitchTo(old);
}

/*
 * Return the function that has the given name and nargs arguments, and set
 * types[] to the argument types. Only functions of the extension itself are
 * found, because the caller runs the function as the containers' owner.
 * Errors: 42883.
 */
Oid
remote_find_function(const char *name, int nargs, Oid *types)
{
	int			number = served_number(name);
	Oid			found = InvalidOid;
	ListCell   *lc;

	(void) known_begin();
	foreach(lc, number < 0 ? NIL : known_functions[number])
	{
		FoundFunction *kept = lfirst(lc);

		if (kept->nargs != nargs)
			continue;
		memcpy(types, kept->types, sizeof(Oid) * nargs);
		return kept->function;
	}
	if (number >= 0)
		found = look_up_function(name, nargs, types);
	if (!OidIsValid(found))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FUNCTION),
				 errmsg("there is no request \"%s\" with %d arguments on this node",
						name, nargs),
				 errhint("Install the same version of blogstore on all nodes."),
				 err_fields(NULL, NULL, RULE_CLUSTER)));
	keep_function(number, found, nargs, types);
	return found;
}

/*
 * Return the name of the SQL function through which other nodes run a request,
 * for example serve_post(). Returns NULL if there is no such function.
 *
 * result: the result type of the request's function
 */
static const char *
serve_of_result(Oid result)
{
	static const ItemType types[] = {ITEM_POST, ITEM_COMMENT, ITEM_LIKE, ITEM_FOLLOW};
	char	   *name = get_rel_name(get_typ_typrelid(result));

	if (result == BOOLOID)
		return "serve_flag";
	for (int i = 0; i < lengthof(types); i++)
		if (name != NULL &&
			strcmp(name, psprintf("%s_item", item_type_name(types[i]))) == 0)
			return remote_serve_function(types[i]);
	return NULL;
}

/*
 * Return the name of the argument by whose value a command finds its node: the
 * id of a post, or of the user who follows.
 */
static const char *
key_name(const char *command)
{
	return strcmp(command, "follow_user") == 0 ||
		strcmp(command, "unfollow_user") == 0 ? "user_id" : "post_id";
}

static void
look_up_command(Oid function, Command *command)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Form_pg_proc form;
	Oid		   *types;
	char	  **names;
	char	   *modes;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for function %u", function);
	form = (Form_pg_proc) GETSTRUCT(tuple);
	memset(command, 0, sizeof(Command));
	command->function = function;
	command->name = form->proname;
	command->serve = serve_of_result(form->prorettype);
	command->nargs = get_func_arg_info(tuple, &types, &names, &modes);
	command->nargs = Min(command->nargs, form->pronargs);
	command->key = -1;
	for (int i = 0; i < command->nargs; i++)
	{
		command->types[i] = types[i];
		if (names != NULL && names[i] != NULL &&
			strcmp(names[i], key_name(NameStr(command->name))) == 0)
			command->key = i;
	}
	ReleaseSysCache(tuple);
}

/*
 * Set *command to what the system catalogs say about the SQL function of a
 * command. The result is cached.
 */
void
remote_command_of(Oid function, Command *command)
{
	MemoryContext context = known_begin();
	MemoryContext old;
	Command    *kept;
	ListCell   *lc;

	foreach(lc, known_commands)
	{
		kept = lfirst(lc);
		if (kept->function != function)
			continue;
		*command = *kept;
		return;
	}
	look_up_command(function, command);
	if (known_are_stale)
		return;
	old = MemoryContextSwitchTo(context);
	kept = palloc(sizeof(Command));
	*kept = *command;
	known_commands = lappend(known_commands, kept);
	MemoryContextSwitchTo(old);
}

Oid
remote_row_type(ItemType type)
{
	char	   *name = psprintf("%s_item", item_noun(type));
	Oid			nsp = get_namespace_oid(BLOGSTORE_SCHEMA, false);
	Oid			found = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid,
										CStringGetDatum(name),
										ObjectIdGetDatum(nsp));

	if (!OidIsValid(found))
		elog(ERROR, "there is no type \"%s.%s\"", BLOGSTORE_SCHEMA, name);
	return found;
}

/*
 * Return whether a query reads copies of posts on the node of their users.
 * Such a query may be refused, because a node may not have built its copies
 * yet.
 *
 * part: whether the query is a part of another node's request. A part of
 *	list_user_posts() reads posts.
 */
bool
remote_reads_copies(const char *name, bool part)
{
	return strcmp(name, part ? "home_feed_copies" : "list_user_posts") == 0;
}

/*
 * Return the index of the argument by which a query selects items: the id of a
 * post or user.
 */
int
remote_key_argument(const char *name)
{
	return strcmp(name, "get_comment_likes") == 0 ? 1 : 0;
}

/* Return whether the items that a query returns may be on all nodes. */
bool
remote_is_of_all_nodes(const char *name)
{
	static const char *const names[] = {
		"get_posts", "get_likes", "list_user_comments", "list_user_likes",
		"list_topic_posts", "list_topics", "list_followers"
	};

	for (int i = 0; i < lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
			return true;
	return false;
}

Datum
remote_row_of_item(const BlogItem *item, ItemType type, TupleDesc desc)
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
	int			n;
	const Property *prop = item_properties(type, &n);

	for (int i = 0; i < n; i++)
	{
		value[i] = item->value[prop[i]];
		isnull[i] = item->isnull[prop[i]];
	}
	return HeapTupleGetDatum(heap_form_tuple(desc, value, isnull));
}

/*
 * Make an item from a row that another node has sent. Errors: XX000 if the row
 * does not have the columns of items of the given type.
 */
void
remote_item_of_row(BlogItem *item, ItemType type, TupleDesc desc, HeapTuple row)
{
	Datum		value[N_PROPERTIES];
	bool		isnull[N_PROPERTIES];
	int			n;
	const Property *prop = item_properties(type, &n);

	if (desc->natts != n)
		elog(ERROR, "a row from another node has unexpected columns");
	heap_deform_tuple(row, desc, value, isnull);
	item_init(item, type);
	for (int i = 0; i < n; i++)
	{
		item->value[prop[i]] = value[i];
		item->isnull[prop[i]] = isnull[i];
	}
}
