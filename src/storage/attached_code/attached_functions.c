/*
 * attached_functions.c
 *		Finds the code that the owner has attached to one of blogstore's
 *		tables, and attached functions that do not fix their search_path.
 *
 * Attached code runs as the tables' owner in the caller's session. Each
 * attached function must therefore fix its search_path, with pg_temp as the
 * last schema (ALTER FUNCTION ... SET search_path). Otherwise the function
 * could find a temporary table of the caller in place of the owner's table.
 * Functions of the server, functions in C, and SQL functions with a parsed
 * body (BEGIN ATOMIC) need no search_path.
 *
 * The search covers the functions in the expressions of triggers, constraints,
 * defaults and indexes. It also covers the functions of the types in these
 * expressions: domains, composite types, ranges and arrays. It does not cover
 * functions that another function calls in its body. The search reads the
 * expression trees in the catalogs. To plan or evaluate the expressions would
 * run some of the functions.
 *
 * Runs in any process.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "storage/attached_code/attached_code.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_constraint.h"
#include "catalog/pg_index.h"
#include "catalog/pg_language.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_range.h"
#include "catalog/pg_type.h"
#include "commands/trigger.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "parser/parse_coerce.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/fmgroids.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "utils/varlena.h"

/*
 * Return the number of a column if the whole predicate of an index is a null
 * test of this column; else 0.
 *
 * nulls: true for the predicate (column IS NULL), false for (column IS NOT
 * NULL)
 */
AttrNumber
index_null_test_of(Relation index, bool nulls)
{
	bool		isnull;
	Datum		predtext = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
									   Anum_pg_index_indpred, &isnull);
	NullTest   *test;

	if (isnull)
		return InvalidAttrNumber;
	test = stringToNode(TextDatumGetCString(predtext));
	return IsA(test, NullTest) &&
		test->nulltesttype == (nulls ? IS_NULL : IS_NOT_NULL) &&
		!test->argisrow && IsA(test->arg, Var) ?
		((Var *) test->arg)->varattno : InvalidAttrNumber;
}

/*
 * Return whether inserting into an index can run code of the owner: an
 * expression, a predicate, an exclusion operator, or an operator class that is
 * not the server's. The predicates (column IS NULL) and (column IS NOT NULL)
 * run no code of the owner.
 */
bool
index_is_attached(Relation index)
{
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);

	if (!heap_attisnull(index->rd_indextuple, Anum_pg_index_indexprs, NULL) ||
		(!heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL) &&
		 index_null_test_of(index, true) == InvalidAttrNumber &&
		 index_null_test_of(index, false) == InvalidAttrNumber) ||
		index->rd_index->indisexclusion)
		return true;
	for (int i = 0; i < nkeys; i++)
		if (index->rd_opfamily[i] >= FirstNormalObjectId)
			return true;
	for (int i = 0; i < nkeys * index->rd_indam->amsupport; i++)
		if (index->rd_support[i] >= FirstNormalObjectId)
			return true;
	return false;
}

/*
 * Return whether writing a row to a table can run code that the owner has
 * added: triggers, CHECK constraints, defaults, generated columns, or column
 * types that are not the server's. For the indexes of the table, see
 * index_is_attached().
 */
bool
code_is_attached(Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	if (rel->trigdesc != NULL ||
		(desc->constr != NULL &&
		 (desc->constr->num_check > 0 || desc->constr->num_defval > 0)))
		return true;
	for (int i = 0; i < desc->natts; i++)
		if (TupleDescAttr(desc, i)->atttypid >= FirstNormalObjectId)
			return true;
	return false;
}

/*
 * The functions and types that a search has found so far, without those of the
 * server.
 */
typedef struct Search
{
	List	   *functions;
	List	   *types;
} Search;

/*
 * Number of invalidations of tables, functions, types and constraints so far.
 * Any of them can change the result of attached_unpinned().
 */
static uint64 changes = 1;

static void
catalog_changed(void)
{
	changes++;
}

static void
table_changed(Oid relid)
{
	changes++;
}

/*
 * Return a number that grows whenever the result of attached_unpinned() may
 * have changed.
 */
uint64
attached_stamp(void)
{
	return changes;
}

void
attached_init(void)
{
	invalidation_listen(table_changed);
	invalidation_listen_catalog(PROCOID, catalog_changed);
	invalidation_listen_catalog(TYPEOID, catalog_changed);
	invalidation_listen_catalog(CONSTROID, catalog_changed);
}

/*
 * Return whether pg_temp is the last schema of a search_path, and occurs only
 * there. Parses the path like the server's recomputeNamespacePath().
 */
