#!/bin/sh
# Tests on a GPU: all compiled programs, and generated text, hand kernels and contractions on the
# device itself; some of them under compute-sanitizer where it is there. Last one table.
# Usage: tools/gpu_test.sh [BUILD [SUITE ...]]   exit 0 without a GPU, or when nothing failed
#        tools/gpu_test.sh --has-gpu             exit 0 with one; prints nothing
# Suites: compiled hand print product whole feeds memcheck racecheck; all unless said. BUILD
# (build): a build tree, or a folder with the same programs. Logs: BUILD/gpu_test. SHARDS: processes
# at once.

set -u
cd "$(dirname "$0")/.." || exit 1

has_gpu() { ls /dev/nvidia[0-9]* >/dev/null 2>&1 || nvidia-smi -L 2>/dev/null | grep -q GPU; }

if [ "${1:-}" = --has-gpu ]; then
  has_gpu
  exit
fi
build=${1:-build}
[ $# -gt 0 ] && shift
suites=${*:-compiled hand print product whole feeds memcheck racecheck}
if ! has_gpu; then
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
shards=${SHARDS:-$(nproc)}
[ "$shards" -gt 14 ] && shards=14
bad=0

add_row() { printf '%s\t%s\t%s\t%s\t%s\n' "$1" "$2" "$3" "$4" "$5" >>"$table"; }

# The sum of the numbers in googletest's last lines that begin with a word, over all shards.
count() {
  cat "$logs/$2".*.log | sed -n "s/^\[ *$1 *\] \([0-9]*\) tests\{0,1\}[.,].*/\1/p" |
    awk '{ s += $1 } END { print s + 0 }'
}

# A program of the tests, in a build tree or beside the library.
program() {
  for path in "$build/$1" "$build"/rooms/tests/*/"$1"; do
    if [ -x "$path" ]; then
      echo "$path"
      return
    fi
  done
}

# run SUITE LIMIT_SECONDS PROGRAM ARGUMENT...: one row, by shards at the same time. A shard that
# ends without a report has failed once. With $checker, under it.
run() {
  suite=$1 limit=$2 path=$(program "$3")
  shift 3
  if [ -z "$path" ]; then
    add_row "$suite" 0 0 "not built" 0
    return
  fi
  echo "gpu-test: $suite" >&2
  begin=$(date +%s)
  rm -f "$logs/$suite".*.log "$logs/$suite".*.status
  shard=0
  while [ "$shard" -lt "$shards" ]; do
    (
      export GTEST_TOTAL_SHARDS="$shards" GTEST_SHARD_INDEX="$shard"
      # shellcheck disable=SC2086
      timeout "$limit" ${checker:-} "$path" --gtest_brief=1 "$@" >"$logs/$suite.$shard.log" 2>&1
      echo "$?" >"$logs/$suite.$shard.status"
    ) &
    shard=$((shard + 1))
  done
  wait
  report "$suite" "$(($(date +%s) - begin))"
}

# report SUITE SECONDS: adds the row, and shows what failed.
report() {
  if grep -qs 'Device not supported' "$logs/$1".*.log; then
    add_row "$1" 0 0 "not here" "$2"
    return
  fi
  failed=$(count FAILED "$1")
  ended=$(grep -Lx 0 "$logs/$1".*.status | wc -l)
  errors=$(cat "$logs/$1".*.log | sed -n 's/.* SUMMARY: \([0-9]*\) .*/\1/p' |
    awk '{ s += $1 } END { print s + 0 }')
  # A GPU is there: programs that could not use it have tested nothing.
  unused=$(grep -ls '^no GPU' "$logs/$1".*.log | wc -l)
  failed=$((failed + errors + unused))
  [ "$failed" -eq 0 ] && failed=$ended
  if [ "$failed" -gt 0 ]; then
    bad=1
    cat "$logs/$1".*.log | grep -E '^\[  FAILED|Failure$|^no GPU|=========' | head -n 20 >&2
    grep -Lx 0 "$logs/$1".*.status | while read -r status; do
      echo "$status: $(cat "$status"); $(tail -n 1 "${status%.status}.log")" >&2
    done
  fi
  add_row "$1" "$(count PASSED "$1")" "$failed" "$(count SKIPPED "$1")" "$2"
}

# Barriers, shared memory and second stages; small, so that no library's kernel is among them.
op='Table/EveryOp.*/'
chosen="${op}sum:${op}softmax:${op}layer_norm:${op}mean:${op}matmul:${op}conv2d:${op}linear"
chosen="$chosen:${op}wkv*:${op}cumsum:${op}scatter*:${op}argmax:${op}adam_update:Graphs/Corners.*"
chosen="$chosen:Specs/Programs.KernelByKernelIsTheSame/mlp"

for suite in $suites; do
  checker=
  case $suite in
    compiled) run compiled 300 test_compiled_gpu ;;
    hand | print | product | whole | feeds) run "$suite" 300 "test_cuda_$suite" ;;
    memcheck | racecheck)
      if ! command -v compute-sanitizer >/dev/null 2>&1; then
        add_row "$suite" 0 0 "not installed" 0
        continue
      fi
      checker="compute-sanitizer --tool $suite --error-exitcode 9"
      # The driver is asked for a kernel's parameters until it says that there are no more.
      [ "$suite" = memcheck ] && checker="$checker --report-api-errors no"
      run "$suite" 120 test_compiled_gpu "--gtest_filter=$chosen"
      ;;
    *)
      echo "gpu-test: there is no suite $suite" >&2
      exit 2
      ;;
  esac
done

awk -F '\t' '{ printf "%-10s %8s %8s %14s %9s\n", $1, $2, $3, $4, $5 }' "$table"
exit "$bad"
