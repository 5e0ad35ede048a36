/*
 * key_id.c
 *		Makes ids of items from the keys (numbers or names) by which a site
 *		identifies them.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "base/characters.h"
#include "base/compat.h"
#include "base/error_fields.h"
#include "base/utf8_text.h"
#include "import/sources/sources.h"
#include "requests/requests.h"

#include "access/detoast.h"
#include "common/sha2.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(blogstore_key_id);

/* In an error message, an unknown type is cut to this many bytes. */
#define SHOWN_TYPE_LENGTH 64

/*
 * Convert a key to UTF-8. Returns false if that is not possible. In a database
 * with the encoding SQL_ASCII, the key must be valid UTF-8 already.
 */
static bool
key_to_utf8(const char **key, int *length)
{
	if (GetDatabaseEncoding() == PG_SQL_ASCII)
		return pg_verify_mbstr(PG_UTF8, *key, *length, true);
	return text_to_utf8(key, length);
}

/*
 * Make the id of an item from its type and key: a uuid of version 8 (RFC 9562,
 * section 5.8). The id is the same on all servers, in databases of all
 * encodings. Returns an error message if the key is invalid; else NULL.
 *
 * The id is the beginning of a SHA-256 hash, with the version and variant bits
 * of a uuid. The hashed bytes are the type's name, a zero byte, and the key in
 * UTF-8. The zero byte keeps the name and the key apart.
 *
 * The key must not be longer than MAX_TEXT_BYTES. Allocates in the current
 * memory context.
 */
const char *
key_id_make(pg_cryptohash_ctx *hash, ItemType type, const char *key,
			int length, pg_uuid_t *id)
{
	const char *name = item_type_name(type);
	uint8		digest[PG_SHA256_DIGEST_LENGTH];

	if (length == 0)
		return "must not be empty";
	if (!key_to_utf8(&key, &length))
		return "cannot be written in UTF-8";
	if (pg_cryptohash_init(hash) < 0 ||
		pg_cryptohash_update(hash, (const uint8 *) name, strlen(name) + 1) < 0 ||
		pg_cryptohash_update(hash, (const uint8 *) key, length) < 0 ||
		pg_cryptohash_final(hash, digest, sizeof(digest)) < 0)
		elog(ERROR, "could not compute SHA-256: %s", pg_cryptohash_error(hash));
	memcpy(id->data, digest, UUID_LEN);
	id->data[6] = (id->data[6] & 0x0F) | 0x80;
	id->data[8] = (id->data[8] & 0x3F) | 0x80;
	return NULL;
}

/* Return whether a text is a uuid, with all hyphens or with none. */
bool
text_is_uuid(const char *text, int length)
{
	bool		hyphens = length == 36;

	if (!hyphens && length != 32)
		return false;
	for (int i = 0; i < length; i++)
	{
		if (hyphens && (i == 8 || i == 13 || i == 18 || i == 23))
		{
			if (text[i] != '-')
				return false;
		}
		else if (!isxdigit((unsigned char) text[i]))
			return false;
	}
	return true;
}

static ItemType
need_type(Datum type)
{
	/* detoast only the beginning of the text */
	char	   *name = TextDatumGetCString(PointerGetDatum(PG_DETOAST_DATUM_SLICE(type, 0, SHOWN_TYPE_LENGTH)));

	for (ItemType item = 0; item <= ITEM_COMMENT_LIKE; item++)
		if (strcmp(name, item_type_name(item)) == 0)
			return item;
	name[bytes_clip(name, strlen(name), SHOWN_TYPE_LENGTH - 1)] = '\0';
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("there are no items of type \"%s\"", name),
			 errhint("Types are user, post, comment and like."),
			 err_fields(NULL, "type", RULE_RANGE)));
}

/*
 * blogstore.key_id(type, key): return the id that import() makes from a key.
 * Errors: 22021, 22023, 54000.
 */
Datum
blogstore_key_id(PG_FUNCTION_ARGS)
{
	ItemType	type = need_type(PG_GETARG_DATUM(0));
	pg_uuid_t  *id = palloc(sizeof(pg_uuid_t));
	pg_cryptohash_ctx *hash;
	text	   *key;
	const char *problem;

	if ((int64) toast_raw_datum_size(PG_GETARG_DATUM(1)) - VARHDRSZ > MAX_TEXT_BYTES)
		text_too_long("key");
	key = PG_GETARG_TEXT_PP(1);
	hash = pg_cryptohash_create(PG_SHA256);
	problem = key_id_make(hash, type, VARDATA_ANY(key), VARSIZE_ANY_EXHDR(key),
						  id);
	pg_cryptohash_free(hash);
	if (problem != NULL)
		ereport(ERROR,
				(errcode(VARSIZE_ANY_EXHDR(key) == 0 ?
						 ERRCODE_INVALID_PARAMETER_VALUE :
						 ERRCODE_CHARACTER_NOT_IN_REPERTOIRE),
				 errmsg("key %s", problem),
				 errhint("Pass the key by which the site identifies the %s.",
						 item_type_name(type)),
				 err_fields(NULL, "key", VARSIZE_ANY_EXHDR(key) == 0 ?
							RULE_NOT_EMPTY : RULE_CHARACTERS)));
	PG_RETURN_UUID_P(id);
}
