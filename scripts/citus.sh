# shellcheck shell=bash disable=SC2034,SC2153
#
# citus.sh
#	Where a PostgreSQL with Citus comes from, for the tests of a cluster and for its
#	demonstration.

# The script that builds a PostgreSQL with Citus in a directory that it is given, and prints
# its pg_config as the last line; empty if there is none
citus_builder()
{
	local script=${BLOGSTORE_CITUS_BUILD:-$ROOT/../shared/citus/build}
	[[ -f $script && -x $script ]] || {
		[[ -z ${BLOGSTORE_CITUS_BUILD:-} ]] || die "BLOGSTORE_CITUS_BUILD is $script, which cannot be run"
		return 0
	}
	readlink -f "$script"
}

CITUS_DIR=${BLOGSTORE_CITUS_DIR:-/var/cache/blogstore/citus}

# Whether there is a Citus for a version of PostgreSQL: the one that the script builds knows no other
citus_knows()
{
	[[ $1 == 15 || $1 == 17 ]]
}

# Sets CITUS_CONFIG, the pg_config of a PostgreSQL with Citus that blogstore can be installed
# into; empty if there is none. What is built is kept as it was, for the next time and for
# others: the tests have a copy. Fails if the building does.
find_citus()
{
	local builder built top dir=$CITUS_DIR/$PG_VERSION
	CITUS_CONFIG=${BLOGSTORE_CITUS_CONFIG:-}
	if [[ -n $CITUS_CONFIG ]]; then
		have "$CITUS_CONFIG" || die "BLOGSTORE_CITUS_CONFIG is $CITUS_CONFIG, which cannot be run"
		return 0
	fi
	if [[ -f $("$PG_CONFIG" --pkglibdir)/citus.so ]]; then
		CITUS_CONFIG=$PG_CONFIG
		return 0
	fi
	builder=$(citus_builder) || return 1
	[[ -n $builder && $PG_VERSION == "$(default_version)" ]] && citus_knows "$PG_VERSION" || return 0
	need_root "build Citus in $dir"
	"${AS_ROOT[@]}" mkdir -p "$dir" || return 1
	# what the script does not see to: ICU's headers, and that Citus does not hide the functions
	# that blogstore calls, as extensions do by default from PostgreSQL 16 on
	((PG_VERSION == 15)) || install_packages libicu-dev || return 1
	forbid_clusters
	run root "Citus, in $dir" "$WORK/citus.log" flock "$dir/lock" env MAKEFLAGS="-- CFLAGS_SL_MODULE=" "$builder" "$dir" || {
		allow_clusters
		return 1
	}
	allow_clusters
	# what lies in the directory, by the path below it
	built=$(tail -n 1 "$WORK/citus.log")
	built=${built#"$(readlink -f "$dir")"/}
	top=${built%%/*}
	"${AS_SERVER[@]}" cp -r "$dir/$top" "$WORK/citus" || return 1
	CITUS_CONFIG=$WORK/citus/${built#*/}
}

# install_for_citus [BUILT]: build for that server's headers, without what its JIT would
# inline. What was built in BUILT for the very same PostgreSQL is installed as it is.
install_for_citus()
{
	local built=${1:-} version
	version=$("$PG_CONFIG" --version)
	local PG_CONFIG=$CITUS_CONFIG
	if [[ -z $built || $("$PG_CONFIG" --version) != "$version" ]]; then
		built=$WORK/for_citus
		copy_tree "$built"
		build "$built" "gcc, for the server with Citus" with_llvm=no COPT=-Werror ||
			die "gcc does not build it for the server with Citus"
	fi
	install_built "$built" with_llvm=no COPT=-Werror
}
