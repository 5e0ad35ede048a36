--
-- KEY_ID: ids made of a site's own keys
--
-- What a program apart from this one computes of the same bytes
SELECT type, key, blogstore.key_id(type, key), blogstore.key_id(type, key) = encode(
	set_byte(set_byte(digest, 6, get_byte(digest, 6) & 15 | 128), 8, get_byte(digest, 8) & 63 | 128), 'hex')::uuid AS same
FROM (VALUES ('user', '1'), ('post', '1'), ('comment', '1'), ('like', '1'), ('post', 'wp:1'),
	('post', 'hello-world'), ('user', U&'J\00f8rgen'), ('user', U&'\65e5\672c'), ('user', U&'J\00f8rgen \65e5\672c \+01f600')) v (type, key),
	substr(sha256(convert_to(type, 'UTF8') || '\x00' || convert_to(key, 'UTF8')), 1, 16) AS digest;
-- of version 8, and of RFC 9562's variant
SELECT count(*), count(DISTINCT id), bool_and(id::text ~ '^.{14}8.{4}[89ab]')
FROM generate_series(1, 10000) AS n, blogstore.key_id('post', n::text) AS id;
-- types, case, spaces, forms of a letter and the way a number is written count
SELECT count(*), count(DISTINCT blogstore.key_id(type, key))
FROM unnest('{user,post,comment,like}'::text[]) AS type,
	unnest(ARRAY['a', 'A', ' a', 'a ', E'a\n', '1', '01', '1.0', '+1', U&'\00e9', U&'e\0301', 'user1', 'r1']) AS key;
SELECT blogstore.key_id(NULL, '1'), blogstore.key_id('user', NULL);
SELECT left(call, 60) AS call, kit.try('blogstore.' || call) FROM (VALUES
	('key_id(''post'', '''')'),
	('key_id('''', ''1'')'),
	('key_id(''Post'', ''1'')'),
	('key_id(''post '', ''1'')'),
	('key_id(''delta'', ''1'')'),
	('key_id(repeat(''x'', 1000), ''1'')'),
	('key_id(repeat(U&''\+01f600'', 1000000), ''1'')'),
	('key_id(''post'', repeat(''x'', 64 * 1024 * 1024))'),
	('key_id(''post'', repeat(''x'', 64 * 1024 * 1024 + 1))')) v (call);
SELECT blogstore.key_id(repeat(U&'\00e9', 100), '1');
SELECT provolatile, proparallel, proisstrict FROM pg_proc WHERE oid = 'blogstore.key_id'::regproc;

-- In databases of other encodings, whatever search_path names
CREATE DATABASE regress_blogstore_latin1 TEMPLATE template0 ENCODING 'LATIN1' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc;
CREATE DATABASE regress_blogstore_euc_jp TEMPLATE template0 ENCODING 'EUC_JP' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc;
CREATE DATABASE regress_blogstore_win1252 TEMPLATE template0 ENCODING 'WIN1252' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc;
CREATE DATABASE regress_blogstore_ascii TEMPLATE template0 ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc;
SELECT current_database() AS main \gset
\c regress_blogstore_latin1
SET client_min_messages = warning;
CREATE EXTENSION blogstore;
SELECT getdatabaseencoding(), octet_length(key), blogstore.key_id('user', '1'), blogstore.key_id('user', key) FROM CAST(U&'J\00f8rgen' AS text) AS key;
-- a conversion that stands before the server's, and does not work
CREATE SCHEMA planted;
CREATE DEFAULT CONVERSION planted.other FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
UPDATE pg_conversion SET conproc = 'win_to_utf8'::regproc WHERE conname = 'other';
SET search_path = planted, pg_catalog;
SELECT convert_to(U&'J\00f8rgen', 'UTF8');
SELECT blogstore.key_id('user', U&'J\00f8rgen');
\c regress_blogstore_euc_jp
SET client_min_messages = warning;
CREATE EXTENSION blogstore;
SELECT getdatabaseencoding(), octet_length(key), blogstore.key_id('user', '1'), blogstore.key_id('user', key) FROM CAST(U&'\65e5\672c' AS text) AS key;
\c regress_blogstore_win1252
SET client_min_messages = warning;
CREATE EXTENSION blogstore;
SET client_encoding = 'WIN1252';
-- a byte that is nothing in this encoding
SELECT getdatabaseencoding(), octet_length(key), blogstore.key_id('user', key) FROM CAST(E'J\xf8rgen' AS text) AS key;
SELECT blogstore.key_id('user', E'J\x81rgen');
\c regress_blogstore_ascii
SET client_min_messages = warning;
SET client_encoding = 'SQL_ASCII';
CREATE EXTENSION blogstore;
SELECT getdatabaseencoding(), octet_length(key), blogstore.key_id('user', '1'), blogstore.key_id('user', key) FROM CAST(E'J\xc3\xb8rgen' AS text) AS key;
-- bytes that are no UTF-8
SELECT blogstore.key_id('user', E'J\xf8rgen');
SELECT blogstore.key_id('user', E'\xc3');
SELECT blogstore.key_id('user', E'\xed\xa0\x80');
\c :main
DROP DATABASE regress_blogstore_latin1;
DROP DATABASE regress_blogstore_euc_jp;
DROP DATABASE regress_blogstore_win1252;
DROP DATABASE regress_blogstore_ascii;
