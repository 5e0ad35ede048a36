/*
 * scan.h
 *		Queries in FROM as scans of the containers.
 */
#ifndef BLOGSTORE_SCAN_H
#define BLOGSTORE_SCAN_H

/* plan.c */
extern void scan_init(void);

#endif							/* BLOGSTORE_SCAN_H */
