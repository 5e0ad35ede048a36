/*
 * utf8_text.h
 *		Converts texts between the database's encoding and UTF-8.
 */
#ifndef BLOGSTORE_UTF8_TEXT_H
#define BLOGSTORE_UTF8_TEXT_H

extern bool text_is_ascii(const char *text, int length);
extern bool encoding_has_utf8(void);
extern bool text_to_utf8(const char **text, int *length);
extern char *text_from_utf8(const char *utf8, int length);

#endif							/* BLOGSTORE_UTF8_TEXT_H */
