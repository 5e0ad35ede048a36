/*
 * cppcheck.h
 *		Those of the server's macros without which cppcheck cannot parse
 *		blogstore's source. cppcheck does not read the server's headers.
 */
#define PGDLLEXPORT
#define CppAsString2(x) #x
#define INT64_FORMAT "%ld"
#define UINT64_FORMAT "%lu"
#define foreach(cell, list) \
	for (cell = list_head(list); cell != NULL; cell = lnext(list, cell))
#define forboth(cell1, list1, cell2, list2) \
	for (cell1 = list_head(list1), cell2 = list_head(list2); \
		 cell1 != NULL && cell2 != NULL; \
		 cell1 = lnext(list1, cell1), cell2 = lnext(list2, cell2))
#define for_each_from(cell, list, n) \
	for (cell = list_nth_cell(list, n); cell != NULL; cell = lnext(list, cell))
#define dlist_foreach(iter, list) \
	for (iter.cur = dlist_head(list); iter.cur != NULL; iter.cur = dlist_next(list, iter.cur))
#define dlist_foreach_modify(iter, list) dlist_foreach(iter, list)
#define slist_foreach(iter, list) \
	for (iter.cur = slist_head(list); iter.cur != NULL; iter.cur = slist_next(list, iter.cur))
#define slist_foreach_modify(iter, list) slist_foreach(iter, list)
#define XL_ROUTINE(...) NULL
