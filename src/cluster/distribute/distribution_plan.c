/*
 * distribution_plan.c
 *		Plans a distribution: which tables are copied to which, what the owner
 *		has added to the tables, and what prevents the distribution.
 *
 * The owner may have added columns, indexes and grants to the tables. The new
 * tables get those that Citus allows. Anything else that the owner has added
 * raises an error at the beginning, so that nothing is lost.
 *
 * Constraints, indexes and defaults that call functions of the owner also
 * raise an error. The nodes would run these functions with the rights of the
 * superuser who calls distribute_containers().
 *
 * Runs in a backend. The caller has called SPI_connect(), and search_path is
 * pg_catalog.
 */
#include "postgres.h"

#include "cluster/distribute/distribute.h"
#include "cluster/user_items/reference_users.h"

#include "access/relation.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/plancache.h"
#include "utils/rel.h"

/* Return the first column of a query's result as a list of C strings. */
static List *
texts_of(const char *sql)
{
	List	   *texts = NIL;

	if (SPI_execute(sql, false, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not run \"%s\"", sql);
	for (uint64 i = 0; i < SPI_processed; i++)
		texts = lappend(texts, SPI_getvalue(SPI_tuptable->vals[i],
											SPI_tuptable->tupdesc, 1));
	return texts;
}

/* Run the statements that a query returns. */
static void
run_each(const char *sql)
{
	List	   *statements = texts_of(sql);
	ListCell   *lc;

	foreach(lc, statements)
		(void) create_run_sql(lfirst(lc));
}

/*
 * Throw the error that an object of the owner cannot be carried over to a
 * cluster.
 *
 * what: the kind and name of the object
 *
 * Errors: 0A000.
 */
static COMPAT_NORETURN void
refuse(const char *what)
{
	ereport(ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("%s cannot be carried over to a cluster", what),
			 errhint("Drop it, and create it again afterwards if Citus allows that.")));
}

/*
 * Throw an error if a query returns a row. Each row is the kind and name of an
 * object that cannot be carried over to a cluster. Errors: 0A000.
 */
static void
refuse_any(const char *sql)
{
	List	   *found = texts_of(sql);

	if (found != NIL)
		refuse(linitial(found));
}

/*
 * A WITH clause, to be put before a query. It defines the relation "t": the
 * OIDs of the containers "posts" and "users", of their partitions, and of the
 * table "usernames".
 */
#define OLD_TABLES \
	"WITH t AS (SELECT relid FROM pg_partition_tree('" POSTS_SQL "')" \
	" UNION SELECT relid FROM pg_partition_tree('" USERS_SQL "')" \
	" UNION SELECT '" USERNAMES_SQL "'::regclass) "

/*
 * The end of a query on pg_depend. It selects objects that depend on a table
 * of OLD_TABLES. After the distribution these objects would still use the old
 * table.
 *
 * class: the catalog of these objects, such as pg_proc
 */
#define DEPENDENT(class) \
	"pg_depend AS d WHERE d.classid = '" class "'::regclass" \
	" AND d.refclassid = 'pg_class'::regclass AND d.refobjid IN (SELECT relid FROM t)"

