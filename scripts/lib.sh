# shellcheck shell=bash disable=SC2034
#
# lib.sh
#	What scripts/demo, scripts/check and scripts/bare share: packages, the
#	build, servers.
#
# Commands that need root rights run through AS_ROOT. Commands that belong to
# a server run through AS_SERVER: PostgreSQL refuses to run as root, so root
# drops to an unprivileged user there. An ordinary user keeps his identity.
#
# Scripts only read the checkout; they build in copies of it. Builds run
# through AS_BUILDER, as the user of the command, in the directory BUILD, and
# servers in the directory WORK. For an ordinary user, that is one directory.
# root has two, because root runs and installs what is in BUILD: the servers'
# user cannot write there.

set -euo pipefail

ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
JOBS=$(nproc 2>/dev/null || echo 2)

# The scripts parse the messages of other programs, so the locale is fixed. PG*
# variables of the user would lead clients to another server.
for name in ${!LC_@} ${!PG@} LANGUAGE MAKEFLAGS MAKELEVEL; do
	[[ $name == PG_CONFIG ]] || unset "$name"
done
export LANG=C.UTF-8
# The servers' user reads what root builds.
umask 022
export PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin

AS_ROOT=()
AS_SERVER=()
AS_BUILDER=()
SERVER_USER=
WORK=
BUILD=
RUNNING_PID=
RUNNING_AS=
TICKER_PID=
NO_CLUSTER_FILE=/etc/postgresql-common/createcluster.d/blogstore-scripts.conf
NO_CLUSTER_WRITTEN=

# ---------------------------------------------------------------------------
# Messages
# ---------------------------------------------------------------------------

STEP=
STEP_START=0

step()
{
	STEP=$*
	STEP_START=$SECONDS
	printf '\n==> %s\n' "$*"
}

note() { printf '    %s\n' "$*"; }

indent() { sed "/./s/^/${1:-    }/"; }

# die MESSAGE [HINT...]
die()
{
	printf '\nerror: %s\n' "$1" >&2
	shift
	local hint
	for hint; do
		printf '       %s\n' "$hint" >&2
	done
	exit 1
}

# other_option OPTION
#
# Exit with the usage() of the calling script: --help is a success, an unknown
# option an error.
other_option()
{
	case $1 in
		-h | --help) usage ;;
		*)
			usage >&2
			exit 2
			;;
	esac
	exit 0
}

# 1234567 -> 1,234,567
commas()
{
	local n=$1
	while [[ $n =~ ^([0-9]+)([0-9]{3}.*)$ ]]; do
		n=${BASH_REMATCH[1]},${BASH_REMATCH[2]}
	done
	printf '%s' "$n"
}

table() { awk -f "$ROOT/scripts/table.awk"; }

# Print the progress of the running job, for ticker(). A caller of run() may
# redefine this function.
how_far() { :; }

# ticker LABEL
#
# Print the elapsed time and the progress of a job until terminated: every
# second on a terminal, otherwise every 30 seconds.
ticker()
{
	local label=$1 start=$SECONDS sleeper=
	# End the sleep as well; it would keep this command's output open.
	trap '[[ -z $sleeper ]] || kill "$sleeper" 2>/dev/null; exit 0' TERM
	while :; do
		if [[ -t 1 ]]; then
			printf '\r    %s ... %d s%s \033[K' "$label" $((SECONDS - start)) "$(how_far)"
			sleep 1 &
			sleeper=$!
			wait "$sleeper"
		else
			sleep 30 &
			sleeper=$!
			wait "$sleeper"
			printf '    %s ... %d s%s\n' "$label" $((SECONDS - start)) "$(how_far)"
		fi
	done
}

stop_ticker()
{
	if [[ -n $TICKER_PID ]]; then
		kill "$TICKER_PID" 2>/dev/null || true
		wait "$TICKER_PID" 2>/dev/null || true
		TICKER_PID=
	fi
}

# ---------------------------------------------------------------------------
# Running
# ---------------------------------------------------------------------------

