/*
 * keys.h
 *		Ids made of the keys that a site had before: its numbers and names.
 */
#ifndef BLOGSTORE_KEYS_H
#define BLOGSTORE_KEYS_H

#include "layout/item.h"

#include "common/cryptohash.h"

/* key_id.c */
extern const char *key_id_make(pg_cryptohash_ctx *hash, ItemType type,
							   const char *key, int length, pg_uuid_t *id);
extern bool key_is_uuid(const char *key, int length);

#endif							/* BLOGSTORE_KEYS_H */
