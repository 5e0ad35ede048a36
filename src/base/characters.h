/*
 * characters.h
 *		Measures and cuts texts by whole characters.
 */
#ifndef BLOGSTORE_CHARACTERS_H
#define BLOGSTORE_CHARACTERS_H

extern int	character_longest(void);
extern int	character_bytes(const char *text, const char *end);
extern int	characters_clip(const char *text, int bytes, int characters);
extern int	bytes_clip(const char *text, int bytes, int limit);
extern void message_copy(char *to, const char *message, size_t size);

#endif							/* BLOGSTORE_CHARACTERS_H */