static const char *const obstacles[] = {
	OLD_TABLES "SELECT format('trigger %I of %s', tgname, tgrelid::regclass)"
	" FROM pg_trigger WHERE NOT tgisinternal AND tgrelid IN (SELECT relid FROM t)",

	OLD_TABLES "SELECT format('rule %I of %s', rulename, ev_class::regclass)"
	" FROM pg_rewrite WHERE ev_class IN (SELECT relid FROM t)",

	OLD_TABLES "SELECT format('view %s', r.ev_class::regclass) FROM pg_rewrite AS r"
	" WHERE r.oid IN (SELECT d.objid FROM " DEPENDENT("pg_rewrite") ")"
	" AND r.ev_class <> coalesce(to_regclass('" COUNTS_VIEW_SQL "'), 0)",

	OLD_TABLES "SELECT format('function %s', d.objid::regprocedure) FROM " DEPENDENT("pg_proc"),

	OLD_TABLES "SELECT format('policy %I of %s', polname, polrelid::regclass)"
	" FROM pg_policy WHERE polrelid IN (SELECT relid FROM t)",

	OLD_TABLES "SELECT format('publication %I of %s', p.pubname, r.prrelid::regclass)"
	" FROM pg_publication_rel AS r JOIN pg_publication AS p ON p.oid = r.prpubid"
	" WHERE r.prrelid IN (SELECT relid FROM t)",

	OLD_TABLES "SELECT format('constraint %I of %s', conname, conrelid::regclass) FROM pg_constraint"
	" WHERE (contype IN ('f', 'x') AND (conrelid IN (SELECT relid FROM t) OR confrelid IN (SELECT relid FROM t)))"
	" OR (contype = 'c' AND conrelid IN ('" USERS_SQL "'::regclass, '" USERNAMES_SQL "'::regclass))",

	/*
	 * The owner's functions must not be carried over. A CHECK constraint, an
	 * index, a default or a type may call such a function. It would then run
	 * with the rights of the superuser who distributes the tables.
	 */
	OLD_TABLES "SELECT format('constraint %I of %s', conname, conrelid::regclass) FROM pg_constraint"
	" WHERE contype = 'c' AND conrelid = '" POSTS_SQL "'::regclass AND EXISTS (SELECT FROM pg_depend AS d"
	" WHERE d.classid = 'pg_constraint'::regclass AND d.objid = pg_constraint.oid"
	" AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))",

	OLD_TABLES "SELECT format('index %s', indexrelid::regclass) FROM pg_index"
	" WHERE indrelid IN (SELECT relid FROM t) AND EXISTS (SELECT FROM pg_depend AS d"
	" WHERE d.classid = 'pg_class'::regclass AND d.objid = indexrelid"
	" AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))",

	OLD_TABLES "SELECT format('default of column %I of %s', a.attname, a.attrelid::regclass) FROM pg_attrdef AS f"
	" JOIN pg_attribute AS a ON a.attrelid = f.adrelid AND a.attnum = f.adnum"
	" WHERE f.adrelid IN (SELECT relid FROM t) AND EXISTS (SELECT FROM pg_depend AS d"
	" WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid"
	" AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))",

	OLD_TABLES "SELECT format('type %s of column %I of %s', a.atttypid::regtype, a.attname, a.attrelid::regclass)"
	" FROM pg_attribute AS a JOIN pg_type AS y ON y.oid = a.atttypid LEFT JOIN pg_type AS e ON e.oid = y.typelem"
	" WHERE a.attrelid IN (SELECT relid FROM t) AND a.attnum > 0 AND NOT a.attisdropped AND a.atttypid >= 16384"
	" AND (y.typtype NOT IN ('b', 'e') OR e.typtype NOT IN ('b', 'e'))",

	OLD_TABLES "SELECT format('generated column %I of %s', attname, attrelid::regclass) FROM pg_attribute"
	" WHERE attrelid IN (SELECT relid FROM t) AND attnum > 0 AND NOT attisdropped"
	" AND (attgenerated <> '' OR attidentity <> '')",

	OLD_TABLES "SELECT format('right on column %I of %s', attname, attrelid::regclass) FROM pg_attribute"
	" WHERE attrelid IN (SELECT relid FROM t) AND attnum > 0 AND NOT attisdropped AND attacl IS NOT NULL"
};

/*
 * Throw an error unless the view posts_with_counts has the columns that
 * blogstore gives it. The distribution replaces the view, and CREATE OR
 * REPLACE VIEW does not allow other columns. Errors: 0A000.
 */
