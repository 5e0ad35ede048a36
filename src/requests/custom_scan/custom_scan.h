/*
 * custom_scan.h
 *		Running queries that stand in FROM by custom scans, in place of
 *		function scans.
 */
#ifndef BLOGSTORE_CUSTOM_SCAN_H
#define BLOGSTORE_CUSTOM_SCAN_H

/* scan_planning.c */
extern void scan_init(void);

#endif							/* BLOGSTORE_CUSTOM_SCAN_H */
