# shellcheck shell=bash disable=SC2154
#
# demo_measure.sh
#	Measure the article's requests on the demo's server as bench/run does.
#
# Statements and keys come from the benchmark's files, so the demo and the
# benchmark measure the same. pgbench runs prepared statements in one client
# through the socket, and commits are flushed. Queries are measured before
# commands. blogstore's worker runs while blogstore's commands are measured,
# and is stopped while version 1's are.

MEASURED_ROUNDS=3
# Calls at the start of a session that are not measured: they fill caches.
MEASURED_SKIPPED=50
MEASURED_CALLS=100

# Each is a code, a file name in bench/run_sql, file names in
# bench/run_sql/keys, and a title.
MEASURED_REQUESTS=(
	"Q1 get_user user retrieve a user"
	"Q2 get_post post retrieve a post"
	"Q3 list_user_posts user list a user's posts, short form"
	"Q4 list_post_comments post list a post's comments"
	"Q5 list_post_likes post list a post's likes"
	"Q6 list_feed none list the 100 most recent posts, short form"
	"C1 create_user number,new_user create a user"
	"C2 create_post number,author create a post"
	"C3 create_comment number,commented_post create a comment"
	"C4 create_like number,liked_post like a post"
)

# statement CONTESTANT NAME
#
# Print a statement with the parameters $1 (a user), $2 (a post) and $3 (a
# number) in place of pgbench's variables.
statement()
{
	# shellcheck disable=SC2016
	sed -E 's/(^|[^:]):user\>/\1$1/g; s/(^|[^:]):post\>/\1$2/g; s/(^|[^:]):number\>/\1$3/g; s/;$//' \
		"$ROOT/bench/run_sql/$1/$2.sql"
}

# as_shown CONTESTANT NAME
#
# Print a statement for the screen, with variables in place of the expressions
# that make ids of numbers.
as_shown() { sed -E "s/\('01[0-9a-f]+' \|\| (:[a-z]+)\)::uuid/\1/g" "$ROOT/bench/run_sql/$1/$2.sql"; }

# have_worker CONTESTANT
#
# For blogstore, start its worker, and wait until the views are up to date. For
# version 1, stop the worker.
have_worker()
{
	if [[ $1 == blogstore ]]; then
		value "SELECT blogstore.start_worker()" >/dev/null
		[[ $(value "SELECT blogstore.wait_for_views('10 min')") == t ]] || die "the views do not catch up" "See $DIR/server.log."
	else
		# Suppress the warning that the slot retains WAL meanwhile.
		value "SET client_min_messages = error; SELECT blogstore.stop_worker()" >/dev/null
	fi
}

# time_round CODE NAME CONTESTANT NUMBER
#
# Measure one round of a request, and store its times in demo.times.
time_round()
{
	local code=$1 name=$2 contestant=$3 number=$4 calls=$((MEASURED_SKIPPED + MEASURED_CALLS)) log=$BUILD/pgbench.log
	if ! "${AS_SERVER[@]}" PGOPTIONS="-c search_path=$contestant" "$BINDIR/pgbench" -n -M prepared -c 1 -t "$calls" \
		-f "$DIR/tmp/$contestant.$name.sql" --random-seed=$((number + 1)) --log --log-prefix="$DIR/tmp/times" \
		-D clients=1 -D i=0 -D base=$((number * calls)) -D default_seed=1 -D users="$USERS" -D posts="$POSTS" \
		-D most_likes="$MOST_LIKES" -h "$SOCKET" -p "$PORT" -U postgres blogstore >"$log" 2>&1; then
		indent '    | ' <"$log"
		die "pgbench failed"
	fi
	"${AS_SERVER[@]}" sh -c 'cat tmp/times.* && rm tmp/times.*' | tail -n "+$((MEASURED_SKIPPED + 1))" |
		awk -v OFS='\t' -v code="$code" -v contestant="$contestant" '{ print code, contestant, $3 / 1000 }' |
		sql -c "COPY demo.times FROM STDIN"
}

# measure CODE NAME KEYS TITLE
#
# Measure a request's times and then its buffers, and add a row to demo.result.
measure()
{
	local code=$1 name=$2 keys=$3 title=$4 round contestant key turn
	if [[ $code == Q* ]]; then
		sql -v code="$code" -v store="$(statement blogstore "$name")" -v v1="$(statement v1 "$name")" <<'SQL'
SET search_path = v1;
CALL demo.compare(:'code', :'store', :'v1');
SQL
	fi
	for contestant in blogstore v1; do
		{
			for key in ${keys//,/ }; do
				cat "$ROOT/bench/run_sql/keys/$key.sql"
			done
			cat "$ROOT/bench/run_sql/$contestant/$name.sql"
		} | "${AS_SERVER[@]}" tee "$DIR/tmp/$contestant.$name.sql" >/dev/null
	done
	for ((round = 0; round < MEASURED_ROUNDS; round++)); do
		turn=(blogstore v1)
		((round % 2 == 0)) || turn=(v1 blogstore)
		for contestant in "${turn[@]}"; do
			[[ $code == Q* ]] || have_worker "$contestant"
			time_round "$code" "$name" "$contestant" "$round"
		done
	done
	for contestant in v1 blogstore; do
		[[ $code == Q* ]] || have_worker "$contestant"
		sql -v code="$code" -v contestant="$contestant" -v statement="$(statement "$contestant" "$name")" <<'SQL'
SET search_path = :contestant;
CALL demo.count_buffers(:'code', :'contestant', :'statement');
SQL
	done
	sql -v code="$code" -v title="$title" -v v1="$(as_shown v1 "$name")" <<'SQL'
INSERT INTO demo.result SELECT * FROM demo.measured(:'code', :'title', :'v1');
SQL
}

# Measure all ten requests. What their commands have written is deleted again,
# from blogstore and from version 1.
measure_requests()
{
	local request code name keys title
	USERS=$(value "SELECT count(*) FROM demo.users")
	POSTS=$(value "SELECT count(*) FROM demo.posts")
	MOST_LIKES=$(value "SELECT dataset.most_likes($USERS)")
	sql -c "CREATE SCHEMA staging"
	sql_file bench/run_sql/explain.sql
	sql_file scripts/sql/demo_measure.sql -v skipped="$MEASURED_SKIPPED" -v calls="$MEASURED_CALLS"
	printf '   '
	for request in "${MEASURED_REQUESTS[@]}"; do
		read -r code name keys title <<<"$request"
		printf ' %s' "$code"
		measure "$code" "$name" "$keys" "$title"
	done
	printf '\n'
	sql_file scripts/sql/demo_tidy.sql -o /dev/null
}
