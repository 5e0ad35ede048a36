# blogstore: make, make install, make installcheck, make dist. installcheck
# needs a running server with shared_preload_libraries = 'blogstore' and
# wal_level = logical. To build in another folder, run there:
# make -f SOURCE/Makefile

EXTENSION = blogstore
MODULE_big = blogstore
DATA = sql/blogstore--1.0.sql
PGFILEDESC = "blogstore - blog and community store"

SOURCE := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))
# The library's version has three parts: those of the extension, and a number
# for releases that change the library alone.
BLOGSTORE_VERSION := $(shell sed -n 's/^  "version": "\(.*\)",/\1/p' $(SOURCE)/META.json)

# The order of the sources is fixed, and no path of the build is stored in the
# library. So two builds give the same bytes.
SOURCES := $(sort $(wildcard $(SOURCE)/src/*.c $(SOURCE)/src/*/*.c $(SOURCE)/src/*/*/*.c))
ifeq ($(SOURCES),)
$(error There are no sources in $(SOURCE)/src)
endif
ifneq ($(SOURCE),.)
VPATH = $(SOURCE)
endif
OBJS := $(patsubst $(SOURCE)/%.c,%.o,$(SOURCES))
PREFIX_MAP := -ffile-prefix-map=$(CURDIR)=. -ffile-prefix-map=$(abspath $(SOURCE))/=
PG_CPPFLAGS = -I$(abspath $(SOURCE))/src -DBLOGSTORE_VERSION='"$(BLOGSTORE_VERSION)"'
PG_CFLAGS = -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	-Wno-missing-field-initializers -fvisibility=hidden $(PREFIX_MAP)

REGRESS = install users username_keys posts comments indexes \
	properties hidden scheduled replies reply_counts comment_likes \
	likes user_lists pages paging cursors feed topics follows home_feed \
	counts counters idempotency \
	key_id documents import import_keys import_names import_properties import_texts import_comment_likes \
	bad_input errors limits extremes read_only privileges \
	views renames deletions \
	operation maintenance verify_repair invalid \
	triggers stats error_classes row_types custom_scan \
	doors as_caller \
	one_machine manual reinstall
REGRESS_OPTS = --inputdir=$(SOURCE)/test --encoding=UTF8

ISOLATION = isolation_install like_like like_insert like_two_keys like_edit_post comment_id username \
	like_delete_post like_snapshots serializable delete_like counter_order \
	counter_held rename_comment delete_user user_anew id_anew purge_anew \
	import_beside import_update import_likes detach_post detach_leaf detach_delete null_snapshot remember_half \
	custom_scan_update own_items hide_post reply_delete count_replies like_comments late_trigger topic_snapshots \
	follow_limit import_follows home_feed_snapshots
ISOLATION_OPTS = --inputdir=$(SOURCE)/test

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

$(OBJS): $(wildcard $(SOURCE)/src/*/*.h $(SOURCE)/src/*/*/*.h) \
	$(SOURCE)/Makefile $(SOURCE)/META.json

ifdef VPATH
$(shell mkdir -p $(sort $(dir $(OBJS))))
endif

# clang compiles each file to bitcode for JIT. Pass gcc's warning options to
# it.
BITCODE_CFLAGS += $(filter -W%,$(CFLAGS)) -Wno-unknown-warning-option $(PREFIX_MAP)

# The documents keep their folders, so that the links between them lead on.
DOCUMENTS = $(docdir)/extension/blogstore
install: install-documents
uninstall: uninstall-documents
.PHONY: install-documents uninstall-documents
install-documents:
	$(MKDIR_P) '$(DESTDIR)$(DOCUMENTS)/docs/images'
	$(INSTALL_DATA) $(addprefix $(SOURCE)/,README.md CHANGELOG.md CONTRIBUTING.md SECURITY.md LICENSE) '$(DESTDIR)$(DOCUMENTS)/'
	$(INSTALL_DATA) $(SOURCE)/docs/*.md '$(DESTDIR)$(DOCUMENTS)/docs/'
	$(INSTALL_DATA) $(SOURCE)/docs/images/* '$(DESTDIR)$(DOCUMENTS)/docs/images/'
uninstall-documents:
	rm -rf '$(DESTDIR)$(DOCUMENTS)'

# Released scripts never change. A later change needs an upgrade script.
.PHONY: check-frozen check-exports check-version dist
check-frozen:
	@cd $(SOURCE)/sql && if grep -qv '^#' frozen.sha256; \
	then sha256sum --quiet --check frozen.sha256; \
	else echo "no script was released yet"; fi

# The library exports only the symbols that the server looks up.
check-exports: all
	@$(SOURCE)/test/exports $(shlib)

# The files that name the version agree on it.
check-version:
	@$(SOURCE)/scripts/release check

# Make an archive of the release that a tag names.
TAG = v$(BLOGSTORE_VERSION)
dist:
	@$(SOURCE)/scripts/release archive $(TAG)