static bool
path_is_pinned(const char *path)
{
	List	   *schemas;
	ListCell   *lc;

	if (!SplitIdentifierString(pstrdup(path), ',', &schemas) || schemas == NIL)
		return false;
	foreach(lc, schemas)
	{
		const char *schema = lfirst(lc);
		bool		last = lnext(schemas, lc) == NULL;

		if (last ? strcmp(schema, "pg_temp") != 0 :
			strncmp(schema, "pg_temp", strlen("pg_temp")) == 0)
			return false;
	}
	return true;
}

static const char *
function_path(HeapTuple function)
{
	bool		isnull;
	Datum		config = SysCacheGetAttr(PROCOID, function,
										 Anum_pg_proc_proconfig, &isnull);
	Datum	   *setting;
	int			n;

	if (isnull)
		return NULL;
	deconstruct_array(DatumGetArrayTypeP(config), TEXTOID, -1, false, TYPALIGN_INT,
					  &setting, NULL, &n);
	for (int i = 0; i < n; i++)
	{
		char	   *name;
		char	   *value;

		ParseLongOption(TextDatumGetCString(setting[i]), &name, &value);
		if (value != NULL && pg_strcasecmp(name, "search_path") == 0)
			return value;
	}
	return NULL;
}

/*
 * Return whether a function is safe from the caller's search_path. The
 * function must set its own search_path, with pg_temp last, or need none.
 */
static bool
function_is_pinned(Oid function)
{
	HeapTuple	tuple = SearchSysCache1(PROCOID, ObjectIdGetDatum(function));
	Oid			language;
	const char *path;
	bool		pinned;

	if (!HeapTupleIsValid(tuple))
		/* The function was dropped, so it cannot run. */
		return true;
	language = ((Form_pg_proc) GETSTRUCT(tuple))->prolang;
	if (language == INTERNALlanguageId || language == ClanguageId ||
		(language == SQLlanguageId &&
		 !heap_attisnull(tuple, Anum_pg_proc_prosqlbody, NULL)))
		pinned = true;
	else
	{
		path = function_path(tuple);
		pinned = path != NULL && path_is_pinned(path);
	}
	ReleaseSysCache(tuple);
	return pinned;
}

/* Return a function's name, with its schema and argument types. */
char *
function_name(Oid function)
{
	StringInfoData name;
	Oid		   *type;
	int			n;

	initStringInfo(&name);
	appendStringInfo(&name, "%s(",
					 quote_qualified_identifier(get_namespace_name(get_func_namespace(function)),
												get_func_name(function)));
	(void) get_func_signature(function, &type, &n);
	for (int i = 0; i < n; i++)
		appendStringInfo(&name, "%s%s", i > 0 ? ", " : "",
						 type[i] < FirstNormalObjectId ? format_type_be(type[i]) :
						 format_type_be_qualified(type[i]));
	appendStringInfoChar(&name, ')');
	return name.data;
}

/*
 * Return an ALTER FUNCTION statement that fixes a function's search_path, for
 * the hint of an error. The search_path has only the function's own schema and
 * pg_temp. The function's owner may have to add other schemas.
 */
char *
function_pin_statement(Oid function)
{
	char	   *schema = get_namespace_name(get_func_namespace(function));

	if (schema == NULL || strncmp(schema, "pg_temp", strlen("pg_temp")) == 0)
		schema = "pg_catalog";
	return psprintf("ALTER FUNCTION %s SET search_path = %s, pg_temp",
					function_name(function), quote_identifier(schema));
}

/*
 * Add a function to those that a search has found, unless it is one of the
 * server's. check_functions_in_node() calls this for each function. Returns
 * false, so that the search continues.
 */
static bool
add_function(Oid function, void *context)
{
	Search	   *search = context;

	if (function >= FirstNormalObjectId)
		search->functions = list_append_unique_oid(search->functions, function);
	return false;
}

static void search_text(Search *search, Datum stored, bool isnull);
static void search_type(Search *search, Oid type);

static void
search_family(Search *search, Oid family)
{
	CatCList   *list;

	if (family < FirstNormalObjectId)
		return;
	list = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	for (int i = 0; i < list->n_members; i++)
		add_function(((Form_pg_amproc) GETSTRUCT(&list->members[i]->tuple))->amproc,
					 search);
	ReleaseSysCacheList(list);
	list = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	for (int i = 0; i < list->n_members; i++)
		add_function(get_opcode(((Form_pg_amop) GETSTRUCT(&list->members[i]->tuple))->amopopr),
					 search);
	ReleaseSysCacheList(list);
}

