/*
 * remembered_table.h
 *		Tells whether information that was read from a table, or about it, is
 *		still valid in this process.
 */
#ifndef BLOGSTORE_REMEMBERED_TABLE_H
#define BLOGSTORE_REMEMBERED_TABLE_H

/*
 * The state of a cache that is valid until a table changes. The file that has
 * the cache declares a static variable of this type, with all fields zero. It
 * keeps the cached information in its own variables. Use:
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
extern void remembered_forget(Remembered *remembered);

#endif							/* BLOGSTORE_REMEMBERED_TABLE_H */
