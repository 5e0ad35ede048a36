/*
 * remembered_table.h
 *		Tells whether cached information about a table is still valid in this
 *		process.
 */
#ifndef BLOGSTORE_REMEMBERED_TABLE_H
#define BLOGSTORE_REMEMBERED_TABLE_H

/*
 * The state of a cache of information about a table. The file with the cache
 * declares a static variable of this type, with all fields zero. The file
 * keeps the cached information in other variables. Use:
 *
 *		if (!memory.valid)
 *		{
 *			uint64		began = remembered_begin(&memory, relid);
 *
 *			... read what the cache keeps ...
 *			remembered_end(&memory, began);
 *		}
 */
typedef struct Remembered
{
	bool		valid;
	/*
	 * The table on which the cached information depends. InvalidOid: the
	 * information depends on all tables.
	 */
	Oid			relid;
	uint64		changes;		/* how often this cache was invalidated */
	bool		listed;
	struct Remembered *next;	/* next cache in the list of all caches */
} Remembered;

extern uint64 remembered_begin(Remembered *remembered, Oid relid);
extern void remembered_end(Remembered *remembered, uint64 began);

#endif							/* BLOGSTORE_REMEMBERED_TABLE_H */