static void
search_domain_checks(Search *search, Oid domain)
{
	Relation	rel = table_open(ConstraintRelationId, AccessShareLock);
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	ScanKeyInit(&key, Anum_pg_constraint_contypid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(domain));
	scan = systable_beginscan(rel, ConstraintTypidIndexId, true, NULL, 1, &key);
	while (HeapTupleIsValid(tuple = systable_getnext(scan)))
	{
		bool		isnull;
		Datum		stored = heap_getattr(tuple, Anum_pg_constraint_conbin,
										RelationGetDescr(rel), &isnull);

		search_text(search, stored, isnull);
	}
	systable_endscan(scan);
	table_close(rel, AccessShareLock);
}

static void
search_columns(Search *search, Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	int			natts = 0;

	if (HeapTupleIsValid(tuple))
	{
		natts = ((Form_pg_class) GETSTRUCT(tuple))->relnatts;
		ReleaseSysCache(tuple);
	}
	for (AttrNumber attno = 1; attno <= natts; attno++)
		search_type(search, get_atttype(relid, attno));
}

static void
search_range(Search *search, Oid range)
{
	HeapTuple	tuple = SearchSysCache1(RANGETYPE, ObjectIdGetDatum(range));
	FormData_pg_range form;

	if (!HeapTupleIsValid(tuple))
		return;
	form = *(Form_pg_range) GETSTRUCT(tuple);
	ReleaseSysCache(tuple);
	search_type(search, form.rngsubtype);
	add_function(form.rngcanonical, search);
	add_function(form.rngsubdiff, search);
	search_family(search, get_opclass_family(form.rngsubopc));
}

/*
 * Find the functions that belong to a type, for example in the CHECK
 * constraints of a domain.
 */
static void
search_type(Search *search, Oid type)
{
	HeapTuple	tuple;
	FormData_pg_type form;
	Datum		stored;
	bool		isnull;

	if (type < FirstNormalObjectId || list_member_oid(search->types, type))
		return;
	check_stack_depth();
	search->types = lappend_oid(search->types, type);
	tuple = SearchSysCache1(TYPEOID, ObjectIdGetDatum(type));
	if (!HeapTupleIsValid(tuple))
		return;
	form = *(Form_pg_type) GETSTRUCT(tuple);
	stored = SysCacheGetAttr(TYPEOID, tuple, Anum_pg_type_typdefaultbin, &isnull);
	search_text(search, stored, isnull);
	ReleaseSysCache(tuple);

	search_type(search, form.typelem);
	switch (form.typtype)
	{
		case TYPTYPE_DOMAIN:
			search_type(search, form.typbasetype);
			search_domain_checks(search, type);
			break;
		case TYPTYPE_COMPOSITE:
			search_columns(search, form.typrelid);
			break;
		case TYPTYPE_RANGE:
			search_range(search, type);
			break;
		case TYPTYPE_MULTIRANGE:
			search_type(search, get_multirange_range(type));
			break;
		default:
			break;
	}
}

/*
 * Find the functions in an expression tree, and the functions that belong to
 * the types of its nodes.
 */
static bool
search_node(Node *node, void *context)
{
	Search	   *search = context;

	if (node == NULL)
		return false;
	(void) check_functions_in_node(node, add_function, search);
	if (IsA(node, MinMaxExpr))
		add_function(lookup_type_cache(((MinMaxExpr *) node)->minmaxtype,
									   TYPECACHE_CMP_PROC)->cmp_proc, search);
	if (!IsA(node, List) && !IsA(node, CaseWhen))
		search_type(search, exprType(node));
	return expression_tree_walker(node, search_node, search);
}

static void
search_string(Search *search, const char *tree)
{
	(void) search_node(stringToNode(tree), search);
}

static void
search_text(Search *search, Datum stored, bool isnull)
{
	if (!isnull)
		search_string(search, TextDatumGetCString(stored));
}

static void
search_table(Search *search, Relation rel)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
		search_type(search, TupleDescAttr(desc, i)->atttypid);
	if (desc->constr == NULL)
		return;
	for (int i = 0; i < desc->constr->num_check; i++)
		search_string(search, desc->constr->check[i].ccbin);
	for (int i = 0; i < desc->constr->num_defval; i++)
		search_string(search, desc->constr->defval[i].adbin);
}

/*
 * Find the function of an operator with which a foreign key compares columns.
 * Also find the casts from the column's type to the operator's argument types.
 */
static void
search_key_operator(Search *search, Oid operator, Oid column_type)
{
	Oid			operand[2];
	Oid			cast;

	add_function(get_opcode(operator), search);
	op_input_types(operator, &operand[0], &operand[1]);
	for (int i = 0; i < lengthof(operand); i++)
		if (operand[i] != column_type &&
			find_coercion_pathway(operand[i], column_type, COERCION_IMPLICIT,
								  &cast) == COERCION_PATH_FUNC)
			add_function(cast, search);
}

