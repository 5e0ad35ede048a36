/*
 * scan_values.c
 *		Items as a scan reads them: the values of some properties, for who reads many.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "container/container.h"
#include "container/item_scan.h"
#include "container/tuple.h"
#include "items/item.h"
#include "layout/layout.h"
#include "layout/leaf.h"

#include "executor/tuptable.h"

/*
 * Ask for some properties, by which item_scan_next_values() gives items. Where many
 * items are read that costs less than item_scan_next(). False: the leaf is left out.
 */
bool
item_scan_want(ItemScan *scan, const Property *prop, int n)
{
	bool		found = scan->desc != NULL;
	uint32		needed = found ? scan->needed : 0;
	uint32		asked = 0;
	AttrNumber	last = 0;

	scan->nwanted = n;
	scan->nothers = 0;
	for (int i = 0; i < n; i++)
	{
		AttrNumber	att = scan->leaf.attno[prop[i]];

		scan->wanted[i] = att;
		scan->must[i] = (needed >> prop[i]) & 1;
		asked |= UINT32_C(1) << prop[i];
		last = Max(last, att);
	}
	scan->last = last;
	needed &= ~asked;
	for (Property p = 0; needed >> p != 0; p++)
	{
		AttrNumber	att = scan->leaf.attno[p];

		if (!(needed & (UINT32_C(1) << p)))
			continue;
		scan->other[scan->nothers++] = att;
		scan->last = Max(scan->last, att);
	}
	return found;
}

/* Has the present item, of which a value may be missing, all that it must have? */
static bool
scan_item_complete(ItemScan *scan)
{
	BlogItem	item;
	uint32		missing = item_from_slot(&item, scan->slot, scan->leaf.attno) &
		scan->needed;

	return missing == 0 || item_complete(&item, scan->type, missing);
}

/*
 * The next item that shows, as item_scan_next(): the values of the properties that
 * were asked for.
 */
bool
item_scan_next_values(ItemScan *scan, Datum *value, bool *isnull)
{
	bool		missing;

	do
	{
		const Datum *column;
		const bool *null;

		if (!item_scan_advance(scan))
			return false;
		slot_getsomeattrs(scan->slot, scan->last);
		column = scan->slot->tts_values - 1;
		null = scan->slot->tts_isnull - 1;
		missing = false;
		for (int i = 0; i < scan->nwanted; i++)
		{
			AttrNumber	att = scan->wanted[i];

			/* the container has no such column */
			if (unlikely(att == InvalidAttrNumber))
			{
				value[i] = (Datum) 0;
				isnull[i] = true;
				continue;
			}
			value[i] = column[att];
			isnull[i] = null[att];
			missing |= null[att] & scan->must[i];
		}
		for (int i = 0; i < scan->nothers; i++)
			missing |= null[scan->other[i]];
	} while (unlikely(missing) && !scan_item_complete(scan));
	return true;
}
