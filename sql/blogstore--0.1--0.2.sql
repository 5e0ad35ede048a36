/*
 * blogstore--0.1--0.2.sql
 *		What 0.2 changes of 0.1's SQL objects. CREATE EXTENSION runs 0.1 first, so
 *		that a new installation and an updated one are the same.
 *
 * Nothing in here touches the containers. A function that is made here must be
 * taken from PUBLIC here too: 0.1 does that once, for its own.
 */
\echo Use "ALTER EXTENSION blogstore UPDATE TO '0.2'" to load this file. \quit
