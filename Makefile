# The front door: every target starts from a bare Debian 12 or Ubuntu 24.04 and installs what it lacks.
# CMake does the work (see CMakePresets.json); this file only knows the order of things. `make help` lists the targets.
#
#   CMAKE_ARGS="-D…"   further arguments for CMake            NO_INSTALL=1   install nothing
#   JOBS=N             parallel jobs (all cores)              SANITIZE=0     `make test` without the sanitizer subset
#   TESTS=REGEX        only tests whose name matches          TIDY=all       `make check` runs clang-tidy on every file
#   FUZZ_SECONDS=N     per fuzzer and round                   FUZZ_ROUNDS=N  0: until interrupted
#   PEER_PYTHON=PATH   `make bench` compares with the warp-lang of this interpreter
#   NUMBA_PYTHON=PATH  `make bench` compares with the Numba of this interpreter
#   DRJIT_PYTHON=PATH  `make bench` compares with the Dr.Jit of this interpreter
#   MUJOCO_PYTHON=PATH `make bench` runs MuJoCo Warp of this interpreter (tools/compat/mujoco_environment.py)
#   TORCH_PYTHON=PATH  `make bench` launches beside the PyTorch of this interpreter
#   BENCH_QUICK=1      `make bench` measures less of everything
#   BENCH_PRESET=dev   `make bench` measures that build instead of one as shipped, which is a second build of all
SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := build
MAKEFLAGS += --no-print-directory

PRESET ?= dev
BENCH_PRESET ?= release
CMAKE_ARGS ?=
NO_INSTALL ?=
SANITIZE ?= 1
TESTS ?=
TIDY ?= changed
FUZZ_SECONDS ?= 60
FUZZ_ROUNDS ?= 0
JOBS ?= $(shell nproc)
# Linking LLVM statically takes up to 2 GB a time: as many at once as memory carries, half the cores at most.
LINK_JOBS ?= $(shell awk -v jobs=$(JOBS) '/^MemTotal/ { n = int($$2 / 3000000); h = int((jobs + 1) / 2); \
	if (n > h) n = h; print n < 1 ? 1 : n }' /proc/meminfo)
WHEEL_PYTHON ?= $(PYTHON)
# Python is used by the checks and the text tests only, standard library alone; a .venv is taken where there is one.
PYTHON ?= $(if $(wildcard .venv/bin/python),.venv/bin/python,python3)

TEST_FILTER = $(if $(TESTS),-R '$(TESTS)')

.NOTPARALLEL:
.PHONY: help setup configure build package run examples docs test frameworks test-frameworks test-aarch64 test-x86-64 \
	test-aarch64-python test-free-threaded check check-format \
	check-rules check-tidy format bench math-sweep sanitize soak stress fuzz clean

help:  ## this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@sed -n '4,9s/^# *//p' Makefile | sed 's/^/    /'

setup:  ## install the packages that are missing
	@if [[ -n "$(NO_INSTALL)" ]]; then echo "setup: skipped (NO_INSTALL)"; \
	else tools/setup/install_packages.sh build; fi

# The Python package is built where an interpreter with nanobind is there (tools/setup/python_env.sh makes one).
PYTHON_ARGS = $(if $(WEFT_PYTHON),-DWEFT_PYTHON=ON -DPython_EXECUTABLE=$(WEFT_PYTHON) -DPython3_EXECUTABLE=$(WEFT_PYTHON))
configure-dev configure-release configure-asan configure-tsan: WEFT_PYTHON = $(shell NO_INSTALL=$(NO_INSTALL) tools/setup/python_env.sh)

# Configures build/PRESET when it is new or the arguments changed; later changes of CMake files are ninja's business.
configure-%: setup
	@tools/setup/configure.sh $* -DCMAKE_JOB_POOLS=link=$(LINK_JOBS) -DCMAKE_JOB_POOL_LINK=link $(PYTHON_ARGS) $(CMAKE_ARGS)

configure: configure-$(PRESET)

build: configure  ## build the library, weftc, examples and tests; weftc is build/bin/weftc
	cmake --build build/$(PRESET) -j $(JOBS)
	@ln -sfn $(PRESET)/bin build/bin
	@tools/setup/link_package.sh build/$(PRESET)