static void
refuse_other_counts_view(void)
{
	Oid			view = table_lookup(COUNTS_VIEW);
	SPIPlanPtr	plan;
	TupleDesc	wanted;
	Relation	rel;
	TupleDesc	found;
	bool		same;

	if (!OidIsValid(view))
		return;
	/* Only analyze the query, to get the columns of its result. */
	plan = SPI_prepare(create_counts_view_sql + strlen(CREATE_COUNTS_VIEW), 0, NULL);
	if (plan == NULL)
		elog(ERROR, "could not prepare the query of %s", COUNTS_VIEW);
	wanted = ((CachedPlanSource *) linitial(SPI_plan_get_plan_sources(plan)))->resultDesc;
	rel = relation_open(view, AccessShareLock);
	found = RelationGetDescr(rel);
	same = found->natts == wanted->natts;
	for (int i = 0; same && i < found->natts; i++)
		same = !TupleDescAttr(found, i)->attisdropped &&
			TupleDescAttr(found, i)->atttypid == TupleDescAttr(wanted, i)->atttypid &&
			strcmp(NameStr(TupleDescAttr(found, i)->attname),
				   NameStr(TupleDescAttr(wanted, i)->attname)) == 0;
	relation_close(rel, NoLock);
	SPI_freeplan(plan);
	if (!same)
		refuse("view " COUNTS_VIEW_SQL);
}

/*
 * Throw an error if the owner has added something to the old tables that the
 * new tables cannot have. Errors: 0A000.
 */
void
spread_refuse_obstacles(void)
{
	for (int i = 0; i < lengthof(obstacles); i++)
		refuse_any(obstacles[i]);
	refuse_other_counts_view();
}

/*
 * Add to the new tables the columns that the owner has added to the old
 * tables. Also add to the new table of posts the CHECK constraints of the old
 * one.
 */
void
spread_carry_columns(void)
{
	run_each("SELECT format('ALTER TABLE %s ADD COLUMN %I %s%s%s%s', v.new, a.attname,"
			 " format_type(a.atttypid, a.atttypmod),"
			 " (SELECT format(' COLLATE %I.%I', n.nspname, c.collname) FROM pg_collation AS c"
			 "  JOIN pg_namespace AS n ON n.oid = c.collnamespace JOIN pg_type AS ty ON ty.oid = a.atttypid"
			 "  WHERE c.oid = a.attcollation AND a.attcollation <> ty.typcollation),"
			 " ' DEFAULT ' || pg_get_expr(d.adbin, d.adrelid),"
			 " CASE WHEN a.attnotnull THEN ' NOT NULL' END)"
			 " FROM (VALUES ('" POSTS_SQL "'::regclass, '" POSTS_SQL NEW_SUFFIX "'::regclass, '" POSTS_SQL NEW_SUFFIX "'::regclass),"
			 " ('" USERS_SQL "', '" USERS_SQL NEW_SUFFIX "', '" USERS_SQL NEW_SUFFIX "'),"
			 " ('" USERS_SQL "', '" USER_ITEMS_SQL "', '" USERS_SQL NEW_SUFFIX "')) AS v (old, new, made)"
			 " JOIN pg_attribute AS a ON a.attrelid = v.old AND a.attnum > 0 AND NOT a.attisdropped"
			 " LEFT JOIN pg_attrdef AS d ON d.adrelid = a.attrelid AND d.adnum = a.attnum"
			 " WHERE NOT EXISTS (SELECT FROM pg_attribute AS m WHERE m.attrelid = v.made AND m.attname = a.attname)"
			 " ORDER BY v.new, a.attnum");
	run_each("SELECT format('ALTER TABLE " POSTS_SQL NEW_SUFFIX " ADD CONSTRAINT %I %s', conname, pg_get_constraintdef(oid))"
			 " FROM pg_constraint WHERE contype = 'c' AND conrelid = '" POSTS_SQL "'::regclass ORDER BY conname");
}

/*
 * A WITH clause, to be put before a query. It defines the relation "o": the
 * indexes of the old leaves that the new tables lack. The column o.target is
 * the name of the new table that gets the index.
 */
