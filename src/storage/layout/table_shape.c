/*
 * table_shape.c
 *		Checks whether tables still have the shape that blogstore gave them.
 *
 * The owner may alter the tables in any way. If a container is missing,
 * another role may have created a table with the container's name. Therefore
 * the relkind, owner, partition key and columns of a table are checked before
 * anything is read from the table. A problem is recorded as a struct
 * LayoutProblem. Each request that needs the table raises the problem as an
 * error.
 *
 * No function here evaluates the owner's expressions.
 * RelationBuildPartitionKey() would evaluate them, so the partition key is
 * first checked in pg_partitioned_table. Runs in any process.
 */
#include "postgres.h"

#include "storage/blog_item.h"
#include "storage/layout/layout_cache.h"

#include "access/htup_details.h"
#include "catalog/pg_class.h"
#include "catalog/pg_collation.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_partitioned_table.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/reltrigger.h"
#include "utils/syscache.h"
#include "utils/typcache.h"
#include "utils/uuid.h"

/*
 * Return a new struct LayoutProblem, in the current memory context, for a
 * table that the owner has altered.
 */
LayoutProblem *
shape_problem(char *message, const char *hint)
{
	LayoutProblem *p = palloc(sizeof(LayoutProblem));

	p->message = message;
	p->hint = hint;
	p->rule = RULE_UNALTERED;
	return p;
}

/* Raise a problem as an error with SQLSTATE 55000. */
void
layout_problem_raise(const LayoutProblem *p)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", p->message),
			 errhint("%s", p->hint),
			 err_fields(NULL, NULL, p->rule)));
}

Oid
shape_table_owner(Oid relid)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	Oid			owner;

	if (!HeapTupleIsValid(tuple))
		return InvalidOid;
	owner = ((Form_pg_class) GETSTRUCT(tuple))->relowner;
	ReleaseSysCache(tuple);
	return owner;
}

/*
 * Return a LayoutProblem if a container's table has a wrong relkind, owner or
 * persistence; else NULL.
 *
 * kind: the relkind that the table must have
 * owner: the role that must own the table; InvalidOid for any
 */
LayoutProblem *
shape_table_problem(Oid relid, char kind, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	LayoutProblem *p = NULL;
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		/* this function does not report a table that was dropped */
		return NULL;
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relkind != kind)
		p = shape_problem(psprintf(kind == RELKIND_RELATION ?
								   "partition \"%s\" is not a plain table" :
								   "\"%s\" is not a partitioned table",
								   NameStr(form->relname)),
						  kind == RELKIND_RELATION ?
						  "blogstore needs plain tables as partitions of items of one type." :
						  "Replace it with a partitioned table, or drop it and call blogstore.create_containers().");
	else if (OidIsValid(owner) && form->relowner != owner)
		p = shape_problem(psprintf("\"%s\" does not belong to the containers' owner, \"%s\"",
								   NameStr(form->relname),
								   GetUserNameFromId(owner, true) ?
								   GetUserNameFromId(owner, true) : "unknown"),
						  "Give all tables of the containers to one role with ALTER TABLE ... OWNER TO.");
	else if (kind == RELKIND_RELATION &&
			 form->relpersistence != RELPERSISTENCE_PERMANENT)
		p = shape_problem(psprintf("partition \"%s\" is unlogged",
								   NameStr(form->relname)),
						  "The views are maintained from the write-ahead log. Run ALTER TABLE ... SET LOGGED.");
	ReleaseSysCache(tuple);
	return p;
}

/*
 * OIDs of operator families (pg_opfamily.dat) for which PostgreSQL's headers
 * have no macro.
 */
#define DATETIME_BTREE_FAM_OID 434
#define UUID_BTREE_FAM_OID 2968
#define UUID_HASH_FAM_OID 2969

/*
 * Return the default operator family of a type: for hash indexes if "hash" is
 * true, else for btrees. For the types of key columns, the OIDs are constants
 * in this function. A lookup in the type cache is expensive in a session's
 * first request.
 */
Oid
shape_usual_opfamily(Oid type, bool hash)
{
	TypeCacheEntry *entry;

	if (type == UUIDOID)
		return hash ? UUID_HASH_FAM_OID : UUID_BTREE_FAM_OID;
	if (type == TEXTOID && !hash)
		return TEXT_BTREE_FAM_OID;
	if (type == TIMESTAMPTZOID && !hash)
		return DATETIME_BTREE_FAM_OID;
	entry = lookup_type_cache(type, hash ? TYPECACHE_HASH_OPFAMILY :
							  TYPECACHE_BTREE_OPFAMILY);
	return hash ? entry->hash_opf : entry->btree_opf;
}

