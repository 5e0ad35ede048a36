# table.awk
#	Print a table in aligned columns. Input lines are cells separated by |, and
#	the first line has the headings. Columns of numbers are right-aligned.

BEGIN { FS = "|" }

{
	for (i = 1; i <= NF; i++) {
		cell[NR, i] = $i
		if (length($i) > width[i]) width[i] = length($i)
		if (NR == 2) left[i] = "-"
		if (NR > 1 && $i ~ /^[0-9][0-9.,]*( ms)?$/) left[i] = ""
	}
	if (NF > columns) columns = NF
}

END {
	for (n = 1; n <= NR; n++) {
		line = "   "
		for (i = 1; i <= columns; i++) line = line sprintf(" %" left[i] width[i] "s  ", cell[n, i])
		sub(/ +$/, "", line)
		print line
	}
}
