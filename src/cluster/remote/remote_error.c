/*
 * remote_error.c
 *		Passing on the fields of an error that another node raises.
 *
 * Programs recognize an error by its fields schema, table, column and
 * constraint (base/error_fields.h). Citus passes on the SQLSTATE, message,
 * detail, hint and context of an error, but not these fields. So the node that
 * serves a request appends a line with the fields to the hint:
 *
 *		Fields:<TAB>schema<TAB>table<TAB>column<TAB>constraint
 *
 * The node that has sent the request removes the line and sets the fields.
 *
 * The serving node appends the line even if all fields are empty, and the
 * asking node reads only the last line. So a text of a user in the hint is
 * never taken for this line.
 *
 * Runs in backends.
 */
#include "postgres.h"

#include "base/characters.h"
#include "cluster/remote/remote_call.h"

#include "lib/stringinfo.h"

#define FIELDS "Fields:"
#define N_FIELDS 4

/* A longer hint is cut to this many bytes. */
#define MAX_HINT 65536

static char **
field(ErrorData *error, int number)
{
	char	  **fields[N_FIELDS] = {
		&error->schema_name, &error->table_name, &error->column_name,
		&error->constraint_name
	};

	return fields[number];
}

/*
 * Return whether an error's field, such as the table's name, can be sent to
 * the other node. It must be set, be shorter than NAMEDATALEN, and contain no
 * control characters. A RAISE statement can set a field to any text.
 */
static bool
can_be_sent(const char *name)
{
	if (name == NULL || strlen(name) >= NAMEDATALEN)
		return false;
	for (; *name != '\0'; name++)
		if ((unsigned char) *name < ' ')
			return false;
	return true;
}

/*
 * Raise the current error again. Append to its hint a line with the error's
 * fields (schema, table, column, constraint). Called in PG_CATCH() on the
 * serving node. The caller has switched to a memory context other than
 * ErrorContext.
 */
void
remote_error_send(void)
{
	ErrorData  *error = CopyErrorData();
	StringInfoData hint;

	FlushErrorState();
	initStringInfo(&hint);
	if (error->hint != NULL)
	{
		appendBinaryStringInfo(&hint, error->hint,
							   bytes_clip(error->hint, strlen(error->hint), MAX_HINT));
		appendStringInfoChar(&hint, '\n');
	}
	appendStringInfoString(&hint, FIELDS);
	for (int i = 0; i < N_FIELDS; i++)
	{
		const char *name = *field(error, i);

		appendStringInfo(&hint, "\t%s", can_be_sent(name) ? name : "");
	}
	error->hint = hint.data;
	ReThrowError(error);
}

/*
 * Set an error's fields (schema, table, column, constraint) from the last line
 * of its hint, and remove that line.
 */
static void
take_fields(ErrorData *error)
{
	char	   *line = error->hint == NULL ? NULL : strrchr(error->hint, '\n');
	char	   *at;

	line = line != NULL ? line + 1 : error->hint;
	if (line == NULL || strncmp(line, FIELDS "\t", strlen(FIELDS) + 1) != 0)
		return;
	at = line + strlen(FIELDS);
	for (int i = 0; i < N_FIELDS && *at == '\t'; i++)
	{
		int			length = strcspn(at + 1, "\t");

		*field(error, i) = length > 0 ? pnstrdup(at + 1, length) : NULL;
		at += 1 + length;
	}
	if (line == error->hint)
		error->hint = NULL;
	else
		line[-1] = '\0';
}

/*
 * Raise the current error again, with the fields from the last line of its
 * hint. Called in PG_CATCH() on the asking node. The caller has switched to a
 * memory context other than ErrorContext.
 */
void
remote_error_receive(void)
{
	ErrorData  *error = CopyErrorData();

	FlushErrorState();
	take_fields(error);
	ReThrowError(error);
}