static bool
is_usual_opclass(Oid opclass, Oid type, bool hash)
{
	return OidIsValid(opclass) && get_opclass_input_type(opclass) == type &&
		get_opclass_family(opclass) == shape_usual_opfamily(type, hash);
}

static Oid
first_oid(HeapTuple tuple, AttrNumber attribute)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PARTRELID, tuple, attribute, &isnull);

	return isnull ? InvalidOid : ((oidvector *) DatumGetPointer(value))->values[0];
}

static bool
is_column(Oid relid, AttrNumber attno, Property prop)
{
	HeapTuple	tuple = SearchSysCacheAttName(relid, property_column(prop));
	Form_pg_attribute form;
	bool		is;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_attribute) GETSTRUCT(tuple);
	is = form->attnum == attno && form->atttypid == property_type(prop);
	ReleaseSysCache(tuple);
	return is;
}

/*
 * Return whether a table is partitioned by HASH of a uuid column or of the
 * text column "topic", which has the collation "C", or by LIST of the text
 * column "type". The operator class, and the collation of "type", must be the
 * default.
 *
 * strategy: HASH or LIST (PARTITION_STRATEGY_...)
 * column: the field whose column must be the partition key
 */
static bool
key_is(Oid relid, char strategy, Property column)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relid));
	bool		hash = strategy == PARTITION_STRATEGY_HASH;
	Oid			collation = column == PROP_TOPIC ? C_COLLATION_OID :
		hash ? InvalidOid : DEFAULT_COLLATION_OID;
	Form_pg_partitioned_table form;
	bool		is;

	if (!HeapTupleIsValid(tuple))
		return false;
	form = (Form_pg_partitioned_table) GETSTRUCT(tuple);
	is = form->partstrat == strategy && form->partnatts == 1 &&
		form->partattrs.values[0] > 0 &&
		is_column(relid, form->partattrs.values[0], column) &&
		is_usual_opclass(first_oid(tuple, Anum_pg_partitioned_table_partclass),
						 property_type(column), hash) &&
		first_oid(tuple, Anum_pg_partitioned_table_partcollation) == collation;
	ReleaseSysCache(tuple);
	return is;
}

LayoutProblem *
shape_key_problem(Oid relid, char strategy, Property column)
{
	if (key_is(relid, strategy, column))
		return NULL;
	return shape_problem(psprintf("\"%s\" is not partitioned by %s (%s)",
								  get_rel_name(relid) ? get_rel_name(relid) : "?",
								  strategy == PARTITION_STRATEGY_HASH ? "HASH" : "LIST",
								  property_column(column)),
						 psprintf("Replace it with a table that is partitioned by %s (%s).",
								  strategy == PARTITION_STRATEGY_HASH ? "HASH" : "LIST",
								  property_column(column)));
}

/*
 * Return whether a table is list-partitioned by the column "type", so that
 * each item type can have a leaf of its own.
 */
bool
shape_is_split_by_type(Oid relid)
{
	return key_is(relid, PARTITION_STRATEGY_LIST, PROP_TYPE);
}

LayoutProblem *
shape_mixed_problem(Oid relid)
{
	return shape_problem(psprintf("partition \"%s\" takes items of several types",
								  get_rel_name(relid) ? get_rel_name(relid) : "?"),
						 "Create a separate partition for each type of item.");
}

LayoutProblem *
shape_missing_problem(char *message)
{
	return shape_problem(message, "Attach the missing partition.");
}

#define BIT(prop) (UINT32_C(1) << (prop))

/*
 * Return the number of the column with the given name in an open table; 0 if
 * there is none. Reads only the relcache entry.
 */
AttrNumber
shape_column(Relation rel, const char *name)
{
	TupleDesc	desc = RelationGetDescr(rel);

	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && strcmp(NameStr(att->attname), name) == 0)
			return att->attnum;
	}
	return InvalidAttrNumber;
}

