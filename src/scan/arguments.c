/*
 * arguments.c
 *		The arguments of a scan's call.
 *
 * Most are there as they are: constants, as those are that defaults give, and parameters
 * of a prepared statement. To compile an expression for each of them costs more
 * than to take them. All others are evaluated as the server does.
 *
 * Runs in backends and parallel workers.
 */
#include "postgres.h"

#include "scan/internal.h"

#include "executor/executor.h"
#include "nodes/params.h"
#include "nodes/primnodes.h"

/*
 * Is the value of an argument there as it is, and costs no evaluation? Constants are,
 * and parameters of the statement, unless who provides them wants to compile them.
 */
static bool
is_plain(const QueryScanState *state, const Node *arg)
{
	const Param *param = (const Param *) arg;
	ParamListInfo params = state->css.ss.ps.state->es_param_list_info;

	if (IsA(arg, Const))
		return true;
	return IsA(arg, Param) && param->paramkind == PARAM_EXTERN &&
		params != NULL && params->paramCompile == NULL &&
		params->paramFetch == NULL && param->paramid > 0 &&
		param->paramid <= params->numParams &&
		params->params[param->paramid - 1].ptype == param->paramtype;
}

/* Prepare the evaluation of the call's arguments, of those that need one. */
void
scan_find_arguments(QueryScanState *state)
{
	ListCell   *cell;
	int			i = 0;

	foreach(cell, state->call->args)
	{
		if (!is_plain(state, lfirst(cell)))
			state->arg[i] = ExecInitExpr(lfirst(cell), &state->css.ss.ps);
		i++;
	}
}

/* The value of an argument that is plain. */
static NullableDatum
plain_value(const QueryScanState *state, const Node *arg)
{
	ParamListInfo params;
	const ParamExternData *param;

	if (IsA(arg, Const))
		return (NullableDatum) {
			.value = ((const Const *) arg)->constvalue,
			.isnull = ((const Const *) arg)->constisnull
		};
	params = state->css.ss.ps.state->es_param_list_info;
	param = &params->params[((const Param *) arg)->paramid - 1];
	return (NullableDatum) {.value = param->value,.isnull = param->isnull};
}

/* Evaluate the call's arguments. */
void
scan_evaluate_arguments(QueryScanState *state)
{
	ExprContext *econtext = state->css.ss.ps.ps_ExprContext;
	NullableDatum *arg = state->fcinfo.info.args;
	ListCell   *cell;
	int			i = 0;

	foreach(cell, state->call->args)
	{
		if (state->arg[i] == NULL)
			arg[i] = plain_value(state, lfirst(cell));
		else
			arg[i].value = ExecEvalExprSwitchContext(state->arg[i], econtext,
													 &arg[i].isnull);
		i++;
	}
}
