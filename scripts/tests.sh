# shellcheck shell=bash disable=SC2034,SC2153
#
# tests.sh
#	Find the packages that tests need, run tests, count their results and
#	report them, for scripts/check and scripts/sanitize.

PASSED=0
FAILED=0
REPORT=()
FAILURES=()
# Each entry, "KIND FILE: reason", is for a file, a step, or some tests of a
# file that were left out.
LEFT_OUT=()
# After this number of seconds, make installcheck or a file of TAP tests is
# considered hung, and is killed.
LIMIT=2400

# ---------------------------------------------------------------------------
# Packages for tests: these functions add to setup's array "missing" (lib.sh)
# ---------------------------------------------------------------------------

# Set NODE_PG to the source of node-postgres, debian or npm. Debian's package
# is preferred, because Debian's npm has many dependencies. That package cannot
# be installed beside a Node.js from elsewhere, but such a Node.js has npm.
find_node_pg()
{
	NODE_PG=debian
	! NODE_PATH=/usr/share/nodejs node -e 'require("pg")' >/dev/null 2>&1 || return 0
	if have node && have npm; then
		NODE_PG=npm
	else
		missing+=(nodejs node-pg)
	fi
}

# The tests of moving in from WordPress need MariaDB (without its service), PHP
# (without a web server) and mysql_fdw.
find_wordpress()
{
	[[ -x /usr/sbin/mariadbd ]] || missing+=(mariadb-server-core)
	have mariadb || missing+=(mariadb-client-core)
	php -r 'exit((int) !extension_loaded("mysqli"));' >/dev/null 2>&1 || missing+=(php-cli php-mysql)
	[[ -f /usr/share/postgresql/15/extension/mysql_fdw.control ]] || missing+=(postgresql-15-mysql-fdw)
}

# find_test_tools lint|no-lint
find_test_tools()
{
	local lint=$1
	have prove || missing+=(perl)
	have pg_prove || missing+=(libtap-parser-sourcehandler-pgtap-perl)
	perl -MIPC::Run -e 1 2>/dev/null || missing+=(libipc-run-perl)
	perl -MDBD::Pg -e 1 2>/dev/null || missing+=(libdbd-pg-perl)
	/usr/bin/python3 -c 'import psycopg2' 2>/dev/null || missing+=(python3-psycopg2)
	# Debian has no pgTAP for PostgreSQL 19; see pgtap_test() of scripts/check.
	[[ $PG_VERSION == 19 || -x $PG_CONFIG && -f $("$PG_CONFIG" --sharedir)/extension/pgtap.control ]] ||
		missing+=("postgresql-$PG_VERSION-pgtap")
	if [[ $lint != no-lint ]]; then
		have cppcheck || missing+=(cppcheck)
		[[ ! -f $ROOT/.clang-format ]] || have clang-format || missing+=(clang-format)
		[[ -f /usr/share/unicode/CaseFolding.txt ]] || missing+=(unicode-data)
	fi
	[[ ! -d $ROOT/test/node ]] || find_node_pg
	# The tests of PostGraphile and of the example site need npm. One Debian
	# release is enough for these tests, and for those with a browser, with
	# WordPress and of the guide's code.
	if [[ $PG_VERSION == 15 ]]; then
		/usr/bin/python3 -c 'import django, sqlalchemy' 2>/dev/null || missing+=(python3-django python3-sqlalchemy)
		have npm || missing+=(nodejs npm)
		have chromium-headless-shell || have chromium || missing+=(chromium-headless-shell)
	fi
	[[ $BINDIR != /usr/lib/postgresql/15/bin ]] || find_wordpress
}

# ---------------------------------------------------------------------------
# Counting
# ---------------------------------------------------------------------------

# tally KIND PASSED FAILED [SKIPPED]: add the results of a step's tests
tally()
{
	local kind=$1 passed=$2 failed=$3 skipped=${4:-0}
	if ((passed + failed == 0)); then
		note "not one test of this kind ran"
		failed=1
		FAILURES+=("$kind: not one test ran")
	fi
	PASSED=$((PASSED + passed))
	FAILED=$((FAILED + failed))
	REPORT+=("$(printf '%-13s %5d passed, %d failed%s, %d s' "$kind" "$passed" "$failed" \
		"$( ((skipped == 0)) || printf ', %d skipped' "$skipped")" $((SECONDS - STEP_START)))")
}

