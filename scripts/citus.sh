# shellcheck shell=bash disable=SC2034,SC2153
#
# citus.sh
#	Find or build a PostgreSQL with Citus, for the tests of a cluster and for
#	the demonstration of a cluster.

# Print the path of the script that builds a PostgreSQL with Citus; nothing if
# there is no such script. The script's argument is the directory to build in,
# and the last line of its output is the path of pg_config.
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

# Return whether the version of Citus that the script builds supports a version
# of PostgreSQL.
citus_knows()
{
	[[ $1 == 15 || $1 == 17 ]]
}

# Set CITUS_CONFIG to the pg_config of a PostgreSQL with Citus into which
# blogstore can be installed; to nothing if there is none. Return an error if
# the build fails. The build stays in CITUS_DIR, without blogstore, for later
# calls and other checkouts. Callers get a copy of it in BUILD.
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
	# PostgreSQL 16 and later compile extensions with hidden symbols by
	# default. Without that flag, blogstore can call functions of Citus. The
	# script does not install ICU's headers.
	((PG_VERSION == 15)) || install_packages libicu-dev || return 1
	forbid_clusters
	run root "Citus, in $dir" "$BUILD/citus.log" flock "$dir/lock" env MAKEFLAGS="-- CFLAGS_SL_MODULE=" "$builder" "$dir" || {
		allow_clusters
		return 1
	}
	allow_clusters
	# Copy the top-level directory that holds the pg_config.
	built=$(tail -n 1 "$BUILD/citus.log")
	built=${built#"$(readlink -f "$dir")"/}
	top=${built%%/*}
	"${AS_BUILDER[@]}" cp -r "$dir/$top" "$BUILD/citus" || return 1
	CITUS_CONFIG=$BUILD/citus/${built#*/}
}

# install_for_citus [BUILT]
#
# Install blogstore into CITUS_CONFIG's server, without bitcode. If BUILT holds
# a build for the same major version of PostgreSQL, that build is installed:
# all its minor versions run one library. Otherwise blogstore is built for the
# server's headers.
install_for_citus()
{
	local built=${1:-} version
	version=$("$PG_CONFIG" --version)
	local PG_CONFIG=$CITUS_CONFIG
	if [[ -z $built || $("$PG_CONFIG" --version) != "${version%%.*}."* ]]; then
		built=$BUILD/for_citus
		copy_tree "$built"
		build "$built" "gcc, for the server with Citus" with_llvm=no COPT=-Werror ||
			die "gcc does not build it for the server with Citus"
	fi
	install_built "$built" with_llvm=no COPT=-Werror
}
