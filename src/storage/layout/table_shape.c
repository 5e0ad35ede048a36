/*
 * table_shape.c
 *		Have tables the shape that blogstore has given them?
 *
 * The tables are their owner's, who may alter them in any way, and in the schema
 * of a container that is missing somebody else may have made a table of its
 * name. So tables are told by kind, owner, partition key and columns before
 * anything of them is read; what is wrong is noted with the leaf that it
 * concerns (LayoutProblem), and is the error of whoever needs that leaf.
 *
 * Nothing here evaluates an expression of the owner's: opening a table's
 * partition key does (RelationBuildPartitionKey()), so it is looked at in the
 * catalog first. Runs in any process.
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

/* Note a problem, in the current memory context. */
LayoutProblem *
shape_problem(char *message, const char *hint)
{
	LayoutProblem *p = palloc(sizeof(LayoutProblem));

	p->message = message;
	p->hint = hint;
	return p;
}

/* Raise a problem as an error, 55000. */
void
layout_problem_raise(const LayoutProblem *p)
{
	ereport(ERROR,
			(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
			 errmsg("%s", p->message),
			 errhint("%s", p->hint)));
}

/* The role that a table belongs to; InvalidOid: it is not there. */
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
 * What is wrong with the kind and the owner of one of a container's tables; NULL:
 * nothing. owner: of the container; InvalidOid: any will do.
 */
LayoutProblem *
shape_table_problem(Oid relid, char kind, Oid owner)
{
	HeapTuple	tuple = SearchSysCache1(RELOID, ObjectIdGetDatum(relid));
	LayoutProblem *p = NULL;
	Form_pg_class form;

	if (!HeapTupleIsValid(tuple))
		return NULL;			/* dropped meanwhile: the caller comes upon it */
	form = (Form_pg_class) GETSTRUCT(tuple);
	if (form->relkind != kind)
		p = shape_problem(psprintf(kind == RELKIND_RELATION ?
								   "partition \"%s\" is no table" :
								   "\"%s\" is no partitioned table",
								   NameStr(form->relname)),
						  kind == RELKIND_RELATION ?
						  "blogstore needs plain tables as partitions of items of one type." :
						  "Put a partitioned table in its place; create_containers() makes containers that are missing.");
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
						  "The views follow the write-ahead log; say ALTER TABLE ... SET LOGGED.");
	ReleaseSysCache(tuple);
	return p;
}

/* Operator families for which the server's headers have no names (pg_opfamily.dat). */
#define DATETIME_BTREE_FAM_OID 434
#define UUID_BTREE_FAM_OID 2968
#define UUID_HASH_FAM_OID 2969

/*
 * The operator family that compares, or hashes, the values of a type in the usual way.
 * Those of the types of keys are known: the type cache would look for them among all
 * operator classes and casts, which is dear in a session's first request.
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

/* Does an operator class compare, or hash, a type in the usual way? */
static bool
is_usual_opclass(Oid opclass, Oid type, bool hash)
{
	return OidIsValid(opclass) && get_opclass_input_type(opclass) == type &&
		get_opclass_family(opclass) == shape_usual_opfamily(type, hash);
}

/* The first element of an oidvector attribute. */
static Oid
first_oid(HeapTuple tuple, AttrNumber attribute)
{
	bool		isnull;
	Datum		value = SysCacheGetAttr(PARTRELID, tuple, attribute, &isnull);

	return isnull ? InvalidOid : ((oidvector *) DatumGetPointer(value))->values[0];
}

/* Is a table's column that of a property, by name and type? */
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
 * Is a table partitioned by HASH of a uuid column, or by LIST of the text column
 * type, each in the server's usual way?
 */
static bool
key_is(Oid relid, char strategy, Property column)
{
	HeapTuple	tuple = SearchSysCache1(PARTRELID, ObjectIdGetDatum(relid));
	bool		hash = strategy == PARTITION_STRATEGY_HASH;
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
		first_oid(tuple, Anum_pg_partitioned_table_partcollation) ==
		(hash ? InvalidOid : DEFAULT_COLLATION_OID);
	ReleaseSysCache(tuple);
	return is;
}

/*
 * What is wrong with how a table is partitioned, which should be so by a column;
 * NULL: nothing.
 */
LayoutProblem *
shape_key_problem(Oid relid, char strategy, Property column)
{
	if (key_is(relid, strategy, column))
		return NULL;
	return shape_problem(psprintf("\"%s\" is not partitioned by %s (%s)",
								  get_rel_name(relid) ? get_rel_name(relid) : "?",
								  strategy == PARTITION_STRATEGY_HASH ? "HASH" : "LIST",
								  property_column(column)),
						 psprintf("Put a table in its place that is partitioned by %s (%s).",
								  strategy == PARTITION_STRATEGY_HASH ? "HASH" : "LIST",
								  property_column(column)));
}

