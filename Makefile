# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# GNU make. Sources are found by their place in the tree: a new file needs no change here.
#
#   V=1          show the commands
#   SAN=1        AddressSanitizer and UBSan, in build/san
#   TSAN=1       ThreadSanitizer, in build/tsan
#   CC=clang     another compiler
#   BUILD=dir    another build directory
#   HOSTCC=gcc   the compiler of this machine, where CC is that of another
#   FRONTS=...   only these of verbs, trace and fabric besides the library; FRONTS= none of them
#   LAYERS=...   only these folders of user/ in the library
#   ONLY=...     check: only the tests whose path contains one of these words
#   RING=...     check, tsan, hostile, faults: with this ring, io_uring or epoll, or with io_uring answered by this error

, := ,
VERSION := 0.1.0
SONAME := libxiwarp.so.0

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules
SHELL := /bin/bash

ifeq ($(origin CC),default)
CC := gcc
endif
HOSTCC ?= gcc
# FUZZ=1 is how `make fuzz` builds: the sanitizers and libFuzzer's coverage, in build/fuzz.
CLANG ?= clang
BPFTOOL ?= $(or $(wildcard /usr/sbin/bpftool),bpftool)
CLANG_FORMAT ?= clang-format

BUILD ?= build
B := $(BUILD)$(if $(SAN),/san)$(if $(TSAN),/tsan)$(if $(FUZZ),/fuzz)

PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
INCLUDEDIR ?= $(PREFIX)/include

ifeq ($(V),1)
Q :=
say := @:
else
Q := @
say = @printf '  %-7s %s\n'
endif

# What is built says nothing of the directory where it was built. gcc's LTO writes $PWD as it is, and a random number.
NOWHERE = $(if $(filter /%,$(B)),-ffile-prefix-map=$(B)=build) '-ffile-prefix-map=$(CURDIR)=.' \
	-ffile-prefix-map=/proc/self/cwd=.
cc = PWD=/proc/self/cwd $(CC)

# No pkg-config and no compiler is asked while this file is read: on a bare machine tools/setup runs first.
# Another compiler warns of other things: only CI asks that there be none.
WARNINGS := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
	-Wno-sign-compare $(if $(WERROR),-Werror)
SANFLAGS := $(if $(SAN)$(FUZZ),-fsanitize=address$(,)undefined -fno-sanitize-recover=undefined \
	-fno-omit-frame-pointer) $(if $(FUZZ),-fsanitize=fuzzer-no-link) $(if $(TSAN),-fsanitize=thread)
CPPFLAGS_ALL = $(if $(SAN)$(FUZZ)$(TSAN),-DXIW_CHECKS) -Iinclude -Iuser -I. -I$(B)/bpf -D_GNU_SOURCE -DXIW_VERSION='"$(VERSION)"' $(CPPFLAGS)
CFLAGS ?= -O2 -g
CFLAGS_ALL = -std=gnu11 $(WARNINGS) -fPIC -fvisibility=hidden $(NOWHERE) $(CFLAGS) $(SANFLAGS)
LDFLAGS_ALL = -pthread -Wl,--as-needed $(NOWHERE) $(SANFLAGS) $(LDFLAGS)
LIBS := -lxdp -lbpf -luring
TOOL_LIBS := $(LIBS) -ljson-c -lcrypto -lm
TEST_LIBS := -lcriterion -lisal $(TOOL_LIBS)

# Kernel headers of the host's architecture: <linux/types.h> needs <asm/types.h>.
# clang 19 no longer knows -print-multiarch, and has a vendor in the name of the machine.
SYSROOT = $(patsubst %/,%,$(shell $(CC) -print-sysroot 2>/dev/null))
MULTIARCH = $(shell $(CC) -print-multiarch 2>/dev/null || $(CC) -dumpmachine | sed 's/-\(pc\|unknown\)-/-/')
BPF_CFLAGS = -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Wno-unused-parameter -Wno-sign-compare \
	$(if $(WERROR),-Werror) $(NOWHERE) \
	-Iinclude -Ibpf -I. -idirafter $(SYSROOT)/usr/include/$(MULTIARCH)

# ---- what there is ---------------------------------------------------------------------------------

