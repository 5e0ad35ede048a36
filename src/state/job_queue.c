/*
 * job_queue.c
 *		Asking for work that outlives the command that asks.
 *
 * A job is a row of blogstore.jobs, written in the asking transaction; the
 * worker, which decodes the insert, does the rest. Runs in backends and in
 * the worker; callers act as the containers' owner.
 */
#include "postgres.h"

#include "container/container.h"
#include "state/plans.h"
#include "state/state.h"

#include "catalog/pg_type.h"
#include "utils/builtins.h"

static KeptPlan enqueue_plan = {
	"INSERT INTO blogstore.jobs (id, kind, user_id) VALUES ($1, $2, $3)",
	3, {UUIDOID, TEXTOID, UUIDOID}, NULL
};

/* Queue a job: kind 'rename' or 'deletion' of a user, or 'rebuild' (NULL). */
void
job_enqueue(const char *kind, const pg_uuid_t *user_id)
{
	pg_uuid_t	id;
	Datum		values[3];

	new_id(&id);
	values[0] = UUIDPGetDatum(&id);
	values[1] = CStringGetTextDatum(kind);
	values[2] = user_id ? UUIDPGetDatum(user_id) : (Datum) 0;

	SPI_connect();
	plan_execute(&enqueue_plan, values, user_id ? "   " : "  n", false);
	SPI_finish();
}
