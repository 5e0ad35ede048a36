/*
 * excerpt.h
 *		The beginning of the text in a value that is HTML.
 */
#ifndef BLOGSTORE_EXCERPT_H
#define BLOGSTORE_EXCERPT_H

extern text *excerpt_of_html(Datum html, int characters);

#endif							/* BLOGSTORE_EXCERPT_H */
