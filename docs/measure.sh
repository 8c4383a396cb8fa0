#!/usr/bin/env bash
# Measures every figure of docs/performance.md, its appendix docs/performance-journal.md and docs/papers, and the tables of docs/guides/cfr.md, and writes them into the pages.
#
#   docs/measure.sh run BUNDLE OUT [--quick]   measure with the programs of `cargo xtask bundle BUNDLE`, in a copy of the repository; results go to OUT
#   docs/measure.sh write OUT                  write them into the pages, with the program that `cargo build --release -p warpplay-cli` has made
#
# MNIST=DIR are MNIST's four files, GAMES=FILE records of shogi games; without them digits are drawn and the repository's hundred games are taken. DEVICE is the device [default: auto].
# With PEERS=yes PyTorch and cuBLAS are timed beside, by docs/peers.
# PAPERS="mctsnc cfr_thesis" measures these publications only, BENCHES="mcts" these benches only; an empty list none.
set -euo pipefail

usage() {
    sed -n '2,10s/^# \{0,1\}//p' "$0"
    exit 2
}

# Counts and names what failed, in `failed` of the caller.
failure() {
    failed=$((failed + 1))
    echo "$1: failed" >&2
}

# Ends the script with 1 if something failed.
end() {
    ((failed == 0)) || {
        echo "$failed failed" >&2
        exit 1
    }
}

run() {
    local bundle=$1 out=$2 quick=${3:-} device=${DEVICE:-auto} name failed=0
    local games=${GAMES:-tests/golden/shogi/first_100.usi.txt.gz}
    local -a few=()
    case $quick in
        '') ;;
        --quick) few=(--quick) ;;
        *) usage ;;
    esac
    mkdir -p "$out"
    # A bench: its name, its package, its own flags. One that fails does not end the others.
    bench() {
        [[ " ${BENCHES-mcts azero tile mlp cfr shogi shogi_bonanza} " == *" $1 "* ]] || return 0
        "$bundle/bench-$2-$1" --device "$device" "${few[@]}" --json "$out/bench-$1.jsonl" "${@:3}" ||
            failure "bench $1"
    }
    local -a beside_azero=() beside_tile=() beside_mlp=()
    if [[ ${PEERS:-} == yes ]]; then
        beside_azero=(--peer "python3 docs/peers/azero.py" --peer "python3 docs/peers/azero.py --compile")
        beside_tile=(--peer "python3 docs/peers/tile.py")
        beside_mlp=(--peer "python3 docs/peers/mlp.py" --peer "python3 docs/peers/mlp.py --compile")
    fi
    bench mcts warpplay
    bench azero warpplay --seconds 0.25 "${beside_azero[@]}"
    bench tile warpplay --seconds 0.25 "${beside_tile[@]}"
    bench mlp warpplay --seconds 1 ${MNIST:+--data "$MNIST"} "${beside_mlp[@]}"
    bench cfr warpplay --seconds 1
    bench shogi warpplay --seconds 0.5 --games "$games"
    bench shogi_bonanza warpplay-papers --seconds 0.5 --games "$games"
    # A publication: its name, its own flags. What was measured before an end is gone on with.
    paper() {
        [[ " ${PAPERS-mctsnc checkers_conv mnist_mlp shogi_bonanza cfr_thesis} " == *" $1 "* ]] || return 0
        local kept="$out/$1.journal" keep=--checkpoint
        [[ ! -e $kept ]] || keep=--resume
        "$bundle/program-warpplay-cli-warpplay" papers "$1" --device "$device" "${few[@]}" "$keep" "$kept" --json "$out/$1.json" --plots "$out/$1" "${@:2}" ||
            failure "publication $1"
    }
    for name in mctsnc checkers_conv cfr_thesis; do paper "$name"; done
    paper mnist_mlp ${MNIST:+--data "$MNIST"}
    paper shogi_bonanza --records "$games" --quiescence
    end
}

write() {
    local out=$1 program=target/release/warpplay target file name failed=0
    # A page and its results. One that fails does not end the others.
    page() {
        "$program" papers page "$@" || failure "page $1"
    }
    # Benches stand on four pages; each page gets the results of those that it has a table of.
    for target in docs/performance.md docs/performance-journal.md docs/guides/cfr.md docs/matmul-ladder.md; do
        local -a benches=()
        for file in "$out"/bench-*.jsonl; do
            name=$(basename "$file" .jsonl)
            name=${name#bench-}
            if [[ -e $file ]] && grep -q "^<!-- bench ${name%%-*} " "$target"; then benches+=("$file"); fi
        done
        # Figures are drawn beside the page that shows them.
        local -a plots=()
        if [[ $target == docs/performance.md ]]; then plots=(--plots "${target%.md}"); fi
        ((${#benches[@]} == 0)) || page "$target" "${benches[@]}" "${plots[@]}"
    done
    for file in "$out"/*.json; do
        name=$(basename "$file" .json)
        [[ -e docs/papers/$name.md ]] || continue
        local -a figures=("$out/$name"/*.svg)
        if [[ -e ${figures[0]} ]]; then
            mkdir -p "docs/papers/$name"
            cp "${figures[@]}" "docs/papers/$name/"
        fi
        page "docs/papers/$name.md" "$file"
    done
    end
}

case "${1:-}" in
    run) (($# == 3 || $# == 4)) || usage; run "${@:2}" ;;
    write) (($# == 2)) || usage; write "$2" ;;
    *) usage ;;
esac
