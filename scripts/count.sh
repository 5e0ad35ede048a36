# shellcheck shell=bash
#
# count.sh
#	What scripts/check reads in its tests' outputs: how many passed and failed
#	(count_KIND), and the names of those that failed (names_KIND).

# pg_regress and pg_isolation_regress: "ok 1 - name", "not ok 1 - name" since
# PostgreSQL 16, "test name ... ok", "test name ... FAILED" before.
count_regress()
{
	awk '
		/^ok +[0-9]+ +[-+] / || /\.\.\. ok( |$)/ { ok++ }
		/^not ok +[0-9]+ +[-+] / || /\.\.\. FAILED/ { failed++ }
		END { print ok + 0, failed + 0 }' "$1"
}

# What prove -v shows of each file. Indented lines belong to subtests, which
# count as the one test that they make up.
count_tap()
{
	awk '
		/^ok [0-9]+/ && /# *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^1\.\.0 # *[Ss][Kk][Ii][Pp]/ { skipped++; next }
		/^ok [0-9]+/ { ok++ }
		/^not ok [0-9]+/ && !/# *TODO/ { failed++ }
		END { print ok + 0, failed + 0, skipped + 0 }' "$1"
}

# The same two, for their names
names_regress()
{
	sed -nE -e 's/^not ok +[0-9]+ +[-+] +([^ ]+).*/\1/p' -e 's/^(test)? +([^ ]+) +\.\.\. FAILED.*/\2/p' "$1"
}

names_tap()
{
	grep -E '^not ok [0-9]+' "$1" | grep -vE '# *TODO' | sed -E 's/^not ok [0-9]+( - )?//' || true
}

# The last line of test/torture
count_torture()
{
	awk '/^[0-9]+ passed, [0-9]+ failed$/ { ok = $1; failed = $3 } END { print ok + 0, failed + 0 }' "$1"
}

# What bench/run says of the answers that it has compared
count_benchmark()
{
	awk '/^[0-9]+ checks/ { checks = $1 } /^- \*\*/ { wrong++ } END { print checks - wrong + 0, wrong + 0 }' "$1"
}

names_torture() { grep -aE '^seed [0-9]+' "$1" | head -n 1; }

names_benchmark() { sed -n 's/^- \*\*//p' "$1"; }
