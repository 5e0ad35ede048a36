# coverage.awk
#	Read lcov's file of counts. Print the lines of each folder of src/, and how
#	many of them ran, as a table for table.awk. Write what did not run to the
#	file "unrun": functions, and lines of functions that did run.

BEGIN { print "folder|lines|ran|percent" }

/^SF:/ { file = $0; sub(/.*\/src\//, "src/", file); folder = file; sub(/\/[^\/]*$/, "", folder) }

/^FN:/ { split(substr($0, 4), part, ","); at[part[2]] = part[1] }

/^FNDA:0,/ { name = substr($0, 8); idle[at[name]] = name }

/^FN:/ { starts[part[1]] = 1 }

# Lines come in their order, after the functions.
/^DA:/ {
	split(substr($0, 4), part, ",")
	lines[folder]++
	if (part[1] in starts) whole = part[1] in idle
	if (part[1] in idle) print file ":" part[1] ": " idle[part[1]] "()" >unrun
	if (part[2] > 0) ran[folder]++
	else if (!whole) print file ":" part[1] >unrun
}

/^end_of_record/ { delete at; delete idle; delete starts; whole = 0 }

END {
	for (folder in lines) {
		print folder "|" lines[folder] "|" ran[folder] + 0 "|" sprintf("%.1f", 100 * ran[folder] / lines[folder]) | "sort"
		all += lines[folder]
		all_ran += ran[folder]
	}
	close("sort")
	print "all|" all "|" all_ran "|" sprintf("%.1f", 100 * all_ran / all)
}
