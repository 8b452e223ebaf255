# The verbs of the project. Each first sets up what the machine lacks (tools/setup.sh), but for those
# of the GPU, which install nothing and are one line where there is no GPU.
#   make            build/plait
#   make train      trains a small RWKV-4 on our own sources, each time anew; ARGS: key=value
#   make test       everything ctest knows, the check of the rooms included
#   make kill-test  50 trainings killed at random times: all resume, none is damaged
#   make fence      programs between protected pages; CC=gcc-13: with that compiler, SEEDS=160
#   make sanitize   the tests under sanitizers; PRESET=asan-ubsan (default) or tsan
#   make fuzz       a reader under libFuzzer; FORMAT=aicf (default), SECONDS=600
#   make mutate     CASES=20000 plans with changes and right checksums: none may end as a bug of ours
#   make bench      every workload against the peers that are installed; ARGS are bench.py's
#   make gpu-test   tests on this machine's GPU, one table last; ARGS are gpu_test.sh's suites
#   make gpu-bench  every workload on the GPU against its peers there; ARGS are gpu_bench.py's
#   make gpu-sweep  time per sample over odd batch sizes on the GPU; ARGS are gpu_sweep.py's
#   make labs       kernels from naive to fast: a matrix product, convolutions, a reduction
#   make format     clang-format over the tracked sources
#   make clean      remove build/

JOBS ?= $(shell nproc)
PRESET ?= asan-ubsan
ARGS ?=
FORMAT ?= aicf
SECONDS ?= 600
CASES ?= 20000

.DEFAULT_GOAL := program
.PHONY: program setup configure train test kill-test fence sanitize fuzz mutate bench gpu-programs gpu-test \
  gpu-bench gpu-sweep labs format clean

setup:
	@tools/setup.sh

configure: setup
	@cmake --preset release

program: configure
	@cmake --build --preset release --target plait -j $(JOBS)

train: program
	build/plait train preset:rwkv4-small --overwrite $(ARGS)

test: configure
	@cmake --build --preset release -j $(JOBS)
	@ctest --preset release -j2 --output-on-failure

kill-test: program
	@tools/kill_test.sh build/plait 50

fence: configure
	@cmake --build --preset release --target test_compiled -j $(JOBS)
	@tools/fence.sh build

sanitize: setup
	@cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET) -j $(JOBS)
	@ctest --preset $(PRESET) -j2 --output-on-failure

fuzz:
	@tools/setup.sh fuzz
	@cmake --preset fuzz
	@cmake --build --preset fuzz --target fuzz_$(FORMAT) -j $(JOBS)
	@mkdir -p build/fuzz/corpus/$(FORMAT)
	build/fuzz/rooms/fuzz/fuzz_$(FORMAT) build/fuzz/corpus/$(FORMAT) tests/samples/$(FORMAT) \
	  -max_total_time=$(SECONDS) -timeout=10 -rss_limit_mb=2048 -max_len=16384 -print_final_stats=1

mutate: configure
	@cmake --build --preset release --target test_cli -j $(JOBS)
	PLAIT_MUTATIONS=$(CASES) PLAIT_MUTATION_SEED=$${SEED:-$$$$} \
	  build/rooms/tests/cli/test_cli --gtest_filter='MutatedPlans.*'

bench: program
	@python3 tools/bench/bench.py $(ARGS)

gpu-programs:
	@if tools/gpu_test.sh --has-gpu; then cmake --preset release && \
	  cmake --build --preset release -j $(JOBS) --target plait test_compiled_gpu test_cuda_hand \
	    test_cuda_print test_cuda_product test_cuda_whole test_cuda_feeds; fi

gpu-test: gpu-programs
	@tools/gpu_test.sh build $(ARGS)

gpu-bench: gpu-programs
	@python3 tools/bench/gpu_bench.py $(ARGS)

gpu-sweep: gpu-programs
	@python3 tools/bench/gpu_sweep.py $(ARGS)

labs: configure
	@cmake --build --preset release --target lab_matmul lab_conv lab_reduce -j $(JOBS)
	build/lab_matmul
	build/lab_conv
	build/lab_reduce

format:
	@tools/setup.sh format
	git ls-files -z '*.h' '*.cpp' '*.cu' '*.cuh' | xargs -0 -r clang-format -i

clean: setup
	rm -rf build