#define INDEXES \
	"WITH leaf AS (SELECT c.oid, c.relname, r.root, (regexp_match(pg_get_expr(c.relpartbound, c.oid), '''(.*)'''))[1] AS type" \
	" FROM (VALUES ('posts'), ('users')) AS r (root), pg_partition_tree(('" BLOGSTORE_SCHEMA ".' || r.root)::regclass) AS t" \
	" JOIN pg_class AS c ON c.oid = t.relid WHERE t.isleaf AND c.relkind = 'r')," \
	" old AS (SELECT *, CASE WHEN root = 'users' AND type = 'user' THEN '" USER_ITEMS_TABLE "' ELSE root || '_' || type END AS target FROM leaf)," \
	" made AS (SELECT i.indrelid, substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*$') AS def FROM pg_index AS i)," \
	" o AS (SELECT DISTINCT ON (old.target, x.def) old.target, x.def, i.indisunique, i.indkey, i.indnkeyatts, i.indexrelid, old.oid AS leaf, old.root," \
	"  CASE WHEN starts_with(n.relname, old.relname) THEN old.target || substr(n.relname, length(old.relname) + 1)" \
	"  ELSE n.relname || '" NEW_SUFFIX "' END AS name" \
	" FROM old JOIN pg_index AS i ON i.indrelid = old.oid AND i.indisvalid AND NOT i.indisreplident" \
	" JOIN pg_class AS n ON n.oid = i.indexrelid," \
	" LATERAL (SELECT substring(pg_get_indexdef(i.indexrelid) FROM ' USING .*$') AS def) AS x" \
	" WHERE NOT EXISTS (SELECT FROM made AS m WHERE m.def = x.def" \
	"  AND m.indrelid = ('" BLOGSTORE_SCHEMA ".' || old.target)::regclass)" \
	" ORDER BY old.target, x.def, n.relname) "

/*
 * Create on the new tables the indexes that the owner has added to the old
 * ones. Errors: 0A000 if a unique index lacks the distribution column.
 */
void
spread_carry_indexes(void)
{
	refuse_any(INDEXES "SELECT format('unique index %s without the partition key', o.indexrelid::regclass) FROM o"
			   " WHERE o.indisunique AND o.target <> '" USER_ITEMS_TABLE "' AND NOT EXISTS (SELECT FROM pg_attribute AS a"
			   " WHERE a.attrelid = o.leaf AND a.attname = CASE o.root WHEN 'posts' THEN 'post_id' ELSE 'user_id' END"
			   " AND a.attnum = ANY ((o.indkey::int2[])[0:o.indnkeyatts - 1]))");
	run_each(INDEXES "SELECT format('CREATE %sINDEX %I ON " BLOGSTORE_SCHEMA ".%I%s',"
			 " CASE WHEN o.indisunique THEN 'UNIQUE ' END, o.name, o.target, o.def) FROM o");
}

void
spread_carry_rights(void)
{
	run_each("SELECT format('GRANT %s ON %s TO %s%s', x.privilege_type, v.new,"
			 " CASE x.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(x.grantee)) END,"
			 " CASE WHEN x.is_grantable THEN ' WITH GRANT OPTION' END)"
			 " FROM (VALUES ('" POSTS_SQL "'::regclass, '" POSTS_SQL NEW_SUFFIX "'::regclass),"
			 " ('" USERS_SQL "', '" USERS_SQL NEW_SUFFIX "'), ('" USERS_SQL "', '" USER_ITEMS_SQL "'),"
			 " ('" USERNAMES_SQL "', '" USERNAMES_SQL NEW_SUFFIX "')) AS v (old, new)"
			 " JOIN pg_class AS c ON c.oid = v.old, aclexplode(c.relacl) AS x"
			 " WHERE x.grantee <> c.relowner");
}

/*
 * Return an SQL list of the columns that both a leaf and its new table have.
 */
static char *
common_columns(Oid leaf, const char *target)
{
	List	   *columns = texts_of(psprintf("SELECT string_agg(quote_ident(o.attname), ', ' ORDER BY o.attnum)"
										 " FROM pg_attribute AS o JOIN pg_attribute AS n ON n.attname = o.attname"
										 " WHERE o.attrelid = %u AND n.attrelid = %s::regclass AND o.attnum > 0"
										 " AND n.attnum > 0 AND NOT o.attisdropped AND NOT n.attisdropped",
										 leaf, quote_literal_cstr(target)));

	/* An aggregate without GROUP BY returns one row. */
	Assert(columns != NIL);
	return linitial(columns);
}

/*
 * Add a table to spread->sources.
 *
 * target: the new table; its shards are those of posts, if it is distributed
 * key: the nkeys columns of the key. The first one distributes a new table.
 */
