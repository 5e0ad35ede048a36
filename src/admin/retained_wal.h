/*
 * retained_wal.h
 *		How much WAL replication slots retain, and which open transaction is
 *		the cause. Only admin/ includes this header.
 */
#ifndef BLOGSTORE_RETAINED_WAL_H
#define BLOGSTORE_RETAINED_WAL_H

/* Number of values that slot_wal_read() sets. */
#define N_SLOT_WAL 3

extern void slot_wal_read(const char *slot, Datum *value, bool *isnull);
extern char *oldest_writer(bool *old);

#endif							/* BLOGSTORE_RETAINED_WAL_H */
