/*
 * excerpt.h
 *		Excerpts: the beginning of the text in an HTML value, without its tags.
 */
#ifndef BLOGSTORE_EXCERPT_H
#define BLOGSTORE_EXCERPT_H

extern text *excerpt_of_html(Datum html, int characters);

#endif							/* BLOGSTORE_EXCERPT_H */
