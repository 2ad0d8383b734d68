# The front door over CMake. `make help` lists what there is.
BUILD  ?= build
PREFIX ?= /usr/local
TYPE   ?= Release
WERROR ?= OFF
JOBS   ?= $(shell nproc 2>/dev/null || echo 2)
T      ?=
FUZZ_SECONDS ?= 30
MINUTES ?= 30
COUNT ?= 300
SEED ?= 1

GENERATOR := $(if $(shell command -v ninja),-G Ninja)
# A build folder keeps the generator it was made with.
GENERATOR := $(if $(wildcard $(BUILD)/CMakeCache.txt),,$(GENERATOR))
CONFIGURE = cmake -S . -B $(BUILD) $(GENERATOR) -DCMAKE_BUILD_TYPE=$(TYPE) -DCENTRA_WERROR=$(WERROR)

.PHONY: all configure deps test check demo docs bench lint format fuzz fuzz-campaign valgrind races browser slurm wheel coverage \
	mutants torture install dist deb deb-check clean help
.DEFAULT_GOAL := all

all: configure ## build/centra, build/libcentra.so, build/libcentra.a
	@cmake --build $(BUILD) -j $(JOBS)

configure:
	@$(CONFIGURE) -DCMAKE_INSTALL_PREFIX=$(abspath $(PREFIX)) > $(BUILD).log 2>&1 || { cat $(BUILD).log; rm -f $(BUILD).log; exit 1; }
	@sed -n '/-- Centra/,/^-- Config/{/^-- Config/!p}' $(BUILD).log; rm -f $(BUILD).log

deps:
	@tools/deps.sh build

test: deps ## install what is missing, build, run every test
	@$(MAKE) --no-print-directory all
	@tools/test.sh $(BUILD) $(JOBS)

check: all ## a part of the tests, quickly: make check T=ops
	@$(BUILD)/centra-tests $(T)

demo: deps ## install what is missing, build, train and compare on built-in pictures
	@$(MAKE) --no-print-directory all
	@$(BUILD)/centra demo --out $(BUILD)/demo

docs: ## the book, the reference and the man pages as HTML in build/html
	@tools/deps.sh docs
	@$(MAKE) --no-print-directory all
	@tools/render.sh $(BUILD)

bench: all ## times of the heads; beside PyTorch's where that is installed
	@tools/bench.sh $(BUILD)

lint: ## format, analyser, include law, symbols, headers, docs
	@tools/deps.sh lint
	@$(MAKE) --no-print-directory all
	@tools/lint.sh $(BUILD)

format: ## clang-format over all C files
	@tools/format.sh -i

fuzz: ## every libFuzzer target for FUZZ_SECONDS
	@tools/deps.sh fuzz
	@tools/fuzz.sh $(FUZZ_SECONDS) $(JOBS)

fuzz-campaign: ## every target for MINUTES of a processor, also in several sittings; the table is build-fuzz/campaign.md
	@tools/deps.sh fuzz
	@tools/campaign.sh $(MINUTES) $(JOBS)

valgrind: ## memory check of the portable path
	@tools/deps.sh valgrind
	@$(MAKE) --no-print-directory all
	@tools/valgrind.sh $(BUILD)

races: all ## the tests of a GPU under compute-sanitizer, memory and races
	@tools/races.sh $(BUILD)

browser: all ## the page of centra serve, driven in Chromium
	@tools/browser.sh $(BUILD)

slurm: all ## several processes under srun, in a Slurm of two nodes that lasts as long as the tests (root)
	@tools/slurm.sh $(BUILD)/centra-tests peers/slurm

wheel: ## the Python package in build/wheel: a wheel and its sources, made offline
	@tools/deps.sh wheel
	@tools/wheel.sh $(BUILD)/wheel

coverage: ## lines and branches of src/ that the tests run; build-coverage/html
	@tools/deps.sh coverage
	@tools/coverage.sh $(JOBS)

mutants: all ## changes one operator or constant of heads and ops at a time: do the tests notice? (an hour)
	@JOBS=$(JOBS) tools/mutants.sh $(BUILD) $(COUNT) $(SEED)

torture: all ## every command with each allocation, file and transfer failing once, full disks, signals (ten minutes)
	@$(BUILD)/centra-torture $(BUILD)/centra $(BUILD)/torture-shim.so

install: all ## to PREFIX (default /usr/local), below DESTDIR
	@DESTDIR=$(DESTDIR) cmake --install $(BUILD) --prefix $(abspath $(PREFIX))

dist: ## the committed sources as build/dist/centra-VERSION.tar.gz, made twice and compared
	@tools/dist.sh $(BUILD)/dist --check

deb: ## Debian packages in build/deb, checked by lintian
	@tools/deps.sh deb
	@tools/deb.sh $(BUILD)/deb $(JOBS)

deb-check: deb ## install, use and remove them in a fresh Debian (root, network)
	@tools/deb_check.sh $(BUILD)/deb

clean: ## remove every build folder
	@rm -rf build build-*

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' Makefile
