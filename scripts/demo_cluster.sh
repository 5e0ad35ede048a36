# shellcheck shell=bash disable=SC2034,SC2153
#
# demo_cluster.sh
#	scripts/demo --cluster: a coordinator and two nodes on this machine, set
#	up by the commands that docs/CLUSTER.md has for three machines.
#
# The servers connect to each other through sockets in a directory that is
# closed to other users. On three machines they use host names and passwords.

MEMBERS=(coordinator node1 node2)
declare -A MEMBER_PORT
WRITERS=()

need_citus()
{
	step "PostgreSQL with Citus"
	find_citus || die "Citus could not be built"
	[[ -n $CITUS_CONFIG ]] || die "there is no PostgreSQL with Citus 13, and it is no part of Debian" \
		"docs/CLUSTER.md has the commands that build it from its source, under \"Setting up\", for PostgreSQL 15 and 17." \
		"Then say where it is: BLOGSTORE_CITUS_CONFIG=/usr/lib/postgresql/15/bin/pg_config scripts/demo --cluster" \
		"BLOGSTORE_CITUS_BUILD can name a script that builds one in the directory it is given, and prints its pg_config."
	note "Citus in $("$CITUS_CONFIG" --pkglibdir)"
	install_for_citus
	# From here on, use the programs of that server.
	PG_CONFIG=$CITUS_CONFIG
	BINDIR=$("$PG_CONFIG" --bindir)
	use_directory "$WORK"
}

# typed MEMBER COMMAND: print a shell command with the member as prompt
typed() { note "$1\$ $2"; }

start_members()
{
	local member port=55432 settings
	"${AS_SERVER[@]}" mkdir -m 700 "$WORK/s"
	for member in "${MEMBERS[@]}"; do
		port=$(free_port "$port") || die "there is no free port"
		MEMBER_PORT[$member]=$port
		settings="shared_preload_libraries = 'citus, blogstore'
wal_level = logical
max_prepared_transactions = 200
max_worker_processes = 32
max_replication_slots = 32
max_wal_senders = 32"
		! "$BINDIR/postgres" --describe-config 2>/dev/null | grep -q '^output_plugin_libraries' ||
			settings+="
output_plugin_libraries = 'pgoutput, citus'"
		create_server "$WORK/$member" --auth=trust <<SETTINGS
$settings
port = $port
listen_addresses = ''
unix_socket_directories = '$WORK/s'
citus.local_hostname = '$WORK/s'
citus.node_conninfo = 'sslmode=prefer'
shared_buffers = 64MB
cluster_name = 'blogstore-demo-$member'
SETTINGS
		start_server "$WORK/$member" "$WORK/$member.log" || {
			tail -n 20 "$WORK/$member.log" | indent '    | '
			die "the server $member does not start"
		}
		port=$((port + 1))
	done
	note "postgresql.conf of each:"
	indent '      ' <<<"$settings"
}

member_psql()
{
	local member=$1
	shift
	"${AS_SERVER[@]}" PGOPTIONS='-c client_min_messages=warning' "$BINDIR/psql" -X -v ON_ERROR_STOP=1 \
		-h "$WORK/s" -p "${MEMBER_PORT[$member]}" -U postgres -d site "$@"
}

# at MEMBER SQL: print a statement, run it, and print its result
at()
{
	note "$1=# ${2//$WORK\/s/sockets};"
	member_psql "$1" -q -P footer=off -c "$2" | indent '      '
}

# on MEMBER SQL: print the one value that a query returns
on() { member_psql "$1" -qAt -c "$2"; }

members_become_cluster()
{
	local member
	for member in "${MEMBERS[@]}"; do
		typed "$member" "createdb site && psql site"
		"${AS_SERVER[@]}" "$BINDIR/createdb" -h "$WORK/s" -p "${MEMBER_PORT[$member]}" -U postgres site
		at "$member" "CREATE EXTENSION citus"
	done
	at coordinator "SELECT citus_set_coordinator_host('$WORK/s', ${MEMBER_PORT[coordinator]})"
	for member in node1 node2; do
		at coordinator "SELECT citus_add_node('$WORK/s', ${MEMBER_PORT[$member]})"
	done
	at coordinator "CREATE EXTENSION blogstore"
	at coordinator "CREATE ROLE blog LOGIN"
	at coordinator "CREATE ROLE site LOGIN"
	at coordinator "SELECT blogstore.create_containers(8, owner => 'blog')"
	for member in "${MEMBERS[@]}"; do
		at "$member" "SET citus.enable_ddl_propagation = off; SELECT blogstore.grant_requests('site'); GRANT EXECUTE ON FUNCTION blogstore.node_of TO site"
	done
}

