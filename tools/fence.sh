#!/bin/sh
# Programs between protected pages, in memory full of NaN: every op on its samples in every dtype,
# with gradients, random graphs, odd models, and short, odd and shifted shapes, with the usual flags
# of one C compiler. An access beside a buffer ends a mode by a signal; the log's last test is it.
#   tools/fence.sh BUILD      CC: the compiler, the system's unless said; SEEDS: random graphs, 160

set -u
build=${1:?usage: tools/fence.sh BUILD}
tests=$build/rooms/tests/compiled/test_compiled
filter='Fences.*:StaleMemory.*:Graphs/Corners.*:Table/EveryOp.*:RandomGraphs.*'
filter=$filter:Specs/SmallModel.TheNumberOfThreads*
log=$(mktemp) || exit 1
trap 'rm -f "$log"' EXIT
[ -n "${CC:-}" ] || unset CC

${CC:-cc} --version | head -n 1
failed=0
for mode in low high; do
  if PLAIT_FENCE=$mode PLAIT_SOAK=${SEEDS:-160} "$tests" --gtest_filter="$filter" >"$log" 2>&1; then
    echo "PLAIT_FENCE=$mode: $(grep -c '^\[       OK' "$log") tests passed"
  else
    echo "PLAIT_FENCE=$mode: failed ($?)"
    grep -v '^\[       OK' "$log" | tail -n 40
    failed=1
  fi
done
exit $failed
