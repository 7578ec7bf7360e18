# realmfs. `make demo` shows what it does; `make check` is what every change must pass. Both set up a Debian machine
# first, so a fresh clone needs nothing but make and Swift.

PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_SECONDS ?= 60
# Further options for every swift command, such as --jobs 1.
SWIFTFLAGS ?=

SWIFT ?= swift
RELEASE_FLAGS = -c release --static-swift-stdlib $(SWIFTFLAGS)
PROGRAM = .build/release/realmfs
export REALMFS = $(CURDIR)/$(PROGRAM)

.PHONY: all help setup demo check build release test e2e asan fuzz bench soak lint tidy format docs man completions \
	install uninstall clean

all: release

help:
	@sed -n 's/^\([a-z0-9]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 14

setup: ## install what is missing of the Debian packages; needs root or sudo only then
	@Scripts/setup.sh

demo: setup release ## mount a sample realm, look at it, unmount
	@Scripts/demo.sh

check: setup ## everything that a change must pass: style, layers, tests, a sanitizer, a minute of fuzzing
	@Scripts/check.sh

build: ## debug build of everything
	$(SWIFT) build $(SWIFTFLAGS)

release: ## the program as it is shipped, at .build/release/realmfs
	$(SWIFT) build $(RELEASE_FLAGS) --product realmfs

test: ## unit, golden and command tests
	$(SWIFT) test $(SWIFTFLAGS)

e2e: release ## tests on real mounts; ONLY="keys xattr" picks some
	Tests/e2e/run.sh $(ONLY)

asan: ## the tests that read damaged files, under the address sanitizer
	Scripts/asan.sh

fuzz: ## libFuzzer on open and walk, FUZZ_SECONDS=60
	FUZZ_SECONDS=$(FUZZ_SECONDS) Fuzz/run.sh

bench: release ## benchmarks against bindfs and others; prints ratios
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

man: release ## write man/realmfs.1 from the option table
	mkdir -p man
	$(PROGRAM) help --man > .build/realmfs.1 && mv .build/realmfs.1 man/realmfs.1

completions: release ## write completions/ from the option table
	mkdir -p completions
	$(PROGRAM) help --completions bash > .build/completions && mv .build/completions completions/realmfs.bash
	$(PROGRAM) help --completions zsh > .build/completions && mv .build/completions completions/_realmfs
	$(PROGRAM) help --completions fish > .build/completions && mv .build/completions completions/realmfs.fish

install: ## install into PREFIX (/usr/local), below DESTDIR; builds only if there is no release build
	@test -x $(PROGRAM) || $(MAKE) release
	install -D -m 755 -s $(PROGRAM) $(DESTDIR)$(PREFIX)/bin/realmfs
	install -D -m 644 man/realmfs.1 $(DESTDIR)$(PREFIX)/share/man/man1/realmfs.1
	install -D -m 644 completions/realmfs.bash $(DESTDIR)$(PREFIX)/share/bash-completion/completions/realmfs
	install -D -m 644 completions/_realmfs $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_realmfs
	install -D -m 644 completions/realmfs.fish $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/realmfs.fish

uninstall: ## remove what install put there
	rm -f $(DESTDIR)$(PREFIX)/bin/realmfs $(DESTDIR)$(PREFIX)/share/man/man1/realmfs.1 \
	  $(DESTDIR)$(PREFIX)/share/bash-completion/completions/realmfs \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_realmfs \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/realmfs.fish

clean: ## remove everything that was built
	rm -rf .build
