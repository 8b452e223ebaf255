#!/bin/sh
# Kills a training with SIGKILL at random times, again and again, and resumes it: it must go on from
# the newest checkpoint that was on the disk, and end with the same bits as a run that was left
# alone. Usage: tools/kill_test.sh PLAIT [KILLS] [SEED]      KILLS: 50 unless said

set -u
plait=${1:?usage: tools/kill_test.sh PLAIT [KILLS] [SEED]}
kills=${2:-50}
seed=${3:-$$}
work=$(mktemp -d) || exit 1
child=
trap '[ -n "$child" ] && kill -9 "$child" 2>/dev/null; rm -rf "$work"' EXIT
trap 'exit 1' INT TERM

give_up() {
  echo "kill_test: $1 (seed $seed)" >&2
  [ -f "$work/log" ] && tail -n 5 "$work/log" >&2
  exit 1
}

awk 'BEGIN { for (i = 0; i < 3000; ++i) print "line " i * 7919 % 1000 ";" }' >"$work/text.txt"
cat >"$work/run.toml" <<TOML
[model]
name = "rwkv4"
layers = 2
width = 32
context = 16
copy = 0
vocab = "data"
[data]
path = ["$work/text.txt"]
[train]
batch = 4
steps = 600
threads = 1
[checkpoint]
every = 3
keep = 2
TOML

newest() { # the step of the newest checkpoint's folder, 0 without one
  ls "$1/checkpoints" 2>/dev/null | sed -n 's/^step-0*\([0-9][0-9]*\)$/\1/p' | sort -n | tail -n 1 |
    grep . || echo 0
}
result() { # of all tensors of the last checkpoint
  cat "$1"/checkpoints/step-00000600/weights.safetensors \
    "$1"/checkpoints/step-00000600/optimizer.safetensors | cksum
}

# Left alone; the first one fills the kernel cache, the second is for the clock.
"$plait" train "$work/run.toml" output.folder="$work/alone" >"$work/log" 2>&1 ||
  give_up "the run that is left alone failed"
wanted=$(result "$work/alone")
begin=$(date +%s.%N)
"$plait" train "$work/run.toml" output.folder="$work/timed" >"$work/log" 2>&1 ||
  give_up "the second run that is left alone failed"
[ "$(result "$work/timed")" = "$wanted" ] || give_up "two runs that were left alone differ"
whole=$(echo "$begin $(date +%s.%N)" | awk '{ print $2 - $1 }')

done=0 runs=0 mid_write=0
run="$work/run0"
while [ "$done" -lt "$kills" ]; do
  before=$(newest "$run")
  if [ -f "$run/config.toml" ]; then
    "$plait" train --resume "$run" >"$work/log" 2>&1 &
  else # killed before there was a run
    rm -rf "$run"
    "$plait" train "$work/run.toml" output.folder="$run" >"$work/log" 2>&1 &
  fi
  child=$!
  # Somewhere in the first half of what a whole run takes: loading, stepping or writing.
  sleep "$(awk -v s="$seed" -v n="$done" -v w="$whole" \
    'BEGIN { srand(s * 1000 + n); rand(); print 0.02 + rand() * w / 2 }')"
  kill -9 "$child" 2>/dev/null && done=$((done + 1))
  wait "$child" 2>/dev/null
  status=$?
  child=
  if [ "$before" -gt 0 ] && grep -q '^run: ' "$work/log"; then
    grep -q "from step $before to" "$work/log" || give_up "did not go on from step $before"
  fi
  grep -q 'passed over\|is not whole' "$work/log" && give_up "a checkpoint was damaged"
  [ "$(newest "$run")" -ge "$before" ] || give_up "checkpoint $before is gone"
  [ -n "$(find "$run" '(' -name '.*tmp*' -o -path '*/.plait/tmp-*' -o -name new ')' 2>/dev/null)" ] && mid_write=$((mid_write + 1))
  if [ "$status" -eq 0 ]; then
    [ "$(result "$run")" = "$wanted" ] || give_up "a resumed run ended with other bits"
    runs=$((runs + 1))
    run="$work/run$runs"
  elif [ "$status" -ne 137 ]; then
    give_up "a run failed with $status"
  fi
done

if [ -f "$run/config.toml" ]; then
  "$plait" train --resume "$run" >"$work/log" 2>&1 || give_up "the last resume failed"
  [ "$(result "$run")" = "$wanted" ] || give_up "the last run ended with other bits"
  runs=$((runs + 1))
fi
echo "kill_test: $done kills over $runs runs, $mid_write of them while a file was being written:" \
  "all resumed, all ended with the same bits (seed $seed)"
