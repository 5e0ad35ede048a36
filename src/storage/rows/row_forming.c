/*
 * row_forming.c
 *		Forms the rows that an ItemWriter writes, and checks constraints.
 *
 * A row consists of an item's fields, and of defaults in the columns that the
 * owner has added. Rows are formed in the per-tuple memory context. The
 * prepared DEFAULT expressions are in the writer's memory context.
 */
#include "postgres.h"

#include "base/compat.h"
#include "storage/blog_item.h"
#include "storage/layout/leaf.h"
#include "storage/rows/row_writer.h"

#include "access/sysattr.h"
#include "commands/trigger.h"
#include "executor/nodeModifyTable.h"
#include "rewrite/rewriteHandler.h"
#include "utils/builtins.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

/*
 * Store an item's fields in a slot. Columns that the owner has added keep the
 * values that the slot has.
 */
static void
writer_fill(ItemWriter *writer, TupleTableSlot *slot, const BlogItem *item)
{
	writer->estate->es_snapshot = GetActiveSnapshot();
	for (int p = 0; p < N_PROPERTIES; p++)
	{
		AttrNumber	att = writer->leaf.attno[p];

		if (att == InvalidAttrNumber)
			continue;
		slot->tts_values[att - 1] = item->value[p];
		slot->tts_isnull[att - 1] = item->isnull[p];
	}
	ExecStoreVirtualTuple(slot);
	slot->tts_tableOid = RelationGetRelid(writer->leaf.rel);
}

static void
writer_prepare_defaults(ItemWriter *writer)
{
	TupleDesc	desc = RelationGetDescr(writer->leaf.rel);
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	writer->default_of = palloc0(desc->natts * sizeof(ExprState *));
	for (int i = 0; i < desc->natts; i++)
	{
		Form_pg_attribute att = TupleDescAttr(desc, i);
		Node	   *expr = NULL;

		/*
		 * The feed and the copies of posts get no defaults, because the worker
		 * writes them and must not execute the owner's expressions.
		 */
		if ((att->atthasdef || att->attidentity) && !att->attisdropped &&
			!att->attgenerated && !shape_is_view(writer->container, writer->type))
			expr = build_column_default(writer->leaf.rel, i + 1);
		if (expr != NULL)
			writer->default_of[i] = ExecPrepareExpr((Expr *) expr,
													writer->estate);
	}
	MemoryContextSwitchTo(old);
}

static void
writer_fill_defaults(ItemWriter *writer, TupleTableSlot *slot)
{
	ExprContext *econtext = GetPerTupleExprContext(writer->estate);

	if (writer->default_of == NULL)
		writer_prepare_defaults(writer);
	ExecClearTuple(slot);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = (Datum) 0;
		slot->tts_isnull[i] = true;
		if (writer->default_of[i] != NULL)
			slot->tts_values[i] = ExecEvalExpr(writer->default_of[i], econtext,
											   &slot->tts_isnull[i]);
	}
}

/*
 * Compute the generated columns of a new row, and check NOT NULL and CHECK
 * constraints and the partition bound. The bound is not checked if the writer
 * was opened for the row's key, and no BEFORE INSERT trigger can change the
 * key.
 */
static void
writer_check(ItemWriter *writer, TupleTableSlot *slot)
{
	Relation	rel = writer->leaf.rel;

	if (rel->rd_att->constr && rel->rd_att->constr->has_generated_stored)
		ExecComputeStoredGenerated(writer->rri, writer->estate, slot,
								   CMD_INSERT);
	if (rel->rd_att->constr)
		ExecConstraints(writer->rri, slot, writer->estate);
	if (!writer->by_key ||
		(writer->triggers && rel->trigdesc->trig_insert_before_row))
		ExecPartitionCheck(writer->rri, slot, writer->estate, true);
}

/*
 * Raise an error (09000) because a BEFORE trigger has returned NULL, and has
 * thereby suppressed a change of an item.
 */
void
writer_suppressed(ItemWriter *writer)
{
	ereport(ERROR,
			(errcode(ERRCODE_TRIGGERED_ACTION_EXCEPTION),
			 errmsg("a trigger on \"%s\" suppressed a change of an item",
					RelationGetRelationName(writer->leaf.rel)),
			 errhint("Raise an error in the trigger to refuse a change."),
			 err_table_fields(writer->leaf.rel, NULL, RULE_TRIGGERS)));
}

/*
 * Fire BEFORE INSERT triggers for the row in a slot. The current memory
 * context must be the writer's, which is not reset for each row. In this
 * context the executor caches the trigger functions.
 */
static void
writer_fire_before(ItemWriter *writer, TupleTableSlot *slot)
{
	MemoryContext old = MemoryContextSwitchTo(writer->context);

	if (!ExecBRInsertTriggers(writer->estate, writer->rri, slot))
		writer_suppressed(writer);
	MemoryContextSwitchTo(old);
}

/*
 * Form the row of an item in "slot", fire BEFORE INSERT triggers, and check
 * the row (see writer_check()). The row's values are in the per-tuple memory
 * context.
 */
void
writer_form(ItemWriter *writer, TupleTableSlot *slot, const BlogItem *item)
{
	writer_fill_defaults(writer, slot);
	writer_fill(writer, slot, item);
	if (writer->triggers && writer->rri->ri_TrigDesc->trig_insert_before_row)
		writer_fire_before(writer, slot);
	writer_check(writer, slot);
}

/*
 * Return the columns in which an item differs from the old version of its row,
 * writer->found. The server fires UPDATE OF triggers according to these
 * columns, and tells index access methods which columns are unchanged.
 */
static Bitmapset *
changed_columns(ItemWriter *writer, const BlogItem *item)
{
	BlogItem	there;
	Bitmapset  *columns = NULL;

	(void) item_from_slot(&there, writer->found, writer->leaf.attno);
	for (Property p = 0; p < N_PROPERTIES; p++)
	{
		AttrNumber	att = writer->leaf.attno[p];

		if (att != InvalidAttrNumber && !item_same(&there, item, p))
			columns = bms_add_member(columns,
									 att - FirstLowInvalidHeapAttributeNumber);
	}
	return columns;
}

/*
 * Form the new version of a row in "slot": copy the old version,
 * writer->found, and replace the fields by those of an item. Stores the set of
 * changed columns in the executor state. This set is valid until the per-tuple
 * memory context is reset.
 */
void
writer_form_update(ItemWriter *writer, TupleTableSlot *slot,
				   const BlogItem *item)
{
	int			natts = slot->tts_tupleDescriptor->natts;

	ExecClearTuple(slot);
	slot_getallattrs(writer->found);
	memcpy(slot->tts_values, writer->found->tts_values, natts * sizeof(Datum));
	memcpy(slot->tts_isnull, writer->found->tts_isnull, natts * sizeof(bool));
	writer_fill(writer, slot, item);
	/*
	 * Let the server prepare all generated columns.
	 * ExecGetExtraUpdatedCols() does so at its first call, because the set of
	 * updated columns is still empty. If the set had columns, the server would
	 * prepare only the generated columns that depend on them.
	 */
	(void) ExecGetExtraUpdatedCols(writer->rri, writer->estate);
	compat_set_updated_columns(writer->estate, changed_columns(writer, item));
}
