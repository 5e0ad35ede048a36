/*
 * remembered_table.h
 *		Tells whether information that was read from a table, or about it, is
 *		still valid in this process.
 */
#ifndef BLOGSTORE_REMEMBERED_TABLE_H
#define BLOGSTORE_REMEMBERED_TABLE_H

/*
 * The state of a cache that is valid until a table changes. The user of this
 * struct keeps the cached information itself in a static variable beside it.
 * Initially all fields are zero. Use:
 *
 *		if (!memory.valid)
 *		{
 *			uint64		began = remembered_begin(&memory, relid);
 *
 *			... read what is to be cached ...
 *			remembered_end(&memory, began);
 *		}
 */
typedef struct Remembered
{
	bool		valid;			/* true while the cached information is
								 * valid */
	/*
	 * The table on which the cached information depends. InvalidOid: it
	 * depends on all tables.
	 */
	Oid			relid;
	uint64		changes;		/* invalidations of this cache so far */
	bool		listed;			/* true if the list contains this cache */
	struct Remembered *next;	/* next element of that list */
} Remembered;

extern uint64 remembered_begin(Remembered *remembered, Oid relid);
extern void remembered_end(Remembered *remembered, uint64 began);
extern void remembered_forget(Remembered *remembered);

#endif							/* BLOGSTORE_REMEMBERED_TABLE_H */
