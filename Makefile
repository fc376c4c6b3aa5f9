# Every target sets up what it needs: `make demo` and `make test` work from a clean clone with Python 3.11 or newer.

PYTHON ?= python3
# worker processes of pytest
JOBS ?= auto
# of make conformance: names of backends, all by default
BACKENDS ?=

# and how much of it: sparse, quick or full
TIER ?= full

# of make fuzz and make enumerate
BACKEND ?= perform
GRAPHS ?= 20000
OUTPUTS ?= 20000
SEED ?= 0
# of make bench
BENCH ?=
# of make nightly: processes at a time
SHARDS ?= $(shell nproc 2>/dev/null || echo 2)

VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/installed
# the distributions without the tools of tests: enough to run a program
WITHOUT_TOOLS := $(VENV)/without-tools
PYTENSOR := plugins/tg-pytensor
# PYTENSOR_VERSION=3.0 or 3.3 (which wants PYTHON=python3.12): other releases, each in an environment of its own
PYTENSOR_VERSION :=
PYTENSOR_VENV := $(PYTENSOR)/.venv$(addprefix -,$(PYTENSOR_VERSION))
PYTENSOR_PINS := $(PYTENSOR)/constraints$(addprefix -,$(PYTENSOR_VERSION)).txt
PYTENSOR_EXTRAS := test$(shell grep -q '^pymc==' $(PYTENSOR_PINS) && echo ,pymc)$(shell grep -q '^nutpie==' $(PYTENSOR_PINS) && echo ,sample)
GGML := plugins/tg-ggml