# start_job root|builder|server LOG COMMAND...
#
# Start a command in the background with its output in LOG. A builder's or
# server's command gets a session of its own, so that end_job can end it with
# all its children. A command with root rights (apt-get) is never interrupted.
# It keeps the terminal, so that sudo can ask for a password. The servers' user
# opens the log of a server's command, which is in the directory WORK: as root,
# this shell would follow a symbolic link that it finds there.
start_job()
{
	local as=$1 log=$2
	shift 2
	RUNNING_AS=$as
	case $as in
		root) "${AS_ROOT[@]}" "$@" >"$log" 2>&1 </dev/null & ;;
		builder) setsid "${AS_BUILDER[@]}" "$@" >"$log" 2>&1 </dev/null & ;;
		# shellcheck disable=SC2016
		server) setsid "${AS_SERVER[@]}" sh -c 'log=$1; shift; exec env "$@" >"$log" 2>&1 </dev/null' sh "$log" "$@" & ;;
	esac
	RUNNING_PID=$!
}

# Wait for the job, and return its exit status.
finish_job()
{
	local status=0
	wait "$RUNNING_PID" || status=$?
	RUNNING_PID=
	return "$status"
}

end_job()
{
	[[ -n $RUNNING_PID ]] || return 0
	if [[ $RUNNING_AS == root ]]; then
		note "waiting for apt-get to finish"
	else
		kill -TERM -- "-$RUNNING_PID" 2>/dev/null || true
	fi
	wait "$RUNNING_PID" 2>/dev/null || true
	RUNNING_PID=
}

# run root|builder|server LABEL LOG COMMAND...
#
# Run a long command quietly. When it fails, print the end of its output and
# return its exit status.
run()
{
	local as=$1 label=$2 log=$3 start=$SECONDS status=0
	shift 3
	ticker "$label" &
	TICKER_PID=$!
	start_job "$as" "$log" "$@"
	finish_job || status=$?
	stop_ticker
	[[ ! -t 1 ]] || printf '\r\033[K'
	if ((status == 0)); then
		note "$label: done in $((SECONDS - start)) s"
	else
		note "$label: FAILED (exit status $status) after $((SECONDS - start)) s; the end of its output:"
		tail -n 40 "$log" | indent '    | '
	fi
	return "$status"
}

# Clean up at the end of a command. The command defines on_exit, which gets the
# exit status.
cleanup()
{
	local status=$?
	trap - EXIT
	trap '' INT TERM HUP
	stop_ticker
	end_job
	allow_clusters
	on_exit "$status" || status=1
	if [[ -n $WORK ]]; then
		stop_servers_under "$WORK"
		rm -rf -- "$WORK" "$BUILD"
	fi
	exit "$status"
}

watch_exit()
{
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM
	trap 'exit 129' HUP
}

# ---------------------------------------------------------------------------
# Packages
# ---------------------------------------------------------------------------

# Print the version of PostgreSQL that this distribution ships. scripts/bare
# adds a newer version to Debian's next release, by this file of preferences.
default_version()
{
	local codename=
	if [[ -r /etc/os-release ]]; then
		# shellcheck source=/dev/null
		codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
	fi
	case $codename in
		bookworm) echo 15 ;;
		trixie) echo 17 ;;
		forky | sid) sed -n 's/^Package: src:postgresql-\([0-9]\+\)$/\1/p' /etc/apt/preferences.d/postgresql 2>/dev/null |
			grep . || echo 18 ;;
		*) apt-cache depends postgresql 2>/dev/null |
			sed -n 's/^ *Depends: postgresql-\([0-9]\+\)$/\1/p' | head -n 1 ;;
	esac
}

have() { command -v "$1" >/dev/null 2>&1; }

