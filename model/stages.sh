#!/bin/sh
# Runs one stage of the training, with the settings that the shipped models were made with. Files are in build/ beside this script.
#
#   sh stages.sh prepare            pairs to tokens and hard negatives (16 cores: a minute and a half); needs build/carry-pairs/{pairs.tsv.xz,vocab.txt}
#                                   and build/sectile-static-1.bin (make.py)
#   sh stages.sh smoke              a few steps of everything from build/carry-pairs/smoke.npz (any 3-layer checkpoint): does it run, how fast
#   sh stages.sh untouched          vectors of all-MiniLM-L6-v2; needs build/carry-teacher (teacher.py)
#   sh stages.sh teacher SECONDS    fine-tune it, and its vectors
#   sh stages.sh six SECONDS        6-layer student: the shipped transformer
#   sh stages.sh strong SECONDS     6-layer student that keeps less of the untouched teacher: the static table's teacher, and its vectors
#   sh stages.sh three SECONDS      3-layer student
#   sh stages.sh static SECONDS     three static tables, each trained for at most SECONDS, and their mean: the shipped one
#
# Further options go to train.py and win over those here. Checkpoints: build/checkpoints/{teacher-N,six,strong,three,static}.npz.
set -eu
here=$(dirname "$0")
build=$here/build
data=$build/data
points=$build/checkpoints
stage=$1
seconds=${2:-300}
[ $# -lt 2 ] && shift || shift 2
export PYTHONUNBUFFERED=1
mkdir -p "$points"

train() { python3 "$here/train.py" "$@" --vocabulary "$build/carry-pairs/vocab.txt"; }

case $stage in
prepare)
    python3 "$here/pairs.py" "$build/carry-pairs/pairs.tsv.xz" "$build/carry-pairs/vocab.txt" "$data" "$@"
    python3 "$here/words.py" "$build/carry-pairs/pairs.tsv.xz" "$build/carry-pairs/vocab.txt" "$data" ;;
smoke)
    train student "$data" --init "$build/carry-pairs/smoke.npz" --out "$build/smoke.npz" --seconds 25 --say 3 --round-from 0.5 "$@"
    train static "$data" --init "$build/sectile-static-1.bin" --out "$build/smoke.npz" --seconds 15 --say 3 "$@" ;;
untouched)
    train vectors "$data" --model "$build/carry-teacher/teacher" --name untouched ;;
teacher)
    train teacher "$data" --init "$build/carry-teacher/teacher" --targets untouched --out "$points/teacher" --seconds "$seconds" "$@"
    rm -f "$data/vectors-tuned.pt"
    train vectors "$data" --model "$points/teacher" --name tuned ;;
six)
    train student "$data" --init "$points/teacher" --layers 0,1,2,3,4,5 --targets tuned \
        --contrastive 0.3 --second-targets untouched --second-kl 0.5 --out "$points/six.npz" --seconds "$seconds" "$@" ;;
strong)
    train student "$data" --init "$points/teacher" --layers 0,1,2,3,4,5 --targets tuned --out "$points/strong.npz" --seconds "$seconds" "$@"
    rm -f "$data/vectors-strong.pt"
    train vectors "$data" --model "$points/strong.npz" --name strong ;;
three)
    train student "$data" --init "$points/teacher" --layers 0,2,5 --targets tuned \
        --contrastive 0.5 --second-targets untouched --second-kl 0.3 --out "$points/three.npz" --seconds "$seconds" "$@" ;;
static)
    for seed in 2 5 7; do
        train static "$data" --init "$build/sectile-static-1.bin" --targets strong --hard 0 --neighbours 0 --rate 1e-2 --contrastive 0 \
            --steps 1600 --seed "$seed" --out "$points/static-$seed.npz" --seconds "$seconds" "$@"
    done
    python3 "$here/average.py" "$points/static.npz" "$points/static-2.npz" "$points/static-5.npz" "$points/static-7.npz" ;;
*)
    echo "unknown stage: $stage" >&2
    exit 2 ;;
esac
