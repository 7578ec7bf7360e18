# `make demo` shows realmfs at work; every change must pass `make check`. Both first install missing Debian packages, so a
# fresh clone needs only make and Swift.

PREFIX ?= /usr/local
DESTDIR ?=
MANDIR ?= $(PREFIX)/share/man
DOCDIR ?= $(PREFIX)/share/doc/realmfs
ZSHDIR ?= $(PREFIX)/share/zsh/site-functions
# mount(8) looks for its helpers only here.
HELPERDIR ?= /sbin
FUZZ_SECONDS ?= 60
# Further options for every swift command, such as --jobs 1.
SWIFTFLAGS ?=

SWIFT ?= swift
RELEASE_FLAGS = -c release --static-swift-stdlib $(SWIFTFLAGS)
PROGRAM = .build/release/realmfs
export REALMFS = $(CURDIR)/$(PROGRAM)

.PHONY: all help setup demo check check-all build release examples test e2e asan tsan fuzz crash bench soak lint tidy format docs man completions \
	install uninstall deb dist package-check clean

all: release

help:
	@sed -n 's/^\([a-z0-9-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install missing Debian packages; needs root or sudo only then
	@Scripts/setup.sh

demo: setup ## mount a sample realm, use it, unmount
	@test -x $(PROGRAM) || echo "demo: compiling realmfs first; that takes about ten minutes"
	@$(MAKE) --no-print-directory release
	@Scripts/demo.sh

check: setup ## everything that a change must pass: style, layers, tests, real mounts, some power cuts
	@Scripts/check.sh

check-all: setup ## the same, all power cuts, fuzzing, the address sanitizer, the shipped program: before a release
	@Scripts/check.sh --all

build: ## debug build of everything
	$(SWIFT) build $(SWIFTFLAGS)

release: ## the program as it is shipped, at .build/release/realmfs
	$(SWIFT) build $(RELEASE_FLAGS) --product realmfs

examples: ## build and run the examples as separate packages
	Scripts/examples.sh --package

test: ## unit, golden and command tests
	@SWIFT="$(SWIFT)" SWIFTFLAGS="$(SWIFTFLAGS)" Scripts/test.sh

e2e: release ## tests on real mounts; ONLY="keys xattr" selects some
	Tests/e2e/run.sh $(ONLY)

asan: ## the tests that read damaged files, under the address sanitizer
	Scripts/asan.sh

tsan: ## the tests of RealmSwift and RealmSync under the thread and the address sanitizer; ONLY=NAME selects some
	Scripts/tsan.sh thread
	Scripts/tsan.sh address

fuzz: ## libFuzzer on open and walk, FUZZ_SECONDS=60
	FUZZ_SECONDS=$(FUZZ_SECONDS) Fuzz/run.sh

crash: ## power cuts in files, in file systems and under live writers; CRASH_STATES, CRASH_DISKS
	Scripts/crash.sh

bench: release ## benchmarks against bindfs and others; prints ratios
	REALMFS_BENCHMARKS=1 $(SWIFT) build $(RELEASE_FLAGS) --product WriteBench
	Benchmarks/run.sh

soak: release ## hours of mutants, fuzzing and parallel readers
	Scripts/soak.sh

lint: ## source style
	Scripts/lint.sh

tidy: release ## layers, forbidden words, test names in documents, generated files
	Scripts/tidy.sh

format: ## rewrite the source in the project's style
	$(SWIFT) format -i -r Sources Tests Package.swift

docs: ## the library's reference as static pages in .build/docs
	Scripts/docs.sh

man: release ## write man/realmfs.1 and man/realmfs-mount.8 from the option table
	mkdir -p man
	$(PROGRAM) help --man > .build/man && mv .build/man man/realmfs.1
	$(PROGRAM) help --man mount > .build/man && mv .build/man man/realmfs-mount.8

completions: release ## write completions/ from the option table
	mkdir -p completions
	$(PROGRAM) help --completions bash > .build/completions && mv .build/completions completions/realmfs.bash
	$(PROGRAM) help --completions zsh > .build/completions && mv .build/completions completions/_realmfs
	$(PROGRAM) help --completions fish > .build/completions && mv .build/completions completions/realmfs.fish

# The installed files, as SOURCE:DESTINATION.
INSTALLED = \
  man/realmfs.1:$(MANDIR)/man1/realmfs.1 \
  man/realmfs-mount.8:$(MANDIR)/man8/realmfs-mount.8 \
  man/realm.5:$(MANDIR)/man5/realm.5 \
  completions/realmfs.bash:$(PREFIX)/share/bash-completion/completions/realmfs \
  completions/_realmfs:$(ZSHDIR)/_realmfs \
  completions/realmfs.fish:$(PREFIX)/share/fish/vendor_completions.d/realmfs.fish \
  Packaging/realmfs@.service:$(PREFIX)/lib/systemd/user/realmfs@.service \
  $(foreach text,README.md LICENSE CHANGELOG.md SECURITY.md,$(text):$(DOCDIR)/$(text)) \
  $(foreach text,SEMANTICS COMMANDS RELIABILITY COOKBOOK TROUBLESHOOTING SYNC POSTGRESQL BROWSER FORENSICS,docs/$(text).md:$(DOCDIR)/docs/$(text).md) \
  docs/SKILL.md:$(DOCDIR)/SKILL.md docs/terminal.svg:$(DOCDIR)/docs/terminal.svg docs/browse.png:$(DOCDIR)/docs/browse.png \
  $(foreach text,$(notdir $(wildcard docs/format/*.md)),docs/format/$(text):$(DOCDIR)/docs/format/$(text))
# The names by which mount(8) and umount(8) find the program, and their manual page.
HELPERS = mount.fuse.realmfs umount.fuse.realmfs

install: ## install into PREFIX (/usr/local), below DESTDIR; builds only if there is no release build
	@test -x $(PROGRAM) || $(MAKE) release
	install -D -m 755 -s $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/realmfs
	@for pair in $(INSTALLED); do \
	  echo "install $${pair%%:*} $(DESTDIR)$${pair#*:}"; \
	  install -D -m 644 "$${pair%%:*}" "$(DESTDIR)$${pair#*:}" || exit; \
	done
	install -d $(DESTDIR)$(HELPERDIR)
	for name in $(HELPERS); do \
	  ln -sfn $(PREFIX)/bin/realmfs $(DESTDIR)$(HELPERDIR)/$$name && \
	  ln -sfn realmfs-mount.8 $(DESTDIR)$(MANDIR)/man8/$$name.8 || exit; \
	done

uninstall: ## remove the installed files
	rm -f $(DESTDIR)$(PREFIX)/bin/realmfs
	@for pair in $(INSTALLED); do echo "rm -f $(DESTDIR)$${pair#*:}"; rm -f "$(DESTDIR)$${pair#*:}"; done
	for name in $(HELPERS); do rm -f $(DESTDIR)$(HELPERDIR)/$$name $(DESTDIR)$(MANDIR)/man8/$$name.8; done
	-rmdir $(DESTDIR)$(DOCDIR)/docs/format $(DESTDIR)$(DOCDIR)/docs $(DESTDIR)$(DOCDIR)

deb: release ## a Debian package, .build/realmfs_VERSION_ARCH.deb
	@Scripts/deb.sh

dist: release ## the Debian package, a tarball and their checksums, in .build/dist
	@Scripts/dist.sh

package-check: release ## install, mount by fstab and remove the package in a fresh Debian; downloads it, some minutes
	@Scripts/package-check.sh

clean: ## remove everything that was built
	rm -rf .build