# fault NAME: count the failure of a step that is not a test
fault()
{
	FAILED=$((FAILED + 1))
	FAILURES+=("$1")
	REPORT+=("$(printf '%-13s FAILED' "$1")")
}

# left_out WHAT REASON: report at the end what was left out
left_out()
{
	LEFT_OUT+=("$1: $2")
}

# failures LABEL [NAME...]
#
# Report failed tests of one file or kind at the end, with up to five names.
failures()
{
	local label=$1 line
	shift
	line=$label
	(($# == 0)) || line+=": $(printf '%s; ' "${@:1:5}")"
	line=${line%; }
	(($# <= 5)) || line+="; $(($# - 5)) more"
	FAILURES+=("$line")
}

# ---------------------------------------------------------------------------
# The server that tests share
# ---------------------------------------------------------------------------

show_server_log()
{
	[[ -f $WORK/server.log ]] || return 0
	note "the end of the server's log:"
	tail -n 40 "$WORK/server.log" | indent '    | '
}

start_test_server()
{
	step "Starting a server for the tests"
	"${AS_SERVER[@]}" mkdir -m 700 "$WORK/socket"
	# The socket's directory is closed to other users, so trust is safe.
	create_server "$WORK/data" --auth=trust --no-sync <<-SETTINGS
		listen_addresses = ''
		port = 5432
		unix_socket_directories = '$WORK/socket'
		wal_level = logical
		shared_preload_libraries = 'blogstore'
		max_worker_processes = 32
		max_replication_slots = 32
		max_wal_senders = 32
		fsync = off
		shared_buffers = 256MB
		log_line_prefix = '%m [%p] %b %d '
		cluster_name = 'blogstore-check'
	SETTINGS
	if ! start_server "$WORK/data" "$WORK/server.log"; then
		show_server_log
		die "the server does not start"
	fi
	SERVER_ENV=(PGHOST="$WORK/socket" PGPORT=5432 PGUSER=postgres)
}

# stop_test_server FAILED
#
# Stop the server. Count a crash as a failure. Show the server's log if more
# has failed than when the tests began.
stop_test_server()
{
	stop_server "$WORK/data"
	if grep -E 'PANIC: |TRAP: |was terminated by signal' "$WORK/server.log" | indent '    | '; then
		note "the server crashed, or a process of it"
		fault "server log"
	fi
	((FAILED == $1)) || show_server_log
}

# ---------------------------------------------------------------------------
# Running tests
# ---------------------------------------------------------------------------

# run_shown LOG FILTER COMMAND...
#
# Run a command, and show the lines of its output that match FILTER.
run_shown()
{
	local log=$1 filter=$2 status=0 shower
	shift 2
	"${AS_SERVER[@]}" touch "$log"
	start_job server "$log" "$@"
	tail -n +1 -s 0.2 --pid="$RUNNING_PID" -f "$log" 2>/dev/null |
		grep -E --line-buffered "$filter" | indent &
	shower=$!
	finish_job || status=$?
	wait "$shower" || true
	return "$status"
}

# run_regress KIND OTHER DIFFS [VARIABLE=VALUE...]
#
# Run make installcheck for one of its two kinds of test. OTHER is the variable
# of the Makefile that lists the tests of the other kind.
run_regress()
{
	local kind=$1 other=$2 diffs=$3 log=$WORK/$1.log status=0 passed failed names
	shift 3
	run_shown "$log" '^(not )?ok +[0-9]|\.\.\. (ok|FAILED|failed)|^make: .*Error|could not' \
		env "${SERVER_ENV[@]}" timeout --kill-after=60 "$LIMIT" make -C "$WORK/gcc" --no-print-directory installcheck \
		PG_CONFIG="$PG_CONFIG" COPT=-Werror "$other=" "$@" || status=$?
	read -r passed failed < <(count_regress "$log")
	if ((status != 0 && failed == 0)); then
		failed=1
	fi
	if ((failed > 0)); then
		mapfile -t names < <(names_regress "$log")
		((status != 124)) || names+=("not at its end after $LIMIT s")
		failures "$kind" "${names[@]}"
		note "make installcheck ended with status $status; the end of its output:"
		tail -n 15 "$log" | indent '    | '
		if [[ -s $WORK/gcc/$diffs ]]; then
			"${AS_SERVER[@]}" cp "$WORK/gcc/$diffs" "$WORK/$kind.diffs"
			note "$diffs:"
			head -n 400 "$WORK/gcc/$diffs" | indent '    | '
		fi
	fi
	tally "$kind" "$passed" "$failed"
}

regress_tests()
{
	step "SQL tests (pg_regress)"
	run_regress regress ISOLATION regression.diffs

	step "Isolation tests"
	run_regress isolation REGRESS output_iso/regression.diffs
}

# run_tap KIND JOBS PATTERN COMMAND...
#
# Run COMMAND, such as a verbose prove, for each file of tests separately, so
# that a file that bails out does not stop the others. JOBS files run at a
# time, in their order, or in reverse order if LAST_FIRST is set.
run_tap()
{
	local kind=$1 jobs=$2 pattern=$3 file log status passed failed skipped n seconds names
	local all_passed=0 all_failed=0 all_skipped=0 all_files reason
	shift 3
	all_files=$(cd "$WORK/gcc" && find "${pattern%/*}" -maxdepth 1 -name "${pattern##*/}" | wc -l)
	# A file is done when its status file exists.
	how_far()
	{
		local n
		n=$(find "$WORK" -maxdepth 1 -name "$kind-*.status" | wc -l)
		printf ', %d of %d files done' "$n" "$all_files"
	}
	# Each file leaves a log, and its exit status and time in a status file.
	# shellcheck disable=SC2016
	run server "$kind, $jobs at a time" "$WORK/$kind.log" env -C "$WORK/gcc" bash -c '
		kind=$1 jobs=$2 pattern=$3 work=$4
		export kind work limit=$5
		shift 5
		find "${pattern%/*}" -maxdepth 1 -name "${pattern##*/}" -print0 | sort -z ${LAST_FIRST:+-r} |
			xargs -0 -P "$jobs" -I "{}" bash -c '\''
				n=${!#}
				n=${n##*/}
				n=$work/$kind-${n%.*}
				timeout --foreground --kill-after=60 "$limit" "$@" >"$n.log" 2>&1
				echo "$? $SECONDS" >"$n.status"'\'' bash "$@" "{}"' \
		bash "$kind" "$jobs" "$pattern" "$WORK" "$LIMIT" "$@" || true
	how_far() { :; }
	while IFS= read -r file; do
		n=${file##*/}
		n=${n%.*}
		log=$WORK/$kind-$n.log
		status=1 seconds=0
		read -r status seconds 2>/dev/null <"$WORK/$kind-$n.status" || true
		[[ -f $log ]] || "${AS_SERVER[@]}" touch "$log"
		read -r passed failed skipped < <(count_tap "$log")
		reason=$(sed -nE -e 's/^1\.\.0 # *[Ss][Kk][Ii][Pp] +//p' -e 's/.*\.\. skipped: //p' "$log" | head -n 1)
		if ((status == 0 && passed + failed == 0)) && [[ -n $reason ]]; then
			skipped=1
			note "$file: skipped: $reason"
			left_out "$kind ${file##*/}" "$reason"
		fi
		if ((status != 0 && failed == 0)) || ((passed + failed + skipped == 0)); then
			failed=$((failed + 1))
		fi
		if ((failed > 0)); then
			mapfile -t names < <(names_tap "$log")
			((status != 124)) || names+=("not at its end after $LIMIT s")
			((${#names[@]} > 0)) || names=("ended with status $status")
			failures "$kind ${file##*/}" "${names[@]}"
			note "$file: FAILED; the end of its output, without what passed:"
			grep -v '^ok ' "$log" | tail -n 60 | indent '    | '
			show_tap_logs "$n"
		fi
		note "$file: $passed passed, $failed failed, $seconds s"
		while read -r n reason; do
			left_out "$kind ${file##*/}, $n tests" "$reason"
		done < <(sed -nE 's/^ok [0-9]+ # *[Ss][Kk][Ii][Pp] +//p' "$log" | sort | uniq -c)
		all_passed=$((all_passed + passed))
		all_failed=$((all_failed + failed))
		all_skipped=$((all_skipped + skipped))
	done < <(cd "$WORK/gcc" && find "${pattern%/*}" -maxdepth 1 -name "${pattern##*/}" | sort)
	tally "$kind" "$all_passed" "$all_failed" "$all_skipped"
}

# show_tap_logs NAME: show the logs that PostgreSQL::Test::Cluster wrote
show_tap_logs()
{
	local file
	for file in "$WORK/tap/tmp_check/log/regress_log_$1" "$WORK/tap/tmp_check/log/$1"_*.log; do
		[[ -f $file ]] || continue
		note "the end of ${file##*/}:"
		tail -n 40 "$file" | indent '    | '
	done
}

# prove_files KIND JOBS FILES [SETTING...]
#
# Run TAP tests that start servers of their own with PostgreSQL's Perl modules.
# SETTINGs go into their environment. A test waits for a third of its time, so
# callers run one more test at a time than there are processors.
prove_files()
{
	local kind=$1 jobs=$2 files=$3 pgxs_test template=$WORK/template
	shift 3
	pgxs_test=$(cd "${PGXS%/*}/../../src/test" && pwd)
	"${AS_SERVER[@]}" mkdir -p "$WORK/tap/tmp_check/log"
	# Each server is a copy of this template.
	[[ -e $template ]] || "${AS_SERVER[@]}" "$BINDIR/initdb" -D "$template" --auth=trust --no-sync \
		--encoding=UTF8 --locale=C.UTF-8 >/dev/null
	run_tap "$kind" "$jobs" "$files" env -C "$WORK/gcc" PG_CONFIG="$PG_CONFIG" INITDB_TEMPLATE="$template" "$@" \
		PG_REGRESS="$pgxs_test/regress/pg_regress" \
		TESTDIR="$WORK/tap" TESTDATADIR="$WORK/tap/tmp_check" TESTLOGDIR="$WORK/tap/tmp_check/log" \
		prove --verbose -I "$pgxs_test/perl" -I test/t
}

# Run the pgTAP tests, in a database of their own. pgTAP is SQL alone, so the
# package for another version of PostgreSQL will do. PostgreSQL 18 and later
# can read it from any directory.
pgtap_test()
{
	local options=
	step "pgTAP tests"
	if [[ ! -f $("$PG_CONFIG" --sharedir)/extension/pgtap.control ]]; then
		"${AS_SERVER[@]}" mkdir "$WORK/pgtap"
		run server "download of pgTAP for PostgreSQL 18" "$WORK/pgtap.log" env -C "$WORK/pgtap" sh -c '
			apt-get -q download postgresql-18-pgtap && dpkg-deb -x postgresql-18-pgtap_*.deb .' || {
			left_out pgtap "Debian has no pgTAP for PostgreSQL $PG_VERSION, and that for 18 could not be downloaded"
			return 0
		}
		options="-c extension_control_path=$WORK/pgtap/usr/share/postgresql/18:\$system"
	fi
	"${AS_SERVER[@]}" "${SERVER_ENV[@]}" "$BINDIR/createdb" pgtap
	"${AS_SERVER[@]}" "${SERVER_ENV[@]}" PGOPTIONS="$options" "$BINDIR/psql" -X -q -d pgtap -c 'CREATE EXTENSION pgtap'
	run_tap pgtap 1 'test/pgtap/*.sql' env -C "$WORK/gcc" "${SERVER_ENV[@]}" pg_prove --verbose --dbname pgtap
}

# program_test KIND FILTER PROGRAM ARGUMENT...
#
# Run a Python program of the tree. The program counts its own checks, and
# count_KIND reads the numbers from its output.
program_test()
{
	local kind=$1 filter=$2 program=$3 log=$WORK/$1.log status=0 passed failed names
	shift 3
	run_shown "$log" "$filter" env PYTHONUNBUFFERED=1 /usr/bin/python3 "$WORK/gcc/$program" \
		"$@" --pg-config "$PG_CONFIG" || status=$?
	read -r passed failed < <("count_$kind" "$log")
	if ((status != 0 && failed == 0)); then
		failed=1
	fi
	if ((failed > 0)); then
		mapfile -t names < <("names_$kind" "$log")
		failures "$kind" "${names[@]}"
		note "$program ended with status $status; the end of its output:"
		cut -c 1-400 "$log" | tail -n 80 | indent '    | '
	fi
	tally "$kind" "$passed" "$failed"
}

# ---------------------------------------------------------------------------
# Reading logs: count_KIND prints how many tests passed and failed, names_KIND
# prints the names of failed tests
# ---------------------------------------------------------------------------

# pg_regress and pg_isolation_regress print "ok 1 - name" and "not ok 1 - name"
# since PostgreSQL 16, before that "test name ... ok" and "test name ...
# FAILED".
count_regress()
{
	awk '
		/^ok +[0-9]+ +[-+] / || /\.\.\. ok( |$)/ { ok++ }
		/^not ok +[0-9]+ +[-+] / || /\.\.\. FAILED/ { failed++ }
		END { print ok + 0, failed + 0 }' "$1"
}

# Count in the output of prove -v. A subtest, whose lines are indented, counts
# as one test.
count_tap()
{
	awk '
		/^ok [0-9]+/ && /# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^1\.\.0 # *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok [0-9]+/ { ok++ }
		/^not ok [0-9]+/ && !/# *TODO/ { failed++ }
		END { print ok + 0, failed + 0, skipped + 0 }' "$1"
}

names_regress()
{
	sed -nE -e 's/^not ok +[0-9]+ +[-+] +([^ ]+).*/\1/p' -e 's/^(test)? +([^ ]+) +\.\.\. FAILED.*/\2/p' "$1"
}

names_tap()
{
	grep -E '^not ok [0-9]+' "$1" | grep -vE '# *TODO' | sed -E 's/^not ok [0-9]+( - )?//' || true
}

# test/torture prints the numbers in its last line.
count_torture()
{
	awk '/^[0-9]+ passed, [0-9]+ failed$/ { ok = $1; failed = $3 } END { print ok + 0, failed + 0 }' "$1"
}

# bench/run prints the number of checks, and a line for each problem.
count_benchmark()
{
	awk '/^[0-9]+ checks/ { checks = $1 } /^- \*\*/ { wrong++ } END { print checks - wrong + 0, wrong + 0 }' "$1"
}

count_cluster_benchmark() { count_benchmark "$1"; }

names_torture() { grep -aE '^seed [0-9]+' "$1" | head -n 1; }

names_benchmark() { sed -n 's/^- \*\*//p' "$1"; }

names_cluster_benchmark() { names_benchmark "$1"; }

# ---------------------------------------------------------------------------
# The report at the end
# ---------------------------------------------------------------------------

# Copy the logs of failed tests to a directory that outlives this command, and
# print its name.
keep_logs()
{
	local logs=${BLOGSTORE_LOG_DIR:-} file line files=("$WORK"/*.log "$WORK"/*.diffs "$WORK"/report.*)
	[[ $BUILD == "$WORK" ]] || files+=("$BUILD"/*.log)
	[[ -n $WORK && -d $WORK ]] || return 1
	[[ -n $logs ]] || logs=$(mktemp -d /tmp/blogstore-logs.XXXXXX)
	mkdir -p "$logs"
	for line in "${FAILURES[@]}"; do
		[[ ! $line =~ ^(tap|cluster)\ ([^ :]+)[.]pl ]] ||
			files+=("$WORK/tap/tmp_check/log/"{,regress_log_}"${BASH_REMATCH[2]}"*)
	done
	for file in "${files[@]}"; do
		# root must not follow the symbolic links of the servers' user.
		[[ ! -f $file ]] || "${AS_SERVER[@]}" cat "$file" >"$logs/${file##*/}"
	done
	chmod -R a+rX "$logs"
	echo "$logs"
}

# report_tests STATUS
#
# Print the totals, and what failed and was left out. STATUS is the exit status
# of the command. Returns 1 if something failed.
report_tests()
{
	local line logs
	if (($1 != 0)); then
		FAILED=$((FAILED + 1))
		FAILURES+=("not at its end: $STEP")
	fi
	step "Total, PostgreSQL ${PG_VERSION:-unknown}, after $SECONDS s"
	for line in "${REPORT[@]}"; do
		note "$line"
	done
	if ((FAILED > 0)); then
		printf '\n'
		for line in "${FAILURES[@]}"; do
			note "FAILED  $line"
		done
		if logs=$(keep_logs); then
			note "their logs are in $logs"
		fi
	fi
	if ((${#LEFT_OUT[@]} > 0)); then
		printf '\n'
		note "left out, ${#LEFT_OUT[@]} in all:"
		for line in "${LEFT_OUT[@]}"; do
			note "    $line"
		done
	fi
	printf '\n%d passed, %d failed\n' "$PASSED" "$FAILED"
	((FAILED == 0))
}
