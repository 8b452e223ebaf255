#!/bin/sh
# Tests on a GPU: all compiled programs, the hand kernels and contractions on the device itself, and
# some of them under compute-sanitizer where it is installed. Last one table; logs: BUILD/gpu_test.
# Usage: tools/gpu_test.sh [BUILD [SUITE ...]]     exit 0 without a GPU, or when nothing failed
# Suites: compiled hand product memcheck racecheck; all unless said.

set -u
cd "$(dirname "$0")/.." || exit 1
build=${1:-build}
[ $# -gt 0 ] && shift
suites=${*:-compiled hand product memcheck racecheck}

if ! ls /dev/nvidia[0-9]* >/dev/null 2>&1 && ! nvidia-smi -L 2>/dev/null | grep -q GPU; then
  echo "gpu-test: skipped, there is no GPU on this machine"
  exit 0
fi
build=$(cd "$build" && pwd) || exit 1
if [ ! -e "$build/libplait_cuda.so" ]; then
  echo "gpu-test: $build has no libplait_cuda.so: it was built without the CUDA toolkit" >&2
  exit 1
fi
logs=$build/gpu_test
mkdir -p "$logs" || exit 1
table=$logs/table.txt
printf 'suite\tpassed\tfailed\tskipped\tseconds\n' >"$table"
export PLAIT_PLUGINS="$build" PLAIT_TEST_DEVICE=gpu PLAIT_CACHE="$logs/cache"
bad=0

# The number in the last line of googletest's report that begins with a word: 0 without one.
count() { sed -n "s/^\[ *$1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" "$2" | tail -n 1; }

add_row() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" >>"$table"; }

# run NAME PROGRAM ARGUMENT...: one row. A program that ends without a report has failed once.
run() {
  name=$1
  shift
  if [ ! -x "$1" ] && ! command -v "$1" >/dev/null 2>&1; then
    add_row "$name" 0 0 "not built" 0
    return
  fi
  echo "gpu-test: $name" >&2
  begin=$(date +%s)
  "$@" >"$logs/$name.log" 2>&1
  status=$?
  passed=$(count PASSED "$logs/$name.log")
  failed=$(count FAILED "$logs/$name.log")
  skipped=$(count SKIPPED "$logs/$name.log")
  errors=$(sed -n 's/.* SUMMARY: \([0-9]*\) .*/\1/p' "$logs/$name.log" | tail -n 1)
  failed=$((${failed:-0} + ${errors:-0}))
  [ "$status" -ne 0 ] && [ "$failed" -eq 0 ] && failed=1
  if [ "$failed" -gt 0 ]; then
    bad=1
    grep -E '^\[  FAILED|Failure$|=========' "$logs/$name.log" | head -n 20 >&2
    [ -z "$passed" ] && tail -n 5 "$logs/$name.log" >&2
  fi
  add_row "$name" "${passed:-0}" "$failed" "${skipped:-0}" $(($(date +%s) - begin))
}

tests=$build/rooms/tests
compiled=$tests/compiled/test_compiled_gpu
# Barriers, shared memory and second stages; small, so that no library's kernel is among them.
sums='Table/EveryOp.*/sum:Table/EveryOp.*/softmax:Table/EveryOp.*/layer_norm:Table/EveryOp.*/mean'
products='Table/EveryOp.*/matmul:Table/EveryOp.*/conv2d:Table/EveryOp.*/linear'
hands='Table/EveryOp.*/wkv*:Table/EveryOp.*/cum*:Table/EveryOp.*/scatter*:Table/EveryOp.*/arg*'
chosen="$sums:$products:$hands:Graphs/Corners.*:Specs/Programs.KernelByKernelIsTheSame/mlp"

for suite in $suites; do
  case $suite in
    compiled) run compiled "$compiled" --gtest_brief=1 ;;
    hand) run hand "$tests/backends/test_cuda_hand" --gtest_brief=1 ;;
    product) run product "$tests/codegen/test_cuda_product" --gtest_brief=1 ;;
    memcheck | racecheck)
      if ! command -v compute-sanitizer >/dev/null 2>&1; then
        add_row "$suite" 0 0 "not installed" 0
        continue
      fi
      run "$suite" compute-sanitizer --tool "$suite" --error-exitcode 9 "$compiled" \
        --gtest_brief=1 "--gtest_filter=$chosen"
      ;;
    *)
      echo "gpu-test: there is no suite $suite" >&2
      exit 2
      ;;
  esac
done

awk -F '\t' '{ printf "%-10s %8s %8s %14s %9s\n", $1, $2, $3, $4, $5 }' "$table"
exit "$bad"
