/*
 * progress.h
 *		NOTICEs by which long calls tell their client how far they are.
 */
#ifndef BLOGSTORE_PROGRESS_H
#define BLOGSTORE_PROGRESS_H

extern void progress_begin(const char *step);
extern void progress_add(int64 rows);

#endif							/* BLOGSTORE_PROGRESS_H */