# Other interfaces above the library, and what they share (host). They are no part of the library.
ALL_FRONTS := verbs trace fabric
FRONTS ?= $(ALL_FRONTS)
LAYERS ?= $(filter-out host $(ALL_FRONTS),$(notdir $(patsubst %/,%,$(wildcard user/*/))))

LIB_SRC := $(sort $(foreach l,$(LAYERS),$(wildcard user/$l/*.c)))
TRACE_SRC := $(sort $(wildcard user/trace/*.c))
VERBS_SRC := $(sort $(wildcard user/verbs/*.c))
FABRIC_SRC := $(sort $(wildcard user/fabric/*.c))
HOST_SRC := $(sort $(wildcard user/host/*.c))
FRONT_SRC := $(sort $(foreach f,host $(FRONTS),$(wildcard user/$f/*.c)))
BPF_SRC := $(sort $(wildcard bpf/*.bpf.c))
TOOL_SRC := $(sort $(wildcard tools/xiwarp/*.c))
EXAMPLE_SRC := $(sort $(wildcard tools/example_*.c))
UNIT_SRC := $(sort $(wildcard tests/unit/test_*.c))
UNIT_COMMON_SRC := $(filter-out $(UNIT_SRC),$(sort $(wildcard tests/unit/*.c)))
BPFTEST_SRC := $(sort $(wildcard tests/bpf/test_*.c))
BPFTEST_COMMON_SRC := $(filter-out $(BPFTEST_SRC) %.bpf.c,$(sort $(wildcard tests/bpf/*.c)))
NET_BPF_SRC := $(sort $(wildcard tests/net/*/*.bpf.c tests/bpf/*.bpf.c tests/bench/*.bpf.c))
# In a folder of tests/net a source with main() is a program. The others become the archive of the folder, and a program
# is linked with what it needs from the archives of its own folder and of lib.
# What is compiled by a test itself is named mpi_*.c or rnic_*.c.
# A front's own are named so: verbs_*.c, attributes_verbs.c.
NET_C := $(filter-out %.bpf.c tests/net/programs/mpi_% tests/net/programs/rnic_% \
	$(foreach f,$(filter-out $(FRONTS),$(ALL_FRONTS)),$(wildcard tests/net/*/$f_*.c tests/net/*/$f.c \
	tests/net/*/attributes_$f.c)) $(if $(filter fabric,$(FRONTS)),,%/attributes_hints.c),\
	$(sort $(wildcard tests/net/*/*.c)))
NET_SRC := $(shell grep -l '^int main\b' $(NET_C) /dev/null)
NET_PART_SRC := $(filter-out $(NET_SRC),$(NET_C))
NET_ROOMS := $(patsubst tests/net/%/,%,$(sort $(dir $(NET_C))))
BENCH_SRC := $(filter-out %.bpf.c,$(sort $(wildcard tests/bench/*.c)))
# With libibverbs and librdmacm, for vmtest only.
SIW_SRC := $(sort $(wildcard tests/siw/*.c))
FUZZ_SRC := $(sort $(wildcard tests/fuzz/fuzz_*.c))
FUZZ_REPLAY_SRC := tests/fuzz/replay.c
TSAN_SRC := $(sort $(wildcard tests/tsan/test_*.c))
HANDOFF_SRC := $(sort $(wildcard tests/fuzz/handoff_*.c))
FUZZ_COMMON_SRC := $(filter-out $(FUZZ_SRC) $(FUZZ_REPLAY_SRC) $(HANDOFF_SRC),\
	$(sort $(wildcard tests/fuzz/*.c tests/bpf/ref*.c)))
C_SRC := $(LIB_SRC) $(FRONT_SRC) $(TOOL_SRC) $(EXAMPLE_SRC) $(UNIT_SRC) $(UNIT_COMMON_SRC) $(BPFTEST_SRC) \
	$(BPFTEST_COMMON_SRC) $(NET_C) $(BENCH_SRC) $(FUZZ_SRC) $(FUZZ_REPLAY_SRC) $(FUZZ_COMMON_SRC) \
	$(HANDOFF_SRC) $(TSAN_SRC)

obj = $(patsubst %.c,$(B)/obj/%.o,$1)

LIB_A := $(B)/libxiwarp.a
LIB_SO := $(B)/libxiwarp.so.$(VERSION)
HOST_A := $(B)/libxiw-host.a
VERBS_SO := $(if $(filter verbs,$(FRONTS)),$(B)/libxiw-verbs.so)
TRACE_SO := $(if $(filter trace,$(FRONTS)),$(B)/libxiw-trace.so)
# libfabric looks for names that end so.
FABRIC_SO := $(if $(filter fabric,$(FRONTS)),$(B)/libxiw-fi.so)
PC := $(B)/xiwarp.pc
BPF_OBJ := $(if $(BPF_SRC),$(B)/bpf/xiwarp.bpf.o)
SKEL := $(if $(BPF_SRC),$(B)/bpf/xiwarp.skel.h)
TOOL := $(if $(TOOL_SRC),$(B)/xiwarp)
# The command's man page is made by tools/xiwarp/man from its help text; those of section 7 lie beside it.
MAN7 := $(wildcard tools/xiwarp/*.7)
MAN := $(if $(TOOL_SRC),$(if $(wildcard tools/xiwarp/man),$(B)/xiwarp.1))
EXAMPLES := $(patsubst tools/%.c,$(B)/%,$(EXAMPLE_SRC))
UNIT_BIN := $(patsubst %.c,$(B)/%,$(UNIT_SRC))
BPFTEST_BIN := $(patsubst %.c,$(B)/%,$(BPFTEST_SRC))
FUZZ_BIN := $(patsubst %.c,$(B)/%,$(FUZZ_SRC))
TSAN_BIN := $(patsubst %.c,$(B)/%,$(TSAN_SRC))
NET_BIN := $(patsubst %.c,$(B)/%,$(NET_SRC))
NET_BPF := $(patsubst %.bpf.c,$(B)/%.bpf.o,$(NET_BPF_SRC))
BENCH_BIN := $(patsubst tests/bench/%.c,$(B)/bench/%,$(BENCH_SRC))

ALL := $(BPF_OBJ) $(LIB_A) $(if $(LIB_SRC),$(LIB_SO)) $(VERBS_SO) $(TRACE_SO) $(FABRIC_SO) \
	$(PC) $(TOOL) $(MAN) $(EXAMPLES)
WIRE := $(B)/tests/net/lib/wire.bpf.o
SIW_BIN := $(patsubst %.c,$(B)/%,$(SIW_SRC))

# With ONLY, no more is built than the chosen tests use; a script may use everything.
SCRIPTS := $(sort $(wildcard tests/api/test_*.sh tests/bpf/test_*.sh tests/net/*/test_*.sh))
STRUCTURE := $(wildcard tests/structure/test_*.sh)
chosen = $(if $(ONLY),$(sort $(foreach w,$(ONLY),$(foreach t,$1,$(if $(findstring $w,$t),$t)))),$1)
CHECK_BIN := $(call chosen,$(UNIT_BIN) $(FUZZ_BIN) $(TSAN_BIN) $(BPFTEST_BIN))
RING_BIN := $(if $(RING),$(B)/tests/net/lib/forbidden)
CHECK_ALL := $(CHECK_BIN) $(RING_BIN) $(if $(call chosen,$(SCRIPTS)),$(ALL) $(NET_BIN) $(NET_BPF)) \
	$(if $(call chosen,$(STRUCTURE)),$(call obj,$(LIB_SRC) $(FRONT_SRC)))

# As many jobs as cores, unless the caller has said how many.
jobs = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
submake = +$(Q)$(MAKE) --no-print-directory $(jobs)

# ---- targets ---------------------------------------------------------------------------------------

.PHONY: help all tests demo check model soak bench vmtest install format format-check compile_commands clean FORCE

help: ## show this list
	@echo 'xiwarp $(VERSION): make TARGET [V=1] [SAN=1] [CC=clang]'
	@echo
	@sed -n 's/^\([a-z_-]*\):.*## \(.*\)/  \1	\2/p' Makefile | expand -t 22
	@echo
	@echo 'demo, check and bench need root; they install missing Debian packages (tools/setup).'

all: $(ALL) ## build the library, the BPF object, the command and the examples

tests: $(ALL) $(UNIT_BIN) $(FUZZ_BIN) $(TSAN_BIN) $(BPFTEST_BIN) $(NET_BIN) $(NET_BPF) $(BENCH_BIN) ## build the tests without running them

demo: ## send a file between two namespaces over the direct path
	$(Q)tools/setup
	$(submake) all $(WIRE)
	$(Q)XIW_BUILD=$(abspath $(B)) tools/demo

# Programs that the tests run unmodified.
CHECK_PACKAGES := rdmacm-utils ibverbs-utils perftest libfabric-bin openmpi-bin libopenmpi-dev python3-pyverbs

# Those that any user may run leave the machine as it is, and name what is missing if they cannot be built.
CHECK_SETUP := $(if $(ONLY),$(call chosen,$(SCRIPTS) $(BPFTEST_SRC)),all)

NEED_FRONTS = $(error scripts need every front: leave FRONTS= out, or choose other tests, as with ONLY=tests/unit/)

check: ## run all tests; ONLY="word ..." chooses, RING=epoll the other ring
	$(if $(and $(call chosen,$(SCRIPTS)),$(filter-out $(FRONTS),$(ALL_FRONTS))),$(NEED_FRONTS))
	$(if $(CHECK_SETUP),$(Q)tools/setup $(CHECK_PACKAGES))
	$(submake) check-build $(if $(CHECK_SETUP),,|| { tools/setup --say; exit 1; })
	$(Q)XIW_BUILD=$(abspath $(B)) ONLY='$(ONLY)' tests/ring '$(RING)' tests/run

.PHONY: check-build sources
check-build: $(CHECK_ALL)

# Each source by itself, with its warnings: what tests/api/test_compilers.sh has another compiler look at.
sources: $(call obj,$(C_SRC))

fuzz: ## fuzz every target for FUZZ_SECONDS (20) each; ONLY="word ..." chooses
	$(Q)tools/setup libclang-rt-14-dev
	$(submake) FUZZ=1 CC=$(CLANG) fuzz-build
	$(Q)XIW_BUILD=$(abspath $(B)/fuzz) ONLY='$(ONLY)' FUZZ_SECONDS='$(FUZZ_SECONDS)' tests/fuzz/run

.PHONY: fuzz fuzz-build
fuzz-build: $(call chosen,$(FUZZ_BIN))

soak: ## run CONNS=1000 connections at a time for MINUTES=5 over a wire with impairments
	$(Q)tools/setup
	$(submake) all $(NET_BIN) $(NET_BPF)
	$(Q)XIW_BUILD=$(abspath $(B)) MINUTES='$(MINUTES)' CONNS='$(CONNS)' FOLLOW=1 tests/net/soak/run

.PHONY: hostile
hostile: ## run ATTACKERS=10000 connections of attackers against everything that listens, with sanitizers
	$(Q)tools/setup
	$(submake) SAN=1 hostile-build
	$(Q)XIW_BUILD=$(abspath $(BUILD)/san) ATTACKERS='$(ATTACKERS)' SEED='$(SEED)' \
		tests/ring '$(RING)' tests/net/soak/hostile

.PHONY: hostile-build
hostile-build: $(ALL) $(RING_BIN) $(B)/tests/net/soak/hostile_peer

.PHONY: distros
distros: ## build and test in roots of other Debian releases: NAMES=, VARIANTS= and QUICK=1 choose
	$(Q)tools/setup debootstrap
	$(Q)XIW_BUILD=$(abspath $(BUILD)) QUICK='$(QUICK)' $(if $(VARIANTS),VARIANTS='$(VARIANTS)') \
		tests/distros $(NAMES)

.PHONY: programs
programs: ## run Debian's RDMA programs, unmodified, over the library that xiwarp run preloads
	$(Q)tools/setup $(CHECK_PACKAGES) fio qperf tgt libiscsi-bin qemu-utils qemu-block-extra \
		qemu-system-x86 debootstrap podman runc
	$(submake) all $(NET_BIN) $(NET_BPF)
	$(Q)XIW_BUILD=$(abspath $(B)) XIW_DOWNLOADS=1 ONLY=tests/net/programs/ tests/run

model: ## search all states of the models, and find the error in each mutation
	$(Q)tools/setup spin
	$(Q)XIW_BUILD=$(abspath $(B)) tests/model/run

tsan: ## test what threads and CPUs share, under ThreadSanitizer
	$(Q)tools/setup libclang-rt-14-dev
	$(submake) TSAN=1 CC=$(CLANG) ONLY=tests/tsan/ check-build
	$(Q)XIW_BUILD=$(abspath $(B)/tsan) ONLY=tests/tsan/ tests/ring '$(RING)' tests/run

.PHONY: tsan

.PHONY: kinds
kinds: ## try interfaces of each kind with all offloads, gateways, queues and firewalls; check tries pairs of them
	$(Q)tools/setup
	$(submake) tests
	$(Q)ALL=1 XIW_BUILD=$(abspath $(B)) tests/net/matrix/test_kinds.sh

FAULTS_BIN := $(addprefix $(B)/tests/net/,lib/relay matrix/matrix_recv matrix/matrix_send)

.PHONY: faults
faults: ## run every impairment on every path; write build/faults/report.json
	$(Q)tools/setup
	$(submake) all $(FAULTS_BIN) $(RING_BIN)
	$(Q)XIW_BUILD=$(abspath $(B)) tests/ring '$(RING)' tests/net/matrix/run $(if $(QUICK),--quick)

bench: ## measure the paths against each other; write build/bench/report.json and report.svg
	$(Q)tools/setup perftest
	$(submake) all $(WIRE) $(addprefix $(B)/tests/,net/path/queues.bpf.o net/conn/idle) \
		$(addprefix $(B)/tests/bench/,floor.bpf.o again.bpf.o impair.bpf.o) $(BENCH_BIN)
	$(Q)tests/bench/before '$(abspath $(B))/bench/before' $(ONLY)
	$(Q)XIW_BUILD=$(abspath $(B)) tests/bench/run $(if $(ADD),--add) $(addprefix --only ,$(ONLY))

VM_PLUGIN := $(B)/vmtest/count.so
VM_BENCH := $(addprefix $(B)/bench/,wire_bench message_bench trip_bench vm_mark)

.PHONY: bench-vm
bench-vm: ## count instructions per octet in a VM; GATE=1 fails if they grew; QUICK=1; write build/bench/vm.json
	$(Q)tools/setup $(VM_PACKAGES)
	$(submake) all $(VM_BENCH) $(VM_PLUGIN) vmtest-build
	$(Q)XIW_BUILD=$(abspath $(B)) GATE='$(GATE)' BASELINE='$(BASELINE)' QUICK='$(QUICK)' tests/bench/vm

VM_PACKAGES := qemu-system-x86 busybox-static cpio kmod xz-utils curl gpgv debian-archive-keyring bc libelf-dev \
	rdma-core ibverbs-providers ibverbs-utils rdmacm-utils libibverbs-dev librdmacm-dev tcpdump tgt open-iscsi e2fsprogs \
	perftest libfabric-bin fio

vmtest: ## run the scenarios in VMs with Debian's kernels; KERNEL=, SCENARIO= and QUICK=1 choose
	$(Q)tools/setup $(VM_PACKAGES)
	$(submake) tests vmtest-build
	$(Q)XIW_BUILD=$(abspath $(B)) vmtest/run

.PHONY: vmtest-arm64
vmtest-arm64: ## build for arm64 without running a foreign program, and test in a VM with Debian's arm64 kernel; ONLY= chooses
	$(Q)tools/setup debootstrap gcc-aarch64-linux-gnu qemu-system-arm cpio kmod
	$(Q)XIW_BUILD=$(abspath $(BUILD)) vmtest/arm64 $(ONLY)

.PHONY: vmshell
vmshell: ## start a shell in a VM with the kernel KERNEL=5.10, 6.1, 6.12 or newest
	$(Q)tools/setup $(VM_PACKAGES)
	$(submake) tests vmtest-build
	$(Q)XIW_BUILD=$(abspath $(B)) vmtest/kernel $(or $(KERNEL),6.1)
	$(Q)XIW_BUILD=$(abspath $(B)) vmtest/vm $(or $(KERNEL),6.1)

.PHONY: vmtest-build
vmtest-build: $(SIW_BIN)

install: $(ALL) ## install to DESTDIR and PREFIX (/usr/local)
	install -d '$(DESTDIR)$(INCLUDEDIR)/xiwarp' '$(DESTDIR)$(LIBDIR)/pkgconfig'
	install -m 644 include/xiwarp/*.h '$(DESTDIR)$(INCLUDEDIR)/xiwarp/'
	install -m 644 $(LIB_A) '$(DESTDIR)$(LIBDIR)/'
	install -m 755 $(LIB_SO) '$(DESTDIR)$(LIBDIR)/'
	ln -sf $(notdir $(LIB_SO)) '$(DESTDIR)$(LIBDIR)/$(SONAME)'
	ln -sf $(SONAME) '$(DESTDIR)$(LIBDIR)/libxiwarp.so'
	install -m 644 $(PC) '$(DESTDIR)$(LIBDIR)/pkgconfig/'
	$(if $(VERBS_SO)$(TRACE_SO),install -m 755 $(VERBS_SO) $(TRACE_SO) '$(DESTDIR)$(LIBDIR)/')
	$(if $(FABRIC_SO),install -D -m 755 $(FABRIC_SO) '$(DESTDIR)$(LIBDIR)/libfabric/$(notdir $(FABRIC_SO))')
	$(if $(TOOL),install -D -m 755 $(TOOL) '$(DESTDIR)$(PREFIX)/bin/xiwarp')
	$(if $(BPF_OBJ),install -D -m 644 $(BPF_OBJ) '$(DESTDIR)$(LIBDIR)/bpf/xiwarp.bpf.o')
	$(if $(MAN),install -D -m 644 $(MAN) '$(DESTDIR)$(PREFIX)/share/man/man1/xiwarp.1')
	$(if $(MAN7),install -d '$(DESTDIR)$(PREFIX)/share/man/man7')
	$(if $(MAN7),install -m 644 $(MAN7) '$(DESTDIR)$(PREFIX)/share/man/man7/')

FORMATTED = $(shell git ls-files -co --exclude-standard '*.c' '*.h')

format: ## clang-format every source
	$(Q)tools/setup clang-format
	$(Q)$(CLANG_FORMAT) -i $(FORMATTED)

format-check: ## fail if clang-format would change a source
	$(Q)tools/setup clang-format
	$(Q)$(CLANG_FORMAT) --dry-run -Werror $(FORMATTED)

compile_commands: $(B)/compile_commands.json ## write build/compile_commands.json for clangd

clean: ## remove the build directory
	$(Q)rm -rf $(B)

# ---- rules -----------------------------------------------------------------------------------------

# A file that changes when its text does: objects follow the flags, the library its list of members.
define stamp
$(B)/$1.stamp: FORCE
	@mkdir -p $$(@D); t=$$$$(printf '%s' $$(call quote,$2)); \
	[ -e $$@ ] && [ "$$$$t" = "$$$$(< $$@)" ] || printf '%s\n' "$$$$t" > $$@
endef
quote = '$(subst ','\'',$1)'
$(eval $(call stamp,flags,$$(CC) $$(CPPFLAGS_ALL) $$(CFLAGS_ALL) $$(LDFLAGS_ALL)))
$(eval $(call stamp,libdir,$$(LIBDIR)))
$(eval $(call stamp,bpfflags,$$(CLANG) $$(BPF_CFLAGS)))
$(eval $(call stamp,members,$$(LIB_SRC)))
$(eval $(call stamp,hostmembers,$$(HOST_SRC)))
$(eval $(call stamp,netparts,$$(NET_PART_SRC)))

# One #error for a machine or C library that this cannot be built for, before any other.
$(B)/machine.stamp: user/base/machine.h $(B)/flags.stamp
	$(Q)$(CC) $(CPPFLAGS_ALL) $(CFLAGS) -E -x c $< > $@

$(B)/obj/%.o: %.c $(B)/flags.stamp $(B)/machine.stamp
	@mkdir -p $(@D)
	$(say) CC $<
	$(Q)$(cc) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -frandom-seed=$< -MMD -MP -c -o $@ $<

# `run` looks for the libraries where they are installed.
$(call obj,tools/xiwarp/run.c): $(B)/libdir.stamp
$(call obj,tools/xiwarp/run.c): private CPPFLAGS_ALL += -DXIW_LIBDIR='"$(LIBDIR)"'

# Whoever includes the skeleton waits for it; no other layer is held up by the BPF side.
SKEL_USERS := $(if $(SKEL),$(shell grep -ls '"xiwarp\.skel\.h"' $(C_SRC) /dev/null))
$(call obj,$(SKEL_USERS) $(filter user/load/%,$(LIB_SRC))): | $(SKEL)

$(LIB_A): $(call obj,$(LIB_SRC)) $(B)/members.stamp
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

$(HOST_A): $(call obj,$(HOST_SRC)) $(B)/hostmembers.stamp
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)

# Everything is inside, and hidden but for the functions that it interposes.
$(B)/libxiw-verbs.so: $(call obj,$(VERBS_SRC)) $(HOST_A) $(LIB_A)
	$(say) LD $@
	$(Q)$(cc) -shared -Wl,-soname,$(@F) -Wl,--exclude-libs,ALL $(LDFLAGS_ALL) -o $@ $(filter %.o %.a,$^) $(LIBS)

# libfabric loads it, perhaps as a library that others do not see: it names libfabric itself.
$(B)/libxiw-fi.so: $(call obj,$(FABRIC_SRC)) $(HOST_A) $(LIB_A)
	$(say) LD $@
	$(Q)$(cc) -shared -Wl,-soname,$(@F) -Wl,--exclude-libs,ALL -Wl,-z,nodelete $(LDFLAGS_ALL) -o $@ \
		$(filter %.o %.a,$^) $(LIBS) -lfabric

# It calls what it wraps, also where a plug-in of the program has brought these libraries, which others do not see then.
$(B)/libxiw-trace.so: $(call obj,$(TRACE_SRC))
	$(say) LD $@
	$(Q)$(cc) -shared -Wl,-soname,$(@F) $(LDFLAGS_ALL) -o $@ $^ -lrdmacm -libverbs

$(LIB_SO): $(call obj,$(LIB_SRC)) $(B)/members.stamp
	$(say) LD $@
	$(Q)$(cc) -shared -Wl,-soname,$(SONAME) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) $(LIBS)
	$(Q)ln -sf $(@F) $(B)/$(SONAME) && ln -sf $(SONAME) $(B)/libxiwarp.so

$(PC): FORCE
	@mkdir -p $(@D)
	@printf '%s\n' 'prefix=$(PREFIX)' 'libdir=$(LIBDIR)' 'includedir=$(INCLUDEDIR)' '' \
		'Name: xiwarp' 'Version: $(VERSION)' \
		'Description: software iWARP receiver: MPA and DDP over XDP and AF_XDP' \
		'Requires.private: libxdp libbpf liburing' 'Libs.private: -pthread' \
		'Libs: -L$${libdir} -lxiwarp' 'Cflags: -I$${includedir}' > $@

$(B)/bpf/%.bpf.o: bpf/%.bpf.c $(B)/bpfflags.stamp
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

$(B)/bpf/xiwarp.bpf.o: $(patsubst bpf/%.bpf.c,$(B)/bpf/%.bpf.o,$(BPF_SRC))
	$(say) BPFLD $@
	$(Q)$(BPFTOOL) gen object $@ $(filter %.o,$^)

$(B)/bpf/xiwarp.skel.h: $(B)/bpf/xiwarp.bpf.o
	$(say) SKEL $@
	$(Q)$(BPFTOOL) gen skeleton $< name xiwarp_bpf > $@

$(NET_BPF): $(B)/%.bpf.o: %.bpf.c $(B)/bpfflags.stamp
	@mkdir -p $(@D)
	$(say) BPF $<
	$(Q)$(CLANG) $(BPF_CFLAGS) -MMD -MP -c -o $@ $<

link = $(Q)mkdir -p $(@D) && $(cc) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) \
	-Wl,--start-group $(filter %.a,$^) -Wl,--end-group

$(TOOL): $(call obj,$(TOOL_SRC)) $(LIB_A)
	$(say) LD $@
	$(link) $(TOOL_LIBS)

$(MAN): tools/xiwarp/man $(TOOL)
	$(say) MAN $@
	$(Q)CC='$(CC)' HOSTCC='$(HOSTCC)' CPPFLAGS='$(subst ','\'',$(CPPFLAGS_ALL))' $< $(TOOL) > $@

$(EXAMPLES): $(B)/%: $(B)/obj/tools/%.o $(LIB_A)
	$(say) LD $@
	$(link) $(TOOL_LIBS)

$(UNIT_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(call obj,$(UNIT_COMMON_SRC)) $(HOST_A) $(LIB_A)
	$(say) LD $@
	$(link) $(TEST_LIBS)

$(BPFTEST_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(call obj,$(BPFTEST_COMMON_SRC)) $(LIB_A)
	$(say) LD $@
	$(link) $(TEST_LIBS)
$(BPFTEST_BIN): | $(BPF_OBJ)

# The same objects with libFuzzer, or with a loop over the corpus. Tests of the hand-off replace parts of the library.
$(filter %/fuzz_handoff %/test_handoff_threads,$(FUZZ_BIN) $(TSAN_BIN)): $(call obj,$(HANDOFF_SRC))
$(FUZZ_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(call obj,$(FUZZ_COMMON_SRC)) \
		$(if $(FUZZ),,$(call obj,$(FUZZ_REPLAY_SRC))) $(LIB_A)
	$(say) LD $@
	$(link) -Wl,-z,muldefs $(if $(FUZZ),-fsanitize=fuzzer) $(TOOL_LIBS)

$(TSAN_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(call obj,$(FUZZ_COMMON_SRC)) $(HOST_A) $(LIB_A)
	$(say) LD $@
	$(link) -Wl,-z,muldefs $(TOOL_LIBS)

define net_room
$(B)/tests/net/$1/room.a: $(call obj,$(filter tests/net/$1/%,$(NET_PART_SRC)))
$(filter $(B)/tests/net/$1/%,$(NET_BIN)): $(B)/tests/net/$1/room.a
endef
$(foreach r,$(NET_ROOMS),$(eval $(call net_room,$r)))

# If two sources of a folder defined the same name, the linker would take either.
$(NET_ROOMS:%=$(B)/tests/net/%/room.a): $(B)/netparts.stamp
	@mkdir -p $(@D)
	$(say) AR $@
	$(Q)rm -f $@ && $(AR) rcsD $@ $(filter %.o,$^)
	$(Q)! nm -g --defined-only $@ | awk 'NF == 3 { print $$3 ": defined twice" }' | sort | uniq -d | grep .

# It includes the command's main.c.
$(B)/tests/net/peer/peer_wrap: $(call obj,$(filter-out %/main.c,$(TOOL_SRC)))

$(B)/tests/net/programs/fabric $(B)/tests/net/programs/fabric_% $(B)/tests/net/stop/fabric_stop: TOOL_LIBS += -lfabric
$(B)/tests/net/programs/attributes_fabric: TOOL_LIBS += -lfabric
$(B)/tests/net/programs/attributes_verbs: TOOL_LIBS += -lrdmacm -libverbs
$(B)/tests/net/programs/verbs_% $(B)/tests/net/stop/verbs_stop: TOOL_LIBS += -lrdmacm -libverbs
$(NET_BIN): $(B)/tests/%: $(B)/obj/tests/%.o $(B)/tests/net/lib/room.a $(HOST_A) $(LIB_A)
	$(say) LD $@
	$(link) $(TOOL_LIBS)

$(SIW_BIN): $(B)/tests/%: $(B)/obj/tests/%.o
	$(say) LD $@
	$(Q)mkdir -p $(@D) && $(cc) $(LDFLAGS_ALL) -o $@ $(filter %.o,$^) -lrdmacm -libverbs

# For qemu, which has the functions that it calls.
$(VM_PLUGIN): $(B)/obj/vmtest/count.o
	$(say) LD $@
	$(Q)mkdir -p $(@D) && $(cc) -shared $(LDFLAGS_ALL) -o $@ $^

$(BENCH_BIN): $(B)/bench/%: $(B)/obj/tests/bench/%.o $(LIB_A)
	$(say) LD $@
	$(link) $(TEST_LIBS)

$(B)/compile_commands.json: FORCE
	@mkdir -p $(@D)
	@{ sep='['; for s in $(C_SRC); do \
		printf '%s\n{ "directory": "%s", "file": "%s", "command": "%s" }' "$$sep" \
			"$(CURDIR)" "$$s" '$(subst ",\",$(subst ','\'',$(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL))) -c'" $$s"; \
		sep=,; done; \
	for s in $(BPF_SRC) $(NET_BPF_SRC); do \
		printf '%s\n{ "directory": "%s", "file": "%s", "command": "%s" }' "$$sep" \
			"$(CURDIR)" "$$s" '$(CLANG) $(BPF_CFLAGS) -c'" $$s"; sep=,; done; \
	printf '\n]\n'; } > $@

-include $(patsubst %.o,%.d,$(call obj,$(C_SRC) $(SIW_SRC))) \
	$(wildcard $(B)/bpf/*.d $(B)/tests/*/*.d $(B)/tests/net/*/*.d)
