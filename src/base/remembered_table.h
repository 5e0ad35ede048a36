/*
 * remembered_table.h
 *		What was read about a table is remembered until the table's definition
 *		changes.
 */
#ifndef BLOGSTORE_REMEMBERED_TABLE_H
#define BLOGSTORE_REMEMBERED_TABLE_H

/*
 * Tells whether something that is remembered still holds; whoever remembers it
 * keeps it beside this, in a static variable that is zero at first.
 *
 *		if (!memory.valid)
 *		{
 *			uint64		began = remembered_begin(&memory, relid);
 *
 *			... read what is to be remembered ...
 *			remembered_end(&memory, began);
 *		}
 */
typedef struct Remembered
{
	bool		valid;			/* does it hold? */
	Oid			relid;			/* the table; InvalidOid: any table's change ends it */
	uint64		changes;		/* how often the table has changed */
	bool		listed;			/* is it told of changes? */
	struct Remembered *next;	/* the one that was listed before */
} Remembered;

extern uint64 remembered_begin(Remembered *remembered, Oid relid);
extern void remembered_end(Remembered *remembered, uint64 began);
extern void remembered_forget(Remembered *remembered);

#endif							/* BLOGSTORE_REMEMBERED_TABLE_H */
