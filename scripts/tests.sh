# shellcheck shell=bash disable=SC2034,SC2153
#
# tests.sh
#	Find the packages that tests need, run tests, and count their results, for
#	scripts/check.

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
		have chromium || missing+=(chromium)
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

# run_regress KIND OTHER DIFFS
#
# Run make installcheck for one of its two kinds of test. OTHER is the variable
# of the Makefile that lists the tests of the other kind.
run_regress()
{
	local kind=$1 other=$2 diffs=$3 log=$WORK/$1.log status=0 passed failed names
	run_shown "$log" '^(not )?ok +[0-9]|\.\.\. (ok|FAILED|failed)|^make: .*Error|could not' \
		env "${SERVER_ENV[@]}" timeout --kill-after=60 "$LIMIT" make -C "$WORK/gcc" --no-print-directory installcheck \
		PG_CONFIG="$PG_CONFIG" COPT=-Werror "$other=" || status=$?
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