bool
container_has_property(Container container, Property prop)
{
	if (container == CONTAINER_TOPICS)
		return prop == PROP_ID || prop == PROP_TYPE || prop == PROP_USER_ID ||
			prop == PROP_CREATION_DATE || prop == PROP_TOPIC ||
			prop == PROP_POST_COUNT;
	switch (prop)
	{
		case PROP_USERNAME:
		case PROP_FOLLOWED_ID:
		case PROP_FOLLOWED_USERNAME:
			return container == CONTAINER_USERS;
		case PROP_HIDDEN:
		case PROP_PUBLISH_DATE:
			return container != CONTAINER_FEED;
		case PROP_PARENT_ID:
		case PROP_ITEM_ID:
		case PROP_COMMENT_ID:
			return container == CONTAINER_POSTS;
		case PROP_TOPIC:
		case PROP_POST_COUNT:
		case PROP_PARENT_DELETED:
		case PROP_REPLY_COUNT:
			return false;
		default:
			return true;
	}
}

/*
 * Return the number of the column that has a field's name; 0 if there is none.
 * Sets *p to a LayoutProblem if the column is generated, or if its data type
 * is not that of the field.
 */
static AttrNumber
find_column(Relation rel, Property prop, LayoutProblem **p)
{
	AttrNumber	attno = shape_column(rel, property_column(prop));
	Form_pg_attribute att;

	if (attno == InvalidAttrNumber)
		return InvalidAttrNumber;
	att = TupleDescAttr(RelationGetDescr(rel), attno - 1);
	if (att->atttypid != property_type(prop))
		*p = shape_problem(psprintf("column \"%s\" of \"%s\" has another type than blogstore gave it",
									property_column(prop), RelationGetRelationName(rel)),
						   psprintf("Change it back to %s.",
									format_type_be(property_type(prop))));
	else if (att->attgenerated != '\0')
		*p = shape_problem(psprintf("column \"%s\" of \"%s\" is a generated column",
									property_column(prop), RelationGetRelationName(rel)),
						   "blogstore writes this column. Give the generated column another name.");
	return attno;
}

/*
 * Fill in the column numbers of an open leaf. Returns a LayoutProblem, in the
 * current memory context, if a column is missing or wrong; else NULL.
 */
LayoutProblem *
shape_columns(CachedLeaf *leaf, Relation rel, Container container,
			  ItemType type)
{
	LayoutProblem *p = NULL;
	int			n;
	const Property *props = item_properties(type, &n);

	leaf->attno[PROP_PARENT_DELETED] = InvalidAttrNumber;
	for (Property prop = 0; prop < PROP_PARENT_DELETED; prop++)
	{
		LayoutProblem *other = NULL;

		/* The owner may have added a column with such a name. */
		leaf->attno[prop] = InvalidAttrNumber;
		if (!container_has_property(container, prop))
			continue;

		/*
		 * Ignore a column that has a wrong data type. The loop below reports
		 * the column if items of the leaf's type need it.
		 */
		leaf->attno[prop] = find_column(rel, prop, &other);
		if (other != NULL)
			leaf->attno[prop] = InvalidAttrNumber;
	}
	for (int i = 0; i < n && p == NULL; i++)
	{
		if (!container_has_property(container, props[i]))
			continue;
		leaf->attno[props[i]] = find_column(rel, props[i], &p);
		if (leaf->attno[props[i]] == InvalidAttrNumber && p == NULL)
			p = shape_problem(psprintf("\"%s\" has no column \"%s\"",
									   RelationGetRelationName(rel),
									   property_column(props[i])),
							  "Add the column again, or rename it back.");
	}
	return p;
}

/*
 * Return a LayoutProblem if the root table of a container lacks a column, or a
 * column has a wrong data type; else NULL. All columns are checked, because
 * SQL statements of blogstore name them.
 */
LayoutProblem *
shape_root_columns(Relation root, Container container)
{
	LayoutProblem *p = NULL;

	for (Property prop = 0; prop < N_PROPERTIES && p == NULL; prop++)
		if (container_has_property(container, prop) &&
			find_column(root, prop, &p) == InvalidAttrNumber)
			p = shape_problem(psprintf("\"%s\" has no column \"%s\"",
									   RelationGetRelationName(root),
									   property_column(prop)),
							  "Add the column again, or rename it back.");
	return p;
}

/* ------------------------------------------------------------------------
 * Tables to which only blogstore writes
 *
 * These are the leaves of the views (the copies of posts in users, the feed,
 * and the topics) and the bookkeeping tables. A trigger, constraint or index
 * that the owner adds to such a table could reject the worker's rows, and
 * would do so at each retry. So the worker does not write to a table that has
 * such an addition. Only the catalogs are read.
 * ------------------------------------------------------------------------ */