# need_root PURPOSE
#
# Set AS_ROOT. sudo asks for a password here, and not later in the middle of
# other output.
need_root()
{
	((${#AS_ROOT[@]} == 0)) || return 0
	if [[ $(id -u) == 0 ]]; then
		AS_ROOT=(env)
		return 0
	fi
	have sudo || die "root rights are needed to $1, and sudo is not here" \
		"Run this command as root, or install sudo and allow $(id -un) to use it."
	if [[ -t 0 ]]; then
		note "root rights are needed to $1"
		sudo -v || die "sudo gave no root rights"
	else
		sudo -n true 2>/dev/null || die "root rights are needed to $1; sudo wants a password, and there is no terminal to ask on" \
			"Run this command from a terminal, or as root."
	fi
	AS_ROOT=(sudo env)
}

# Debian's packages create and start a cluster when a server is installed for
# the first time. The scripts need no such cluster, so they forbid it while
# they install packages. Further, apt_get sets RUNLEVEL=1, which keeps the
# packages from starting clusters that the machine's owner has stopped.
forbid_clusters()
{
	NO_CLUSTER_WRITTEN=yes
	"${AS_ROOT[@]}" mkdir -p "${NO_CLUSTER_FILE%/*}"
	"${AS_ROOT[@]}" sh -c "echo 'create_main_cluster = false' > $NO_CLUSTER_FILE"
}

allow_clusters()
{
	[[ -n $NO_CLUSTER_WRITTEN ]] || return 0
	"${AS_ROOT[@]}" rm -f "$NO_CLUSTER_FILE"
	NO_CLUSTER_WRITTEN=
}

# A script for sh; its arguments are a command of apt-get. apt-get waits while
# another process installs packages, but fails at once while another process
# updates the lists of packages, as the system's daily update does. The script
# then tries again, for up to five minutes.
# shellcheck disable=SC2016
APT_GET_PATIENT='
	out=$(mktemp) tries=150
	trap "rm -f $out" EXIT
	while
		LC_ALL=C.UTF-8 "$@" >"$out" 2>&1
		status=$?
		[ "$status" -ne 0 ] && grep -q "Could not get lock .*/lists/lock" "$out" && [ "$tries" -gt 0 ]
	do
		tries=$((tries - 1))
		sleep 2
	done
	cat "$out"
	exit "$status"'

apt_get()
{
	local label=$1 log
	shift
	log=$(mktemp)
	if ! run root "$label" "$log" DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 sh -c "$APT_GET_PATIENT" sh \
		apt-get -q -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 "$@"; then
		rm -f "$log"
		die "$label failed" "Is the package mirror within reach? The packages can also be installed by hand."
	fi
	rm -f "$log"
}

# announce TIME [PACKAGE...]
#
# Say, before anything is done, how long the command takes and what it leaves
# in the system.
announce()
{
	local time=$1
	shift
	step "This takes $time."
	if (($# > 0)); then
		note "These packages are missing, are installed into this system by apt-get, and stay there:"
		note "$*"
	else
		note "No package is missing: none is installed."
	fi
	note "blogstore itself is installed into $BINDIR/.., and stays there, too."
}

install_packages()
{
	step "Installing what is missing: $*"
	have apt-get || die "this command installs packages with apt-get, and apt-get is not here" \
		"Install what corresponds to these packages of Debian, then run it again: $*"
	need_root "install packages"
	apt_get "apt-get update" update
	if [[ " $* " =~ \ postgresql-([0-9]+|all)\  ]]; then
		apt_get "apt-get install postgresql-common" install --no-install-recommends postgresql-common
		forbid_clusters
	fi
	apt_get "apt-get install" install --no-install-recommends "$@"
	allow_clusters
}

# setup demo|check [TIME [no-lint]]
#
# Find PostgreSQL and the tools, announce TIME if it is given, install missing
# packages, and choose the user that servers run as. Sets PG_CONFIG, BINDIR,
# PGXS, PG_VERSION and SERVER_USER.
setup()
{
	local purpose=$1 time=${2:-} lint=${3:-} missing=()

	if [[ -n ${PG_CONFIG:-} ]]; then
		have "$PG_CONFIG" || die "PG_CONFIG is $PG_CONFIG, which cannot be run"
		PG_CONFIG=$(command -v "$PG_CONFIG")
		PG_VERSION=$("$PG_CONFIG" --version | sed 's/^[^0-9]*\([0-9]\+\).*/\1/')
		BINDIR=$("$PG_CONFIG" --bindir)
		PGXS=$("$PG_CONFIG" --pgxs)
		[[ -x $BINDIR/postgres ]] || die "there is no server in $BINDIR, where PG_CONFIG points"
		[[ -f $PGXS ]] || die "there is no $PGXS: the server's development files are missing"
	else
		PG_VERSION=$(default_version)
		[[ -n $PG_VERSION ]] || die "cannot tell which PostgreSQL belongs to this system" \
			"Set PG_CONFIG to the pg_config of a PostgreSQL of version 15 or later."
		BINDIR=/usr/lib/postgresql/$PG_VERSION/bin
		PG_CONFIG=$BINDIR/pg_config
		PGXS=/usr/lib/postgresql/$PG_VERSION/lib/pgxs/src/makefiles/pgxs.mk
		[[ -x $BINDIR/postgres ]] || missing+=("postgresql-$PG_VERSION")
		[[ -f $PGXS && -x $PG_CONFIG ]] || missing+=("postgresql-server-dev-$PG_VERSION")
	fi
	have gcc || missing+=(gcc)
	have make || missing+=(make)
	[[ -f /usr/include/stdio.h ]] || missing+=(libc6-dev)
	[[ $purpose != check ]] || find_test_tools "$lint"
	[[ -z $time ]] || announce "$time" "${missing[@]}"
	((${#missing[@]} == 0)) || install_packages "${missing[@]}"

	case $PG_VERSION in
		1[5-9] | [2-9][0-9]) ;;
		*) die "PostgreSQL $PG_VERSION is too old: 15 is the oldest that blogstore runs on" ;;
	esac
	choose_server_user
	note "$("$BINDIR/postgres" --version) in $BINDIR, servers run as user $SERVER_USER"
}

# ---------------------------------------------------------------------------
# Users and directories
# ---------------------------------------------------------------------------

choose_server_user()
{
	if [[ $(id -u) != 0 ]]; then
		SERVER_USER=$(id -un)
		return 0
	fi
	for SERVER_USER in postgres nobody; do
		! id "$SERVER_USER" >/dev/null 2>&1 || return 0
	done
	die "PostgreSQL does not run as root, and there is no user postgres to run it" \
		"Create one (adduser --system --group postgres), or run this command as an ordinary user."
}

# use_directory DIR: set AS_SERVER, with DIR as home of the unprivileged user.
use_directory()
{
	AS_SERVER=(env -C "$1" HOME="$1" USER="$SERVER_USER" LOGNAME="$SERVER_USER" TMPDIR="$1/tmp"
		PATH="$BINDIR:$PATH")
	if [[ $(id -u) == 0 ]]; then
		AS_SERVER=(setpriv --reuid="$SERVER_USER" --regid="$(id -g "$SERVER_USER")" --init-groups
			"${AS_SERVER[@]}")
	fi
	# In a directory of the servers' user, root must follow no symbolic link.
	[[ -d $1 ]] || mkdir -p "$1"
	if [[ $(id -u) == 0 ]]; then
		chown -h "$SERVER_USER:" "$1"
	fi
	"${AS_SERVER[@]}" mkdir -p "$1/tmp"
}

# make_workdir NAME
#
# Make the directories WORK and BUILD, which cleanup removes, and set AS_SERVER
# and AS_BUILDER. WORK's name is short, because a socket's path is limited to
# 107 characters.
make_workdir()
{
	local base=${TMPDIR:-/tmp}
	if ((${#base} > 40)) || [[ $(id -u) == 0 ]]; then
		base=/tmp
	fi
	WORK=$(mktemp -d "$base/blogstore-$1.XXXXXX")
	BUILD=$WORK
	use_directory "$WORK"
	AS_BUILDER=("${AS_SERVER[@]}")
	if [[ $(id -u) == 0 ]]; then
		BUILD=$(mktemp -d "$base/blogstore-$1-build.XXXXXX")
		chmod 755 "$BUILD"
		mkdir "$BUILD/tmp"
		AS_BUILDER=(env -C "$BUILD" HOME="$BUILD" TMPDIR="$BUILD/tmp" PATH="$BINDIR:$PATH")
	fi
}

# ---------------------------------------------------------------------------
# Building
# ---------------------------------------------------------------------------

# copy_tree DIR: copy the checkout, without .git and build products
copy_tree()
{
	"${AS_BUILDER[@]}" mkdir -p "$1"
	tar -C "$ROOT" --exclude=./.git --exclude=./results --exclude=./output_iso --exclude=./tmp_check \
		--exclude=./log --exclude=./blogstore-packages --exclude='./blogstore-*.zip' --exclude=node_modules --exclude='*.o' --exclude='*.so' --exclude='*.bc' -cf - . |
		"${AS_BUILDER[@]}" tar -C "$1" --no-same-owner --no-same-permissions -xf -
	"${AS_BUILDER[@]}" chmod -R u+rwX,go+rX,go-w "$1"
}

# build DIR LABEL [VARIABLE=VALUE...]
build()
{
	local dir=$1 label=$2
	shift 2
	run builder "$label" "$BUILD/make.log" make -s -C "$dir" -j "$JOBS" PG_CONFIG="$PG_CONFIG" "$@"
}

# install_built DIR [VARIABLE=VALUE...]
#
# Run make install. The variables have to be those of the build; otherwise
# make would build again, with root rights.
install_built()
{
	local dir=$1
	shift
	local as=root
	if [[ -w $("$PG_CONFIG" --pkglibdir) && -w $("$PG_CONFIG" --sharedir)/extension ]]; then
		as=builder
	else
		need_root "install the extension into $("$PG_CONFIG" --pkglibdir)"
	fi
	run "$as" "make install" "$BUILD/install.log" make -s -C "$dir" install PG_CONFIG="$PG_CONFIG" "$@" ||
		die "the extension could not be installed"
}

# hand_over NAME
#
# Give the servers' user a copy of BUILD/NAME, as WORK/NAME. Tests write there.
hand_over()
{
	[[ $BUILD == "$WORK" ]] ||
		"${AS_SERVER[@]}" cp -r --preserve=timestamps "$BUILD/$1" "$WORK/$1"
}

# ---------------------------------------------------------------------------
# Servers
# ---------------------------------------------------------------------------

# create_server DATA [INITDB OPTION...]
#
# Run initdb, and append standard input to postgresql.conf.
create_server()
{
	local data=$1 log
	shift
	log=$(mktemp)
	if ! "${AS_SERVER[@]}" "$BINDIR/initdb" -D "$data" -U postgres --encoding=UTF8 --locale=C.UTF-8 \
		"$@" >"$log" 2>&1 </dev/null; then
		indent '    | ' <"$log"
		die "initdb failed"
	fi
	rm -f "$log"
	"${AS_SERVER[@]}" tee -a "$data/postgresql.conf" >/dev/null
}

# start_server DATA LOG: start a server, and return pg_ctl's exit status
start_server()
{
	# The server must not hold this command's output open.
	"${AS_SERVER[@]}" "$BINDIR/pg_ctl" -D "$1" -l "$2" -w -t 180 -s start >/dev/null 2>&1 </dev/null
}

# stop_server DATA [MODE]
stop_server()
{
	[[ -f $1/postmaster.pid ]] || return 0
	"${AS_SERVER[@]}" "$BINDIR/pg_ctl" -D "$1" -m "${2:-fast}" -w -t 180 -s stop >/dev/null 2>&1 ||
		"${AS_SERVER[@]}" "$BINDIR/pg_ctl" -D "$1" -m immediate -w -t 30 -s stop >/dev/null 2>&1 || true
}

# Stop every server whose data directory lies under DIR.
stop_servers_under()
{
	local pid_file
	[[ -d $1 && -n ${BINDIR:-} ]] || return 0
	while IFS= read -r pid_file; do
		stop_server "${pid_file%/*}" immediate
	done < <(find "$1" -name postmaster.pid 2>/dev/null)
}

# free_port FIRST
#
# Print the first port from FIRST on to which no process listens.
free_port()
{
	local port
	for ((port = $1; port < $1 + 200; port++)); do
		if ! (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
			echo "$port"
			return 0
		fi
	done
	return 1
}
