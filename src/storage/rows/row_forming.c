/*
 * row_forming.c
 *		Forms the rows that a writer writes: from an item's properties, and
 *		from defaults of columns that the owner has added. Checks constraints.
 *
 * Rows are formed in the per-tuple memory context. What is prepared once for
 * all rows is in the writer's context. Called by writers (row_writer.c).
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
 * Store an item's properties in a slot. Other columns keep the values that
 * they have in the slot.
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

/*
 * Prepare the defaults of columns that the owner has added to the writer's
 * table.
 */
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

		/* writing a view must not run the owner's code */
		if ((att->atthasdef || att->attidentity) && !att->attisdropped &&
			!att->attgenerated && !shape_is_view(writer->container, writer->type))
			expr = build_column_default(writer->leaf.rel, i + 1);
		if (expr != NULL)
			writer->default_of[i] = ExecPrepareExpr((Expr *) expr,
													writer->estate);
	}
	MemoryContextSwitchTo(old);
}

/*
 * Set all columns of a slot to their defaults, or to NULL. The item's
 * properties are stored over them afterwards.
 */
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
 * constraints and the partition bound. If the partition was found by the row's
 * key, the bound needs no check, unless a BEFORE trigger may have changed the
 * row.
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
 * Raise the error that a BEFORE trigger returned NULL, and so suppressed a
 * change on which the caller relies. Errors: 09000.
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
 * Fire BEFORE INSERT triggers for the row in slot. The executor caches the
 * trigger functions in the current memory context, so this must be the
 * writer's.
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
 * Form the row to insert for an item in slot, in the per-tuple memory context,
 * and fire BEFORE triggers.
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
 * Return the columns that differ between the locked tuple and the new values
 * of the item. The server needs them to fire UPDATE OF triggers, and to tell
 * an index that its columns are unchanged.
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
 * Form the new version of the locked item's row in slot. The columns that an
 * UPDATE changes are known to the executor until the per-tuple memory context
 * is reset.
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
	 * ExecGetExtraUpdatedCols() prepares generated columns at its first call,
	 * for the changed columns only. No columns are set yet, so it prepares all
	 * of them.
	 */
	(void) ExecGetExtraUpdatedCols(writer->rri, writer->estate);
	compat_set_updated_columns(writer->estate, changed_columns(writer, item));
}
