/*
 * custom_scan.h
 *		Custom scans, which the planner uses in place of function scans for
 *		calls of blogstore's queries in FROM.
 */
#ifndef BLOGSTORE_CUSTOM_SCAN_H
#define BLOGSTORE_CUSTOM_SCAN_H

/* scan_planning.c */
extern void scan_init(void);

#endif							/* BLOGSTORE_CUSTOM_SCAN_H */