/*
 * Find the functions with which the server compares the columns of a foreign
 * key. Does nothing for constraints of other kinds.
 */
static void
search_foreign_key(Search *search, Oid constraint)
{
	HeapTuple	tuple = SearchSysCache1(CONSTROID, ObjectIdGetDatum(constraint));
	Form_pg_constraint form;
	AttrNumber	referencing[INDEX_MAX_KEYS];
	AttrNumber	referenced[INDEX_MAX_KEYS];
	Oid			operator[3][INDEX_MAX_KEYS];
	int			n;

	if (!HeapTupleIsValid(tuple))
		return;
	form = (Form_pg_constraint) GETSTRUCT(tuple);
	if (form->contype == CONSTRAINT_FOREIGN)
	{
		DeconstructFkConstraintRow(tuple, &n, referencing, referenced,
								   operator[0], operator[1], operator[2],
								   NULL, NULL);
		for (int i = 0; i < n; i++)
			for (int kind = 0; kind < lengthof(operator); kind++)
			{
				search_key_operator(search, operator[kind][i],
									get_atttype(form->conrelid, referencing[i]));
				search_key_operator(search, operator[kind][i],
									get_atttype(form->confrelid, referenced[i]));
			}
	}
	ReleaseSysCache(tuple);
}

/*
 * Find the trigger functions of a table, and the functions in WHEN clauses. If
 * the trigger belongs to a foreign key, also find the functions that compare
 * the columns of the key. Disabled triggers are ignored.
 */
static void
search_triggers(Search *search, Relation rel)
{
	/* a copy, because the search can make the server rebuild rel->trigdesc */
	TriggerDesc *triggers = CopyTriggerDesc(rel->trigdesc);

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];

		if (trigger->tgenabled == TRIGGER_DISABLED)
			continue;
		add_function(trigger->tgfoid, search);
		if (trigger->tgqual != NULL)
			search_string(search, trigger->tgqual);
		if (OidIsValid(trigger->tgconstraint))
			search_foreign_key(search, trigger->tgconstraint);
	}
}

/*
 * Return the name of a deferrable constraint or trigger of a table; NULL if
 * there is none. Deferrable code is not allowed, because the server could run
 * it at the end of the transaction. It would then have the rights of the role
 * that called blogstore.
 */
char *
attached_deferrable(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		char	   *name;

		if (!trigger->tgdeferrable)
			continue;
		name = trigger->tgisinternal ?
			get_constraint_name(trigger->tgconstraint) : NULL;
		return name != NULL ? name : pstrdup(trigger->tgname);
	}
	return NULL;
}

static void
search_index(Search *search, Relation index)
{
	static const AttrNumber tree[] = {
		Anum_pg_index_indexprs, Anum_pg_index_indpred
	};
	int			nkeys = IndexRelationGetNumberOfKeyAttributes(index);

	for (int i = 0; i < lengthof(tree); i++)
	{
		bool		isnull;
		Datum		stored = SysCacheGetAttr(INDEXRELID, index->rd_indextuple,
										   tree[i], &isnull);

		search_text(search, stored, isnull);
	}
	for (int i = 0; i < nkeys; i++)
		search_family(search, index->rd_opfamily[i]);
	for (int i = 0; i < nkeys * index->rd_indam->amsupport; i++)
		add_function(index->rd_support[i], search);
	if (index->rd_index->indisexclusion)
	{
		Oid		   *operators;
		Oid		   *functions;
		uint16	   *strategies;

		RelationGetExclusionInfo(index, &operators, &functions, &strategies);
		for (int i = 0; i < nkeys; i++)
			add_function(functions[i], search);
	}
}

static void
search_indexes(Search *search, Relation rel)
{
	List	   *indexes = RelationGetIndexList(rel);
	ListCell   *lc;

	foreach(lc, indexes)
	{
		Relation	index = index_open(lfirst_oid(lc), AccessShareLock);

		search_index(search, index);
		index_close(index, AccessShareLock);
	}
	list_free(indexes);
}

/*
 * Return the functions attached to an open table that do not fix their
 * search_path; NIL if there are none. Locks: AccessShareLock on each index of
 * the table while it is searched.
 */
List *
attached_unpinned(Relation rel)
{
	Search		search = {NIL, NIL};
	List	   *unpinned = NIL;
	ListCell   *lc;

	search_table(&search, rel);
	search_triggers(&search, rel);
	search_indexes(&search, rel);
	foreach(lc, search.functions)
		if (!function_is_pinned(lfirst_oid(lc)))
			unpinned = lappend_oid(unpinned, lfirst_oid(lc));
	return unpinned;
}