# The distributions: installed here, editable, and built as wheels.
# Two have environments of their own: PyTensor wants an older Numba, and ggml is compiled when it is installed.
WORKSPACE := core native $(filter-out $(PYTENSOR) $(GGML),$(sort $(wildcard plugins/*))) conformance
TOOLS := attrs basedpyright build dask distributed furo gguf hypothesis import-linter ipykernel jedi joblib jupytext latex2mathml mypy myst-parser nbclient onnxruntime optax optree polars pydantic pytest pytest-timeout \
         pytest-xdist ruff sphinx sphinx-copybutton towncrier vulture xarray
# what builds editable installs, without an environment of its own for each
BUILDERS := editables hatchling
# networks that others trained, in wheels: none of what they run on is installed
MODELS := magika silero-vad
# axe-core, which the tests put into pages, in a wheel: the driver of browsers that it is for is not installed
AXE := axe-playwright-python

SUITE := conformance/src/tg_conformance/suite
QUICK := perform c numba jax torch
PYTEST := $(BIN)/pytest -n $(JOBS) --dist loadgroup
# nothing is compiled beforehand: Python does it for what is imported, a tenth of what is installed
PIP_INSTALL := $(BIN)/python -m pip install --quiet --quiet --no-compile --disable-pip-version-check --constraint constraints.txt

.PHONY: help install array-api pytensor pytensor-tests ggml demo examples test long lint types style format replay rule-use stub fuzz enumerate nightly mutants conformance conformance-rules sanitize docs gallery wheels smoke bench clean
.DELETE_ON_ERROR:
unexport PYTHONDONTWRITEBYTECODE  # or every process of the tests compiles every module again

help:
	@echo 'make demo         see tg work'
	@echo 'make examples     eleven jobs on every backend, beside what is used for them without tg'
	@echo 'make test         lint, type check, tests and the sparse tier of conformance: what to run before a commit'
	@echo 'make long         the tests that make test leaves out, and the quick tier of conformance'
	@echo 'make pytensor     the tests of tg-pytensor, in an environment of its own; PYTENSOR_VERSION=3.0, 3.3'
	@echo 'make pytensor-tests  the tests of PyTensor itself, with modes of tg as the default: SOURCE=CHECKOUT MODES="TG_PERFORM TG_C"'
	@echo 'make ggml         the tests of tg-ggml and its conformance, in an environment of its own: ggml is compiled in it'
	@echo 'make array-api    the suite of the array API on tg.eager: SUITE=CHECKOUT BACKENDS="perform c"'
	@echo 'make lint         the checks only'
	@echo 'make format       apply the formatter and the safe fixes of the linter'
	@echo 'make replay       write down anew what rewriting makes of the corpus in tests/replay: read the diff'
	@echo 'make rule-use     write down anew in which programs each rewrite fires, into tests/rule_use.json'
	@echo 'make stub         write down anew for type checkers where each name of tg comes from'
	@echo 'make fuzz         random programs, rewritten against unrewritten: BACKEND=c GRAPHS=5000 SEED=0'
	@echo 'make mutants      every rule broken in every way: which programs and tests notice; FAMILIES="softmax sorting"'
	@echo 'make enumerate    programs of each family of rules, every replacement by itself: OUTPUTS=20000 SEED=0 BACKEND=c'
	@echo 'make nightly      the same in the large, with the date as seed: a million outputs, and conformance whole'
	@echo 'make conformance  every case, every backend that is installed'
	@echo 'make conformance-rules  the reference and C without rewriting, exact only, and without each class of rules'
	@echo 'make sanitize     the quick tier on C and hostile calls, in units that watch memory and undefined behaviour'
	@echo 'make docs         the documentation, into docs/_build/html; a warning is an error'
	@echo 'make gallery      execute the notebooks of docs/gallery whose text has changed; NOTEBOOKS="kalman flow": these, --all: every one'
	@echo 'make wheels       the wheel of every distribution, into dist/'
	@echo 'make smoke        install the wheels in new environments of 3.11, 3.12 and 3.13, and run a program: BACKENDS="c numba"'
	@echo 'make bench        the benchmarks; BENCH="--only networks --rows ResNet-18": some, see benchmarks/run.py'
	@echo 'make clean        remove the environment, builds and caches'

install: $(STAMP)

$(WITHOUT_TOOLS): Makefile constraints.txt $(WORKSPACE:%=%/pyproject.toml)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(PIP_INSTALL) $(BUILDERS)
	$(PIP_INSTALL) --no-build-isolation --editable 'core[demo,nn]' $(patsubst %,--editable ./%,$(filter-out core,$(WORKSPACE)))
	touch $@

$(STAMP): $(WITHOUT_TOOLS)
	$(PIP_INSTALL) $(TOOLS)
	$(PIP_INSTALL) --no-deps $(MODELS) $(AXE)
	touch $@

$(PYTENSOR_VENV)/installed: $(PYTENSOR)/pyproject.toml $(PYTENSOR_PINS)
	test -x $(PYTENSOR_VENV)/bin/python || $(PYTHON) -m venv $(PYTENSOR_VENV)
	$(PYTENSOR_VENV)/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint $(PYTENSOR_PINS) \
		--editable core --editable native --editable plugins/tg-c --editable plugins/tg-numba --editable '$(PYTENSOR)[$(PYTENSOR_EXTRAS)]'
	touch $@

# The tests of tg-pytensor, beside PyTensor and PyMC.
pytensor: $(PYTENSOR_VENV)/installed
	cd $(PYTENSOR) && $(CURDIR)/$(PYTENSOR_VENV)/bin/pytest -n $(JOBS) -m 'not long' tests

# The tests of PyTensor itself, from a checkout of it (SOURCE=FOLDER), for hours; those that fail are on lists, each with
# its cause.
MODES ?= TG_PERFORM TG_C TG_NUMBA
pytensor-tests: $(PYTENSOR_VENV)/installed
	@test -n '$(SOURCE)' || { echo 'needed SOURCE=/path/to/pytensor: a checkout, see $(PYTENSOR)/peer_tests/README.md'; exit 2; }
	$(PYTENSOR_VENV)/bin/python $(PYTENSOR)/peer_tests/run.py '$(SOURCE)' $(MODES)

# The array API's own suite on tg.eager, from a checkout of it (SUITE=FOLDER); what fails is on lists, each with its cause.
array-api: $(STAMP)
	@test -n '$(SUITE)' || { echo 'needed SUITE=/path/to/array-api-tests: a checkout with its submodule'; exit 2; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement '$(SUITE)/requirements.txt'
	$(BIN)/python tests/array_api/run.py '$(SUITE)' $(BACKENDS)

# ggml is a source distribution: two minutes of a processor, with cmake and ninja.
$(GGML)/.venv/installed: $(GGML)/pyproject.toml constraints.txt
	test -x $(GGML)/.venv/bin/python || $(PYTHON) -m venv $(GGML)/.venv
	$(GGML)/.venv/bin/python -m pip install --quiet --quiet --disable-pip-version-check --constraint constraints.txt \
		--editable 'core[nn]' --editable native --editable plugins/tg-c --editable conformance --editable '$(GGML)[test]'
	touch $@

# The tests of tg-ggml, then conformance at the tier that there is time for.
GGML_EVERY ?= 1
ggml: $(GGML)/.venv/installed
	cd $(GGML) && .venv/bin/pytest -n $(JOBS) -m 'not long' tests
	$(GGML)/.venv/bin/tg conformance --backend ggml --tier sparse --every $(GGML_EVERY) --jobs $(JOBS)

demo: $(WITHOUT_TOOLS)
	$(BIN)/tg demo

# one thread, as tg's own loops run: beside other work OpenBLAS's two wait for one another, and a factor of 250 rows took
# 112 ms of a processor in place of 0.6
examples: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python examples/jobs.py

# pytest's summary is the last thing that each prints. Types are checked by the first of the tests, beside the others.
test: style
	$(PYTEST) -p tg_conformance tests $(SUITE) --tier sparse

# What a usual run leaves out: tests marked long, another fifth of the parameters of those marked sampled, and conformance:
# every other batch of its quick tier but for what is dear to compile, loops and what is made of them, on five backends,
# every third of the sparse one of that on all and of all on the others. A slow machine takes less (.ci/run).
OF_SAMPLED ?= 5
OF_LONG ?= 1
EVERY_QUICK ?= 2
EVERY_SPARSE ?= 3
LOOPS := iteration: or loops: or recurrence: or custom: or linalg or special
long: $(STAMP)
	$(PYTEST) -p tg_conformance --whole --of-sampled $(OF_SAMPLED) --of-long $(OF_LONG) -m 'long or sampled' tests
	$(PYTEST) -p tg_conformance $(SUITE) --tier sparse --backend mlx --backend loopback --every $(EVERY_SPARSE)
	$(PYTEST) -p tg_conformance $(SUITE) --tier sparse -k '$(LOOPS)' $(QUICK:%=--backend %) --every $(EVERY_SPARSE)
	$(PYTEST) -p tg_conformance $(SUITE) --tier quick -k 'not ($(LOOPS))' $(QUICK:%=--backend %) --every $(EVERY_QUICK)

lint: $(STAMP)
	$(MAKE) --no-print-directory --jobs=2 types style

types: $(STAMP)
	$(BIN)/mypy

style: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/python -m tests.commits

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

conformance: $(STAMP)
	$(PYTEST) -p tg_conformance $(SUITE) --tier $(TIER) $(BACKENDS:%=--backend %) \
		--conformance-report reports/conformance.json --conformance-html reports/conformance.html

# The classes of rewrites (tg.rewrite.phases) and how they are left out: the suite means the same without any of them.
CLASSES := exact signed_zero reassociates drops_error
conformance-rules: $(STAMP)
	for options in '--mode off' '--mode strict' $(CLASSES:%='--exclude %'); do \
		echo "$$options"; \
		$(PYTEST) -q -p tg_conformance $(SUITE) --tier sparse \
			--backend perform --backend c $$options || exit 1; \
	done

# Units that watch what they do need the libraries of gcc that keep the books, loaded before all else in the process.
# These write what they see into files, and the program goes on: at the end there must be none.
SANITIZED := reports/sanitized
SANITIZERS := address,undefined,float-cast-overflow
SANITIZING := env -u LD_PRELOAD $(CC) -g1 -fno-omit-frame-pointer -fsanitize=$(SANITIZERS) -fsanitize-recover=all
SANITIZED_RUN := CC='$(SANITIZING)' TG_CACHE_DIR=$(CURDIR)/$(SANITIZED)/cache \
	LD_PRELOAD="$$($(CC) -print-file-name=libasan.so) $$($(CC) -print-file-name=libubsan.so)" \
	ASAN_OPTIONS=detect_leaks=0:halt_on_error=0:allocator_may_return_null=1:max_allocation_size_mb=1024:log_path=$(CURDIR)/$(SANITIZED)/seen \
	UBSAN_OPTIONS=print_stacktrace=1:log_path=$(CURDIR)/$(SANITIZED)/seen
sanitize: $(STAMP)
	rm -rf $(SANITIZED)
	mkdir -p $(SANITIZED)
	$(SANITIZED_RUN) $(BIN)/python -m tests.hostile c
	$(SANITIZED_RUN) $(PYTEST) -q -p tg_conformance $(SUITE) --tier quick --backend c
	! grep -hsv 'AddressSanitizer failed to allocate' $(SANITIZED)/seen*  # sizes that hostile calls ask for, refused

# SOURCE=FOLDER: a checkout of PyTensor, for the column of its own tests alone
rule-use: $(STAMP) $(PYTENSOR_VENV)/installed
	$(BIN)/python -m tests.rule_use $(if $(SOURCE),--pytensor "$(SOURCE)")

replay: $(STAMP)
	$(BIN)/python -m tests.replay

stub: $(STAMP)
	$(BIN)/python -m tests.stub

fuzz: $(STAMP)
	$(BIN)/python -m tests.fuzz --backend $(BACKEND) --graphs $(GRAPHS) --seed $(SEED)

# SAMPLE=0.05 SEED=$$(date +%j) is a part of them, another one each day
FAMILIES ?=
SAMPLE ?= 1
mutants: $(STAMP)
	$(BIN)/python -m tests.mutants --tests --sample $(SAMPLE) --seed $(SEED) $(FAMILIES)

enumerate: $(STAMP)
	$(BIN)/python -m tests.enumerate --backend $(BACKEND) --outputs $(OUTPUTS) --seed $(SEED) --found reports/found

# What no commit has the time for: SHARDS processes share each backend's outputs. A difference ends it.
TODAY := $(shell date +%Y%m%d)
ENUMERATION := perform:1000000 c:50000 numba:50000 jax:10000 torch:10000 mlx:10000
nightly: $(STAMP)
	for one in $(ENUMERATION); do \
		backend=$${one%:*}; outputs=$$(($${one#*:} / $(SHARDS))); \
		seq 0 $$(($(SHARDS) - 1)) | xargs -P $(SHARDS) -I{} $(BIN)/python -m tests.enumerate --backend $$backend \
			--outputs $$outputs --seed $(TODAY) --shard {}/$(SHARDS) --found reports/found || exit 1; \
	done
	printf '%s\n' perform c numba | xargs -P $(SHARDS) -I{} $(BIN)/python -m tests.enumerate.loops --backend {} \
		--count 2000 --seed $(TODAY)
	printf '%s\n' jax torch mlx | xargs -P $(SHARDS) -I{} $(BIN)/python -m tests.enumerate.loops --backend {} \
		--count 200 --seed $(TODAY)
	seq 0 $$(($(SHARDS) - 1)) | xargs -P $(SHARDS) -I{} $(BIN)/python -m tests.enumerate.derivatives \
		--outputs $$((200000 / $(SHARDS))) --seed $(TODAY) --shard {}/$(SHARDS) --found reports/derivatives
	$(MAKE) gallery NOTEBOOKS=--all
	$(MAKE) conformance
	$(PYTEST) -p tg_conformance --whole -m 'nightly or sampled' tests
	$(BIN)/python -m tests.mutants.firings
	$(BIN)/python -m tests.mutants --tests --sample 0.02 --seed $(TODAY) --allowed 0.25

docs: $(STAMP)
	$(BIN)/sphinx-build -b html -W --keep-going -q docs docs/_build/html

NOTEBOOKS ?=
gallery: $(STAMP)
	$(BIN)/python docs/_ext/notebooks.py $(NOTEBOOKS)

wheels: $(STAMP)
	rm -rf dist
	for folder in $(WORKSPACE) $(PYTENSOR) $(GGML); do $(BIN)/python -m build --wheel --no-isolation --outdir dist $$folder || exit 1; done

# Each environment is made anew, and what the wheels depend on comes from the package index.
PYTHONS ?= python3.11 python3.12 python3.13
smoke: wheels
	$(BIN)/python -m tests.smoke --python $(PYTHONS) --backend $(or $(BACKENDS),c)

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py $(BENCH)

clean:
	rm -rf $(VENV) $(PYTENSOR)/.venv* $(GGML)/.venv dist build docs/_build docs/generated reports .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