# What `run` and `docs` need of the build: the extension, beside the package's files.
PACKAGE_PYTHON = "$$(NO_INSTALL=$(NO_INSTALL) tools/setup/python_env.sh)"
package: configure
	@if [[ -z $(PACKAGE_PYTHON) ]]; then \
	  echo "make: needs a Python with nanobind and numpy; leave NO_INSTALL out" >&2; exit 1; fi
	cmake --build build/$(PRESET) -j $(JOBS) --target _weft
	@tools/setup/link_package.sh build/$(PRESET)

run: package  ## build the Python package and run the flagship example: a simulation, rendered to build/marbles.png
	@PYTHONPATH="$(CURDIR)/python" $(PACKAGE_PYTHON) examples/python/marbles.py --output build/marbles.png

examples: build  ## build, then run every example small: Python, C++ and weftc
	@tools/testing/run_examples.sh build/bin

# The generator goes into .venv by this target only: nothing else needs it.
docs: package  ## build the documentation site into build/site
	@NO_INSTALL=$(NO_INSTALL) tools/docs/build_site.sh $(PACKAGE_PYTHON) build/site

# The sanitized unit tests are built first and then listed by ctest among the others (tests/sanitize), so that there is
# one run and one closing summary.
test: build frameworks $(if $(filter 0,$(SANITIZE)),,sanitized-units)  ## build and run all tests but the timed ones
	WEFT_SANITIZED_UNITS=$(if $(filter 0,$(SANITIZE)),,"$(CURDIR)/build/asan/bin") \
	  ctest --test-dir build/$(PRESET) --output-on-failure --no-tests=error -j $(JOBS) -LE '^perf$$' $(TEST_FILTER)

# JAX, PyTorch, Paddle and mpi4py for tests/python/frameworks; not for a run that asks for other tests.
FRAMEWORK_TESTS = $(if $(TESTS),$(findstring framework,$(TESTS)),all)
frameworks:
	@$(if $(FRAMEWORK_TESTS),NO_INSTALL=$(NO_INSTALL) tools/setup/frameworks.sh)

test-frameworks: build  ## the tests with PyTorch, JAX, Paddle and MPI; installs all of them (x86-64: PyTorch's 0.9 GB, too)
	@NO_INSTALL=$(NO_INSTALL) tools/setup/frameworks.sh all
	ctest --test-dir build/$(PRESET) --output-on-failure --no-tests=error -j $(JOBS) -R '^python_frameworks_'

# Emulation is some ten times slower: fewer random kernels. Tools and Python sources are the same on every processor.
# Random kernels and builtin rows are compiled at every level of LLVM's: they differ in instruction selectors and passes.
EVERY_LEVEL = WEFT_RANDOM_LEVELS=all WEFT_ROWS_LEVELS=all
test-aarch64:  ## run the tests with code of every optimisation level; on other machines cross-build and run under qemu
	@$(MAKE) test-on-aarch64

test-x86-64:  ## the same for x86-64
	@$(MAKE) test-on-x86_64

test-on-$(shell uname -m): build
	$(EVERY_LEVEL) ctest --test-dir build/$(PRESET) --output-on-failure --no-tests=error -j $(JOBS) \
	  -LE '^(perf|tools)$$' $(TEST_FILTER)

test-on-%: build/%-sysroot/.packages configure-%
	cmake --build build/$* -j $(JOBS)
	$(EVERY_LEVEL) WEFT_RANDOM_COUNT=$${WEFT_RANDOM_COUNT:-200} ctest --test-dir build/$* --output-on-failure \
	  --no-tests=error -j $(JOBS) -LE '^(perf|tools)$$' $(TEST_FILTER)
	$(if $(or $(TESTS),$(filter-out aarch64,$*)),,@$(EVERY_LEVEL) $(MAKE) test-aarch64-python PYTEST=tests/python/rows/test_rows.py)

test-aarch64-python: setup  ## the same for the Python package; PYTEST="arguments"
	@NO_INSTALL=$(NO_INSTALL) JOBS=$(JOBS) tools/testing/aarch64_python.sh $(PYTEST)

FREE_PYTHON ?= python3.13t
test-free-threaded: setup  ## the Python package on an interpreter without the global lock; FREE_PYTHON=python3.14t PYTEST="arguments"
	@JOBS=$(JOBS) tools/testing/free_threaded.sh "$(FREE_PYTHON)" $(PYTEST)

