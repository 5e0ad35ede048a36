/*
 * room.c
 *		Where inserting puts rows, and room that it leaves for their later versions.
 *
 * A row that is updated where it is (HOT) needs room on its page. A table's
 * fillfactor keeps room, but it also tells pruning when a page counts as full
 * (heap_page_prune_opt()): a page that inserting has left at it is pruned at nearly
 * every update from then on, which costs a WAL record each. So the leaves that are
 * updated often have a fillfactor of 100, by which a page is pruned when little is
 * left, and only inserting keeps to a lower one. Whoever inserts in another way, as
 * COPY does, fills pages: each row then moves to another page once.
 *
 * Runs in backends and in the worker.
 */
#include "postgres.h"

#include "container/writer.h"

/* Up to where to fill a page with items of a type, in per cent. */
static int
insert_fill(const ItemWriter *writer)
{
	if (writer->type == ITEM_DELTA)
		return 60;
	if (writer->container == CONTAINER_USERS && writer->type == ITEM_POST)
		return 70;
	return 100;
}

/*
 * Before an insert: have the server leave more room. The options of a table are in
 * memory of this process, where nobody misses them if an error leaves them changed.
 */
void
insert_room_begin(InsertRoom *room, const ItemWriter *writer)
{
	StdRdOptions *options = (StdRdOptions *) writer->leaf.rel->rd_options;
	int			fill = insert_fill(writer);

	room->options = NULL;
	if (options == NULL || options->fillfactor <= fill)
		return;
	room->options = options;
	room->fillfactor = options->fillfactor;
	options->fillfactor = fill;
}

/* After it; not if the server has read the options again meanwhile. */
void
insert_room_end(const InsertRoom *room, const ItemWriter *writer)
{
	if (room->options != NULL &&
		(StdRdOptions *) writer->leaf.rel->rd_options == room->options)
		room->options->fillfactor = room->fillfactor;
}

/* Each process goes on inserting on the page where it last did: have it be that of a row. */
void
item_writer_beside(ItemWriter *writer, ItemScan *scan)
{
	RelationSetTargetBlock(writer->leaf.rel,
						   ItemPointerGetBlockNumber(&item_scan_slot(scan)->tts_tid));
}
