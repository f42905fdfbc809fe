#!/usr/bin/env bash
# The figures of docs/notebook/learning.md on a host with two GPUs, in one visit of at most five minutes.
#
#   OUT=FOLDER [CORES=28-31] [GPUS=2] [SIZES="8192 16384"] [SEEDS="1 2 3 4 5"] scripts/gpu_visit.sh
#
# In the checkout's root, with python3 finding torch, Warp and what pyproject.toml names (PYTHONPATH).
# Most important first; each step has a hard limit and its own lines in the logs, so that a step that
# hangs or fails costs only itself. Writes to OUT:
#   scale.jsonl        one JSON object a step: name, status, seconds, and what the command printed
#   scale.log          standard error of all steps but the tests
#   scale_tests.log    pytest's output
# DEVICE=cpu SIZES=32 SEEDS=1 TESTS=0 tries the script itself without a GPU.
set -u
: "${OUT:?say where to write: OUT=FOLDER}"
DEVICE=${DEVICE:-cuda} GPUS=${GPUS:-2} SIZES=${SIZES:-8192 16384} SEEDS=${SEEDS:-1 2 3 4 5} TESTS=${TESTS:-1}
PYTHON=${PYTHON:-python3}
export PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1
export DMGLAB_HOME=${DMGLAB_HOME:-$(mktemp -d /tmp/visit.XXXXXX)}
mkdir -p "$OUT"
if [ -n "${CORES:-}" ]; then taskset -cp "$CORES" $$ >/dev/null || echo "gpu_visit: not pinned to $CORES" >&2; fi
first=$DEVICE
if [ "$DEVICE" = cuda ]; then first=cuda:0; fi
lab="$PYTHON -m trainer_core.cli.main"
began=$(date +%s.%N)

# step NAME LIMIT_S COMMAND...: the command's standard output, one JSON line or none, into scale.jsonl
step() {
  local name=$1 limit=$2 from to status said
  shift 2
  from=$(date +%s.%N)
  echo "== $name" >>"$OUT/scale.log"
  said=$(timeout -k 5 "$limit" "$@" 2>>"$OUT/scale.log")
  status=$?
  to=$(date +%s.%N)
  STEP="$name" STATUS=$status FROM=$from TO=$to SAID="$said" BEGAN=$began "$PYTHON" - >>"$OUT/scale.jsonl" <<'PY'
import glob, json, os
e = os.environ
line = {"step": e["STEP"], "status": int(e["STATUS"]), "at": round(float(e["FROM"]) - float(e["BEGAN"]), 1),
        "seconds": round(float(e["TO"]) - float(e["FROM"]), 2)}
try:
    found = json.loads(e["SAID"].strip().splitlines()[-1])
except (ValueError, IndexError):
    found = {"said": e["SAID"][-400:]} if e["SAID"] else {}
line["found"] = found
log = found.get("log", "")
if log and os.path.exists(log):  # a training: when its first record came, from the shell's start
    updates = [r for r in map(json.loads, open(log)) if r["type"] == "update"]
    if updates:
        line["first_record_s"] = round(updates[0]["time"] - float(e["FROM"]), 2)
        line["sps_last"] = updates[-1]["sps"]
print(json.dumps(line))
PY
  tail -n 1 "$OUT/scale.jsonl" | cut -c1-600
}

bench() {  # N GPUS
  step "bench $1 x $2" 75 $lab bench train --task pocket_quest/leave_bedroom --device "$first" \
    --num-steps 16 --num-minibatches 64 --update-epochs 4 --updates 4 --warm-up 3 --policy small \
    --num-envs "$1" --gpus "$2"
}

# Compiles the kernels once; two ranks would both do it.
step "kernels" 60 "$PYTHON" -m emulator warmup --device "$first"
for size in $SIZES; do
  bench "$size" 1
  bench "$size" "$GPUS"
done

tests=
if [ "$TESTS" = 1 ]; then  # on the second GPU, while stage 1 runs on the first
  (
    export CUDA_VISIBLE_DEVICES=$((GPUS - 1)) QT_QPA_PLATFORM=offscreen
    timeout -k 5 60 "$PYTHON" -m pytest -p no:cacheprovider tests/trainer_core/test_bench_cuda.py --durations=5
    echo "== status $? of test_bench_cuda.py"
    timeout -k 5 80 "$PYTHON" -m pytest -p no:cacheprovider tests/emulator -k cuda --durations=5
    echo "== status $? of tests/emulator -k cuda"
  ) >"$OUT/scale_tests.log" 2>&1 &
  tests=$!
fi
for seed in $SEEDS; do
  step "stage 1, seed $seed" 30 $lab train --task pocket_quest/leave_bedroom --device "$first" \
    --target-success 0.95 --seconds 25 --seed "$seed"
done
step "convolution or product on this CPU" 25 "$PYTHON" scripts/compare_convolutions.py --seconds 6
if [ -n "$tests" ]; then wait "$tests"; fi
grep -h -E "^== status|passed|failed|error" "$OUT/scale_tests.log" 2>/dev/null | tail -n 6
echo "the visit took $(($(date +%s) - ${began%.*})) s"
