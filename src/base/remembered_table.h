/*
 * remembered_table.h
 *		Validity of cached information about a table.
 */
#ifndef BLOGSTORE_REMEMBERED_TABLE_H
#define BLOGSTORE_REMEMBERED_TABLE_H

/*
 * State of a cache. The cached information is kept beside it, in a static
 * variable. The state is initially zero.
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
	bool		valid;			/* true if the cached information is valid */
	Oid			relid;			/* the table; InvalidOid: any table's change
								 * invalidates */
	uint64		changes;		/* number of changes so far */
	bool		listed;			/* true if it is in the list of caches */
	struct Remembered *next;	/* next in that list */
} Remembered;

extern uint64 remembered_begin(Remembered *remembered, Oid relid);
extern void remembered_end(Remembered *remembered, uint64 began);
extern void remembered_forget(Remembered *remembered);

#endif							/* BLOGSTORE_REMEMBERED_TABLE_H */