fill_cluster()
{
	at coordinator "SELECT count(blogstore.create_user('user ' || n)) AS users FROM generate_series(1, 20) n"
	at node1 "SELECT count(blogstore.create_post(u.user_id, 'Title ' || n, 'Content ' || n)) AS posts FROM blogstore.usernames u, generate_series(1, 10) n"
	at node2 "SELECT count(blogstore.create_like(p.post_id, u.user_id)) AS likes FROM blogstore.list_feed(50) p, blogstore.usernames u"
	at coordinator "SELECT blogstore.wait_for_views()"
	at coordinator "SELECT nodeport, count(*) AS shards FROM citus_shards WHERE table_name = 'blogstore.posts'::regclass GROUP BY 1 ORDER BY 1"
}

ask_members()
{
	local member post author
	post=$(on coordinator "SELECT post_id FROM blogstore.posts WHERE type = 'post' ORDER BY id LIMIT 1")
	author=$(on coordinator "SELECT user_id FROM blogstore.get_post('$post')")
	for member in "${MEMBERS[@]}"; do
		at "$member" "SELECT title, user_username, like_count FROM blogstore.get_post('$post')"
		at "$member" "SELECT count(*) AS posts FROM blogstore.list_user_posts('$author')"
		at "$member" "SELECT title, like_count FROM blogstore.list_feed(2)"
		at "$member" "SELECT * FROM blogstore.node_of('$post')"
	done
	POST=$post
}

# start_writer MEMBER
#
# Write comments through a member in the background until the file "stop"
# exists. The file told.MEMBER gets a line for each acknowledged comment.
start_writer()
{
	local member=$1
	member_psql "$member" -qAt >"$BUILD/told.$member" 2>"$BUILD/failed.$member" < <(
		until [[ -e $BUILD/stop ]]; do
			printf "SELECT 'told' FROM blogstore.create_comment('%s', (SELECT user_id FROM blogstore.usernames LIMIT 1), 'from %s');\n" "$POST" "$member"
			sleep 0.02
		done) &
	WRITERS+=($!)
}

move_beside_writers()
{
	local member told=0 from to shard writer failed=
	for member in "${MEMBERS[@]}"; do start_writer "$member"; done
	for member in "${MEMBERS[@]}"; do
		# Wait until each writer has written a comment, or failed.
		until [[ -s $BUILD/told.$member || -s $BUILD/failed.$member ]]; do sleep 0.1; done
	done
	shard=$(on coordinator "SELECT get_shard_id_for_distribution_column('blogstore.posts', '$POST')")
	from=$(on coordinator "SELECT port FROM blogstore.node_of('$POST')")
	to=${MEMBER_PORT[node1]}
	[[ $from != "$to" ]] || to=${MEMBER_PORT[node2]}
	note "(three clients, one at each member, comment on this post meanwhile)"
	at coordinator "SELECT citus_move_shard_placement($shard, '$WORK/s', $from, '$WORK/s', $to, shard_transfer_mode => 'force_logical')"
	for member in "${MEMBERS[@]}"; do at "$member" "SELECT * FROM blogstore.node_of('$POST')"; done
	touch "$BUILD/stop"
	for writer in "${WRITERS[@]}"; do wait "$writer" || failed=yes; done
	WRITERS=()
	for member in "${MEMBERS[@]}"; do
		[[ ! -s $BUILD/failed.$member ]] || { indent '    | ' <"$BUILD/failed.$member"; failed=yes; }
		told=$((told + $(wc -l <"$BUILD/told.$member")))
	done
	[[ -z $failed ]] || die "a client met an error"
	at node1 "SELECT comment_count, like_count FROM blogstore.get_post('$POST')"
	note "clients were told of $told comments"
	((told > 0)) || die "no client was told of a comment"
	[[ $(on node2 "SELECT comment_count FROM blogstore.get_post('$POST')") == "$told" ]] || die "not as many are counted"
}

verify_cluster()
{
	at coordinator "SELECT blogstore.wait_for_views()"
	at coordinator "SELECT * FROM blogstore.verify()"
	[[ $(on coordinator "SELECT count(*) FROM blogstore.verify()") == 0 ]] || die "verify() found discrepancies"
}

run_cluster_demo()
{
	local start member
	POST=
	[[ -z ${BLOGSTORE_CITUS_CONFIG:-} ]] || PG_CONFIG=$BLOGSTORE_CITUS_CONFIG
	watch_exit
	setup demo "5 to 15 minutes"
	make_workdir cluster
	need_citus
	start=$SECONDS
	step "Three servers on this machine: a coordinator and two nodes"
	start_members
	step "One cluster, with blogstore's containers spread over it"
	members_become_cluster
	step "Some users, posts and likes, written from all three"
	fill_cluster
	step "The same requests, asked of each"
	ask_members
	step "A shard moves to the other node"
	move_beside_writers
	step "Checking everything"
	verify_cluster
	step "Stopping the servers, and removing their data"
	for member in "${MEMBERS[@]}"; do stop_server "$WORK/$member"; done
	note "the demo took $((SECONDS - start)) s, set-up aside; docs/CLUSTER.md has the same for three machines"
}