.PRECIOUS: build/%-sysroot/.packages
build/%-sysroot/.packages:
	@NO_INSTALL=$(NO_INSTALL) tools/setup/cross_sysroot.sh $* $(@D)

.PHONY: wheel stubs
wheel: setup  ## build a wheel that carries everything (build/dist), check and try it; WHEEL_PYTHON=python3.12
	@NO_INSTALL=$(NO_INSTALL) CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) \
	  tools/packaging/make_wheel.sh "$(WHEEL_PYTHON)"

stubs: build  ## write python/warp/*.pyi from the builtin tables and the Python sources
	@$(PYTHON) tools/stubs/generate.py

.PHONY: sanitized-units
sanitized-units: configure-asan
	cmake --build build/asan -j $(JOBS) --target sanitized_units

stress: build  ## threads and leaks of the Python package in full: a minute of threads, 2,000 kernels of each form
	WEFT_STRESS=1 ctest --test-dir build/$(PRESET) --output-on-failure --no-tests=error -L '^stress$$'

soak: package  ## geometry and random programs in full: 40 meshes with a million queries each, 10^8 rays at edges, 2,400 programs
	@cd tests/python && WEFT_SOAK=1 PYTHONPATH="$(CURDIR)/python" $(PACKAGE_PYTHON) -m pytest -q -p no:cacheprovider \
	  test_geometry_soak.py test_geometry_limits.py test_geometry_input.py test_fake_driver.py test_tile_programs.py test_draw_programs.py

check: setup  ## format, layers, file sizes, file headers, text, clang-tidy
	@$(MAKE) -k NO_INSTALL=1 check-format check-rules check-tidy

check-format:
	@$(PYTHON) tools/checks/run_format.py

check-rules:
	@status=0; for rule in layers file_size headers switches text; do \
	  $(PYTHON) tools/checks/check_$$rule.py || status=1; done; exit $$status

check-tidy: configure
	@$(PYTHON) tools/checks/run_tidy.py --build build/$(PRESET) --jobs $(JOBS) $(if $(filter all,$(TIDY)),--all)

format: setup  ## rewrite every C++ file with clang-format
	@$(PYTHON) tools/checks/run_format.py --write

bench: CMAKE_ARGS += -DWEFT_BENCH=ON
bench: configure-$(BENCH_PRESET)  ## build as shipped, run the benchmarks, print one table of ratios
	cmake --build build/$(BENCH_PRESET) -j $(JOBS) --target benchmarks
	@PYTHON=$(PYTHON) PEER_PYTHON=$(PEER_PYTHON) NUMBA_PYTHON=$(NUMBA_PYTHON) DRJIT_PYTHON=$(DRJIT_PYTHON) \
	  MUJOCO_PYTHON=$(MUJOCO_PYTHON) TORCH_PYTHON=$(TORCH_PYTHON) tools/testing/run_benchmarks.sh build/$(BENCH_PRESET)

math-sweep: build  ## every float32 through every elementary function (SWEEP="sin exp": only these)
	build/bin/math_sweep $(SWEEP)

sanitize: configure-asan configure-tsan  ## the whole test suite under asan+ubsan, then under tsan
	cmake --build build/asan -j $(JOBS)
	ctest --test-dir build/asan --output-on-failure --no-tests=error -j $(JOBS) -LE '^perf$$' $(TEST_FILTER)
	cmake --build build/tsan -j $(JOBS)
	$$(setarch -R true 2>/dev/null && echo setarch -R) \
	  ctest --test-dir build/tsan --output-on-failure --no-tests=error -j $(JOBS) -LE '^perf$$' $(TEST_FILTER)

fuzz: configure-fuzz  ## build the fuzzers and run them in turn
	@cmake --build build/fuzz --target build.ninja; \
	targets=$$(ninja -C build/fuzz -t targets all | sed -n 's/^\(fuzz_[a-z0-9_]*\): phony$$/\1/p'); \
	if [[ -z $$targets ]]; then echo "make fuzz: the build has no fuzz_* targets" >&2; exit 1; fi; \
	cmake --build build/fuzz -j $(JOBS) --target $$targets weft_agree_fuzz
	@tools/testing/run_fuzzers.sh build/fuzz $(FUZZ_SECONDS) $(FUZZ_ROUNDS) $(JOBS)

clean:  ## remove everything that was built
	rm -rf build