static void
add_source(Spread *spread, Oid leaf, const char *target, bool distributed,
		   const char *const *key, int nkeys, Oid key_type)
{
	SpreadSource *source = palloc0(sizeof(SpreadSource));

	source->leaf = leaf;
	source->target = target;
	source->columns = common_columns(leaf, target);
	source->nkeys = nkeys;
	for (int i = 0; i < nkeys; i++)
		source->key[i] = key[i];
	source->key_type = key_type;
	source->spread = distributed;
	spread->sources = lappend(spread->sources, source);
}

static void
add_leaves(Spread *spread, Container container, ItemType type,
		   const char *target, const char *const *key, int nkeys)
{
	for (int p = partition_first(container, type); p != NO_PARTITION;
		 p = partition_after(container, type, p))
	{
		Oid			leaf = partition_leaf(container, type, p);

		if (OidIsValid(leaf))
			add_source(spread, leaf, target, type != ITEM_USER, key, nkeys, UUIDOID);
	}
}

/*
 * Throw an error if a leaf is not a heap table that holds items of one type.
 * Errors: 0A000.
 */
static void
check_sources(const Spread *spread)
{
	refuse_any("SELECT format('table %s', t.relid::regclass)"
			   " FROM pg_partition_tree('" POSTS_SQL "') AS t JOIN pg_class AS c ON c.oid = t.relid"
			   " WHERE t.isleaf AND (c.relkind <> 'r' OR c.relam <> (SELECT oid FROM pg_am WHERE amname = 'heap')"
			   " OR pg_get_expr(c.relpartbound, c.oid) NOT IN"
			   " ('FOR VALUES IN (''post'')', 'FOR VALUES IN (''comment'')', 'FOR VALUES IN (''like'')', 'FOR VALUES IN (''comment_like'')', 'FOR VALUES IN (''delta'')'))"
			   " UNION ALL SELECT format('table %s', t.relid::regclass)"
			   " FROM pg_partition_tree('" USERS_SQL "') AS t JOIN pg_class AS c ON c.oid = t.relid"
			   " WHERE t.isleaf AND (c.relkind <> 'r' OR c.relam <> (SELECT oid FROM pg_am WHERE amname = 'heap')"
			   " OR pg_get_expr(c.relpartbound, c.oid) NOT IN ('FOR VALUES IN (''user'')', 'FOR VALUES IN (''post'')', 'FOR VALUES IN (''follow'')'))");
}

/*
 * List the tables whose rows distribute_containers() will copy to the nodes,
 * with their keys, in spread->sources. Errors: 0A000 if the owner has attached
 * a table that cannot be copied.
 */
void
spread_plan_sources(Spread *spread)
{
	static const char *const user[] = {"user_id"};
	static const char *const name[] = {"username_key"};
	/* the key of a comment; its first column alone is the key of a post */
	static const char *const comment[] = {"post_id", "id"};
	static const char *const like[] = {"post_id", "user_id"};
	static const char *const comment_like[] = {"post_id", "comment_id", "user_id"};
	static const char *const delta[] = {"post_id", "item_id", "id"};
	static const char *const follow[] = {"user_id", "followed_id"};

	check_sources(spread);
	add_leaves(spread, CONTAINER_USERS, ITEM_USER, USER_ITEMS_SQL, user, 1);
	add_source(spread, bookkeeping_lookup(BOOK_USERNAMES),
			   USERNAMES_SQL NEW_SUFFIX, false, name, 1, TEXTOID);
	add_leaves(spread, CONTAINER_POSTS, ITEM_POST, POSTS_SQL "_post", comment, 1);
	add_leaves(spread, CONTAINER_POSTS, ITEM_COMMENT, POSTS_SQL "_comment", comment, 2);
	add_leaves(spread, CONTAINER_POSTS, ITEM_LIKE, POSTS_SQL "_like", like, 2);
	add_leaves(spread, CONTAINER_POSTS, ITEM_COMMENT_LIKE, POSTS_SQL "_comment_like",
			   comment_like, 3);
	add_leaves(spread, CONTAINER_POSTS, ITEM_DELTA, POSTS_SQL "_delta", delta, 3);
	add_leaves(spread, CONTAINER_USERS, ITEM_FOLLOW, USERS_SQL "_follow", follow, 2);
}
