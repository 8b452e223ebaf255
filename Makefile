# The verbs of the project. Each first sets up what the machine lacks (tools/setup.sh).
#   make            build/plait
#   make train      a small real training on the reference backend
#   make test       everything ctest knows, the check of the rooms included
#   make sanitize   the tests under sanitizers; PRESET=asan-ubsan (default) or tsan
#   make bench      build and run the benches; ARGS are theirs
#   make format     clang-format over the tracked sources
#   make clean      remove build/

JOBS ?= $(shell nproc)
PRESET ?= asan-ubsan
ARGS ?=
small_model = model:rwkv4?layers=2&width=32&vocab=64&context=16&copy=8&batch=2&train=1

.DEFAULT_GOAL := program
.PHONY: program setup configure train test sanitize bench format clean

setup:
	@tools/setup.sh

configure: setup
	@cmake --preset release

program: configure
	@cmake --build --preset release --target plait -j $(JOBS)

train: program
	build/plait run '$(small_model)' --steps 20

test: configure
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j2 --output-on-failure

sanitize: setup
	@cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --preset $(PRESET) -j2 --output-on-failure

bench: configure
	@cmake --build --preset release --target plait_bench -j $(JOBS)
	build/plait_bench $(ARGS)

format:
	@tools/setup.sh format
	git ls-files -z '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 -r clang-format -i

clean: setup
	rm -rf build