/* Is a table partitioned by type, as the leaves of one partition are split? */
bool
shape_is_split_by_type(Oid relid)
{
	return key_is(relid, PARTITION_STRATEGY_LIST, PROP_TYPE);
}

/* A leaf takes items of more than one type. */
LayoutProblem *
shape_mixed_problem(Oid relid)
{
	return shape_problem(psprintf("partition \"%s\" takes items of several types",
								  get_rel_name(relid) ? get_rel_name(relid) : "?"),
						 "Give each type of item a partition of its own.");
}

/* A partition is not there. */
LayoutProblem *
shape_missing_problem(char *message)
{
	return shape_problem(message, "Attach the missing partition.");
}

/* ------------------------------------------------------------------------
 * Columns
 * ------------------------------------------------------------------------ */

#define BIT(prop) (UINT32_C(1) << (prop))

/*
 * The column of an open table that has a name, 0 if there is none. The table's
 * description tells, and no catalog is read.
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

/* Has a container's table a column for a property? */
bool
container_has_property(Container container, Property prop)
{
	switch (prop)
	{
		case PROP_USERNAME:
			return container == CONTAINER_USERS;
		case PROP_HIDDEN:
			return container != CONTAINER_FEED;
		case PROP_PARENT_ID:
			return container == CONTAINER_POSTS;
		case PROP_PARENT_DELETED:
			return false;
		default:
			return true;
	}
}

/* The column of a property, 0 if there is none of its name. */
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
						   "blogstore writes this column itself; generate one of another name.");
	return attno;
}

/*
 * Find an open leaf's columns: fills in where they are. Returns what is wrong with
 * them, or NULL, in the current memory context.
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

		/* what is of no use to the type may be anything, and is not read then */
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
							  "Add the column again, or give it its name back.");
	}
	return p;
}

/*
 * What is wrong with the columns of a container's root, by which statements name
 * them; NULL: nothing.
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
							  "Add the column again, or give it its name back.");
	return p;
}

/* ------------------------------------------------------------------------
 * Tables that blogstore alone writes
 *
 * These are the leaves of the views (the copies of posts in users, and the feed) and the
 * small tables. A trigger, a constraint or an index of the owner's could refuse the
 * worker's rows there, each time that it tries. None is allowed, so that no write to
 * these tables fails because of the owner. The catalogs alone decide.
 * ------------------------------------------------------------------------ */

/* Does the worker alone write a container's items of a type? */
bool
shape_is_view(Container container, ItemType type)
{
	return container == CONTAINER_FEED ||
		(container == CONTAINER_USERS && type == ITEM_POST);
}

/*
 * A trigger of an open table, or a foreign key, in either direction, or a deferrable key, which
 * the server checks by triggers; NULL: none. Internal triggers that check no constraint, as
 * extensions make them, do not count.
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
 * What the owner has added to an open table that blogstore alone writes, as the object of
 * "has"; NULL: nothing. Indexes, and columns that are NOT NULL, are looked at by the caller. own_check: the
 * name of the CHECK constraint that blogstore has made; NULL: none.
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

/* May a column of a view's table be NOT NULL, because each row that is written has a value? */
static bool
view_fills(const char *column)
{
	uint32		required = item_required(ITEM_POST) | BIT(PROP_TYPE);

	for (Property prop = 0; prop < N_PROPERTIES; prop++)
		if ((required & BIT(prop)) && strcmp(property_column(prop), column) == 0)
			return true;
	return false;
}

/* A problem: a leaf of a view has something that the owner has added. */
LayoutProblem *
shape_addition_problem(Relation rel, Container container, const char *addition)
{
	return shape_problem(psprintf("\"%s\", which holds a view, has %s",
								  RelationGetRelationName(rel), addition),
						 container == CONTAINER_USERS ?
						 "Drop it. What concerns users is attached to the leaves of items of type \"user\", such as \"users_p00_user\", not to \"users\"." :
						 "Drop it: the worker alone writes this table.");
}

/*
 * What keeps items from being written to an open leaf of a view, but for its indexes; NULL:
 * nothing. In the current memory context.
 */
LayoutProblem *
shape_view_problem(Relation rel, Container container)
{
	TupleDesc	desc = RelationGetDescr(rel);
	char	   *addition = shape_addition(rel, NULL);

	for (int i = 0; i < desc->natts && addition == NULL; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->attnotnull &&
			!view_fills(NameStr(att->attname)))
			addition = psprintf("a column that is NOT NULL, \"%s\"",
								NameStr(att->attname));
	}
	return addition == NULL ? NULL :
		shape_addition_problem(rel, container, addition);
}