/*
 * Return whether a container's items of a type belong to the views: the feed,
 * the topics, and the copies of posts in users. Only the worker writes them.
 */
bool
shape_is_view(Container container, ItemType type)
{
	return container == CONTAINER_FEED || container == CONTAINER_TOPICS ||
		(container == CONTAINER_USERS && type == ITEM_POST);
}

/*
 * Find a trigger, foreign key or deferrable key that the owner has added to an
 * open table. Returns a phrase for an error message, for example: a trigger,
 * "audit". Returns NULL if there is none.
 *
 * Foreign keys and deferrable keys are found by their internal triggers. This
 * includes foreign keys of other tables that refer to this table. Internal
 * triggers of other extensions are ignored.
 */
static char *
added_trigger(Relation rel)
{
	TriggerDesc *triggers = rel->trigdesc;

	for (int i = 0; triggers != NULL && i < triggers->numtriggers; i++)
	{
		const Trigger *trigger = &triggers->triggers[i];
		char	   *constraint;

		if (!trigger->tgisinternal)
			return psprintf("a trigger, \"%s\"", trigger->tgname);
		if (!OidIsValid(trigger->tgconstraint))
			continue;
		constraint = get_constraint_name(trigger->tgconstraint);
		return psprintf("a constraint, \"%s\"", constraint ? constraint : "?");
	}
	return NULL;
}

/*
 * Find something that the owner has added to an open table to which only
 * blogstore writes. Returns a phrase for an error message, for example: a
 * trigger, "audit". Returns NULL if the owner has added nothing. Does not look
 * at indexes and NOT NULL columns.
 *
 * own_check: the name of the CHECK constraint that blogstore itself has
 *     created on the table; NULL if it has none
 */
char *
shape_addition(Relation rel, const char *own_check)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *addition = added_trigger(rel);

	if (addition != NULL)
		return addition;
	for (int i = 0; desc->constr != NULL && i < desc->constr->num_check; i++)
		if (own_check == NULL ||
			strcmp(desc->constr->check[i].ccname, own_check) != 0)
			return psprintf("a constraint, \"%s\"", desc->constr->check[i].ccname);
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (att->attisdropped)
			continue;
		if (att->attgenerated != '\0')
			return psprintf("a generated column, \"%s\"", NameStr(att->attname));
		if (get_typtype(att->atttypid) == TYPTYPE_DOMAIN)
			return psprintf("a column of a domain, \"%s\"", NameStr(att->attname));
	}
	return NULL;
}

/*
 * Return whether blogstore always writes a value to a column of a view's
 * table. If the owner makes such a column NOT NULL, the constraint rejects no
 * row.
 */
static bool
view_fills(ItemType type, const char *column)
{
	uint32		required = item_required(type) | BIT(PROP_TYPE);

	for (Property prop = 0; prop < N_PROPERTIES; prop++)
		if ((required & BIT(prop)) && strcmp(property_column(prop), column) == 0)
			return true;
	return false;
}

/*
 * Return a LayoutProblem that says that the owner has added something to a
 * leaf of the views.
 *
 * addition: what the owner has added, to follow "the table has" in the message
 */
LayoutProblem *
shape_addition_problem(Relation rel, Container container, const char *addition)
{
	return shape_problem(psprintf("\"%s\", which holds a view, has %s",
								  RelationGetRelationName(rel), addition),
						 container == CONTAINER_USERS ?
						 "Drop it. Attach what concerns users to the leaves of items of type \"user\", such as \"users_p00_user\", not to \"users\"." :
						 "Drop it: the worker alone writes this table.");
}

/*
 * Return a LayoutProblem if something that the owner has added to an open leaf
 * of the views can reject rows; else NULL. Does not look at indexes. The
 * result is in the current memory context.
 */
LayoutProblem *
shape_view_problem(Relation rel, Container container, ItemType type)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *addition = shape_addition(rel, NULL);

	for (int i = 0; i < desc->natts && addition == NULL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attnotnull &&
			!view_fills(type, NameStr(att->attname)))
			addition = psprintf("a column that is NOT NULL, \"%s\"",
								NameStr(att->attname));
	}
	return addition == NULL ? NULL :
		shape_addition_problem(rel, container, addition);
}
