# blogstore: make, make install, make installcheck. installcheck needs a
# running server with shared_preload_libraries = 'blogstore' and wal_level =
# logical.

EXTENSION = blogstore
MODULE_big = blogstore
DATA = sql/blogstore--1.0.sql
PGFILEDESC = "blogstore - blog and community store"

SOURCES = $(wildcard src/*.c src/*/*.c src/*/*/*.c)
OBJS = $(SOURCES:.c=.o)
PG_CPPFLAGS = -I$(CURDIR)/src
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -fvisibility=hidden

REGRESS = install users username_keys posts comments indexes \
	properties hidden replies \
	likes user_lists pages paging cursors feed \
	counts counters idempotency \
	key_id documents import import_keys import_names import_properties import_texts \
	bad_input errors limits extremes read_only privileges \
	views renames deletions \
	operation maintenance verify_repair invalid \
	triggers stats row_types custom_scan \
	doors as_caller \
	one_machine manual reinstall
REGRESS_OPTS = --inputdir=test --encoding=UTF8

ISOLATION = isolation_install like_like like_insert like_two_keys like_edit_post comment_id username \
	like_delete_post like_snapshots serializable delete_like counter_order \
	counter_held rename_comment delete_user user_anew id_anew purge_anew \
	import_beside import_update detach_post detach_leaf detach_delete null_snapshot remember_half \
	custom_scan_update own_items hide_post reply_delete late_trigger
ISOLATION_OPTS = --inputdir=test

EXTRA_CLEAN = output_iso results regression.diffs regression.out tmp_check

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

# pg_isolation_regress of PostgreSQL 15 looks for expected/ in its output
# directory.
installcheck: output_iso/expected

output_iso/expected:
	mkdir -p output_iso
	ln -sfn ../expected output_iso/expected

$(OBJS): $(wildcard src/*/*.h src/*/*/*.h)

# clang compiles each file to bitcode for JIT. Pass gcc's warning options to
# it.
BITCODE_CFLAGS += $(filter -W%,$(CFLAGS)) -Wno-unknown-warning-option

# Released scripts never change. A later change needs an upgrade script.
.PHONY: check-frozen check-exports
check-frozen:
	@cd sql && if grep -qv '^#' frozen.sha256; \
	then sha256sum --quiet --check frozen.sha256; \
	else echo "no script was released yet"; fi

# The library exports only the symbols that the server looks up.
check-exports: all
	@test/exports $(shlib)
