/*
 * custom_scan.h
 *		Planning and running queries in FROM as scans of the containers.
 */
#ifndef BLOGSTORE_CUSTOM_SCAN_H
#define BLOGSTORE_CUSTOM_SCAN_H

/* scan_planning.c */
extern void scan_init(void);

#endif							/* BLOGSTORE_CUSTOM_SCAN_H */
