/*
 * decoded_tables.c
 *		Finds the role of a relation whose changes are decoded, that is, what
 *		blogstore uses the relation for. Also finds the numbers of the columns
 *		that the output plugin reads.
 *
 * The catalogs are read with the historic snapshot of the decoded transaction.
 * The role of a relation is cached until the server sends an invalidation
 * message for the relation.
 *
 * Runs in the worker, or in a backend that decodes the slot by SQL.
 */
#include "postgres.h"

#include "base/invalidation.h"
#include "storage/blog_item.h"
#include "storage/bookkeeping/bookkeeping.h"
#include "storage/layout/layout.h"
#include "views/change_feed/decoded_changes.h"

#include "utils/hsearch.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

/*
 * The cached RoleEntry structs, by relation OID. The cache lives as long as
 * the process.
 */
static HTAB *roles = NULL;

static void
roles_invalidate(Oid relid)
{
	HASH_SEQ_STATUS seq;
	RoleEntry  *entry;

	if (roles == NULL)
		return;
	if (OidIsValid(relid))
	{
		(void) hash_search(roles, &relid, HASH_REMOVE, NULL);
		return;
	}
	hash_seq_init(&seq, roles);
	while ((entry = hash_seq_search(&seq)) != NULL)
		(void) hash_search(roles, &entry->relid, HASH_REMOVE, NULL);
}

void
roles_create(void)
{
	HASHCTL		ctl = {.keysize = sizeof(Oid),.entrysize = sizeof(RoleEntry)};

	if (roles != NULL)
		return;
	roles = hash_create("blogstore relation roles", 64, &ctl,
						HASH_ELEM | HASH_BLOBS);
	invalidation_listen(roles_invalidate);
}

/*
 * Return the number of the column that has the given name and the data type of
 * the field "prop"; 0 if there is no such column.
 */
static AttrNumber
column(TupleDesc desc, const char *name, Property prop)
{
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);

		if (!att->attisdropped && att->atttypid == property_type(prop) &&
			strcmp(NameStr(att->attname), name) == 0)
			return i + 1;
	}
	return InvalidAttrNumber;
}

static RelationRole
partition_role(Oid relid)
{
	Container	container;

	if (!table_container(relid, &container))
		return ROLE_NONE;
	switch (container)
	{
		case CONTAINER_POSTS:
			if (table_takes(relid, ITEM_POST))
				return ROLE_POSTS;
			return table_takes(relid, ITEM_DELTA) ? ROLE_DELTAS : ROLE_NONE;
		case CONTAINER_USERS:
			if (table_takes(relid, ITEM_POST))
				return ROLE_COPIES;
			return table_takes(relid, ITEM_USER) ? ROLE_USERS : ROLE_NONE;
		case CONTAINER_FEED:
			return ROLE_FEED_VIEW;
		case CONTAINER_TOPICS:
			return ROLE_TOPICS;
	}
	return ROLE_NONE;
}

static RelationRole
find_role(Relation relation)
{
	char	   *schema;

	/* The owner may have moved a partition to another schema. */
	if (relation->rd_rel->relispartition)
		return partition_role(RelationGetRelid(relation));
	schema = get_namespace_name(RelationGetNamespace(relation));
	if (schema == NULL || strcmp(schema, BLOGSTORE_SCHEMA) != 0)
		return ROLE_NONE;
	if (table_holds_user_items(RelationGetRelationName(relation)))
		return ROLE_SHARED_USERS;
	return strcmp(RelationGetRelationName(relation),
				  bookkeeping_name(BOOK_JOBS)) == 0 ? ROLE_JOBS : ROLE_NONE;
}

static bool
role_complete(const RoleEntry *entry)
{
	switch (entry->role)
	{
		case ROLE_POSTS:
		case ROLE_COPIES:
			return entry->id && entry->user_id && entry->creation_date;
		case ROLE_USERS:
		case ROLE_SHARED_USERS:
			return entry->user_id && entry->username;
		case ROLE_JOBS:
			return entry->user_id && entry->kind;
		case ROLE_DELTAS:
			return entry->id && entry->post_id && entry->item_id;
		default:
			return true;
	}
}

/*
 * Return the role of a relation, with the numbers of its columns. The result
 * is valid until the process accepts invalidation messages again. The caller
 * has set up a historic snapshot.
 */
const RoleEntry *
role_of(Relation relation)
{
	Oid			relid = RelationGetRelid(relation);
	TupleDesc	desc = RelationGetDescr(relation);
	RoleEntry  *entry = hash_search(roles, &relid, HASH_FIND, NULL);
	RoleEntry	fresh = {.relid = relid};

	if (entry != NULL)
		return entry;
	fresh.role = find_role(relation);
	fresh.id = column(desc, "id", PROP_ID);
	fresh.user_id = column(desc, "user_id", PROP_USER_ID);
	fresh.creation_date = column(desc, "creation_date", PROP_CREATION_DATE);
	fresh.username = column(desc, "username", PROP_USERNAME);
	fresh.kind = column(desc, "kind", PROP_TYPE);
	fresh.post_id = column(desc, "post_id", PROP_POST_ID);
	fresh.item_id = column(desc, "item_id", PROP_ITEM_ID);
	fresh.comment_count = column(desc, "comment_count", PROP_COMMENT_COUNT);
	fresh.like_count = column(desc, "like_count", PROP_LIKE_COUNT);
	fresh.complete = role_complete(&fresh);
	entry = hash_search(roles, &relid, HASH_ENTER, NULL);
	*entry = fresh;
	return entry;
}
