#!/usr/bin/env bash
# Runs the suite under NVIDIA's compute-sanitizer, each test in a process of its own, and keeps a ledger of test and tool, from which docs/sanitizers.md is written.
#
#   docs/sanitize.sh run BUNDLE LEDGER [PART...]   with the programs of `cargo xtask bundle BUNDLE`, in a copy of the repository; goes on where LEDGER ends. PART: tests whose program and
#                                                  name hold one of these words [default: all]
#   docs/sanitize.sh write LEDGER PAGE             writes its table into the page, between the lines <!-- sanitizers --> and <!-- end -->: a slot as cli/src/papers/page.rs has them
#
# TOOLS="memcheck racecheck initcheck synccheck", JOBS=16 at a time, EACH=90 seconds a test, ALL=3600 seconds in all. A test that failed or has no result is tried again, one that did not end when EACH is
# larger. SANITIZER is the program [default: compute-sanitizer]. A line of the ledger counts for the test program, and for the command line's program, of which it has the checksum: with others the test
# runs again. Tests that break the device on purpose (dead_context, lost_device) are left out, and full_device, which leaves no memory to the tools.
set -euo pipefail

usage() {
    sed -n '2,11s/^# \{0,1\}//p' "$0"
    exit 2
}

# One test under one tool, in a process of its own; adds its line to the ledger.
one() {
    local tool=$1 program=$2 sum=$3 folder=$4 test=$5 began=$SECONDS log status=0 left limit result
    left=$((END - $(date +%s)))
    ((left > 1)) || return 0
    limit=$((left < EACH ? left : EACH))
    log=$(mktemp)
    (cd "$folder" && CARGO_MANIFEST_DIR=$PWD timeout -k 5 "$limit" "$SANITIZER" --tool "$tool" --report-api-errors no --target-processes all \
        "$BUNDLE/$program" --exact "$test") >"$log" 2>&1 </dev/null || status=$?
    # Sums of all processes that the test started.
    local found summaries
    summaries=$(grep -cE '(ERROR|RACECHECK) SUMMARY: [0-9]+' "$log" || true)
    found=$(sed -nE 's/.*(ERROR|RACECHECK) SUMMARY: ([0-9]+).*/\2/p' "$log" | awk '{n += $1} END {print n + 0}')
    # The tools themselves may crash when they are told to end.
    if ((status == 124 || status == 137 || (status >= 128 && SECONDS - began >= limit))); then
        # Cut short by the end of the run, not by its own limit: to be tried again.
        ((limit == EACH)) || { rm "$log"; return 0; }
        result='not ended'
    elif grep -q '0 passed; 0 failed; 1 ignored' "$log"; then
        result='ignored'
    elif ((found > 0)); then
        result="$found found"
    elif ! grep -q 'test result' "$log"; then
        result="ended with code $status"
    elif ! grep -q 'test result: ok' "$log"; then
        result='failed'
    elif ((summaries == 0)); then
        result='no kernels'
    else
        result='clean'
    fi
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$tool" "$program" "$test" "$result" $((SECONDS - began)) "$sum" >>"$LEDGER"
    case $result in
        clean | 'no kernels' | 'not ended' | ignored) rm "$log" ;;
        *) mkdir -p "$LEDGER.logs"; mv "$log" "$LEDGER.logs/$tool-$program-${test//[^a-zA-Z0-9_]/-}" ;;
    esac
}

run() {
    local root=$PWD kind package target file folder test tool sum
    BUNDLE=$(cd "$1" && pwd)
    touch "$2"
    LEDGER=$(cd "$(dirname "$2")" && pwd)/$(basename "$2")
    EACH=${EACH:-90} SANITIZER=${SANITIZER:-compute-sanitizer}
    END=$(($(date +%s) + ${ALL:-3600}))
    export BUNDLE LEDGER EACH SANITIZER END WARPPLAY_REQUIRE_GPU=1 WARPPLAY_PROGRAM="$BUNDLE/program-warpplay-cli-warpplay"
    export -f one
    command -v "$SANITIZER" >/dev/null || { echo "$SANITIZER: is not there; SANITIZER names the program" >&2; exit 1; }
    printf '# %s\t%s\n' "$(date +%F)" "$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1)" >>"$LEDGER"
    chmod +x "$BUNDLE"/test-* "$WARPPLAY_PROGRAM"
    while IFS=$'\t' read -r kind package target file folder; do
        [[ $kind == test && $target != dead_context && $target != lost_device && $target != full_device ]] || continue
        sum=$(cat "$BUNDLE/$file" "$WARPPLAY_PROGRAM" | cksum | tr ' ' '-')
        (cd "$root/$folder" && "$BUNDLE/$file" --list --format terse) </dev/null | sed -n 's/: test$//p' | while read -r test; do
            for tool in ${TOOLS:-memcheck racecheck initcheck synccheck}; do
                printf '%s\t%s\t%s\t%s\t%s\n' "$tool" "$file" "$sum" "$root/$folder" "$test"
            done
        done
    done <"$BUNDLE/MANIFEST.tsv" |
        # What is done, or was given as much time and did not end, is left out.
        PARTS=$(printf '%s\n' "${@:3}") awk -F'\t' -v each="$EACH" '
            BEGIN {n = split(ENVIRON["PARTS"], parts, "\n")}
            NR == FNR {if (!/^#/) {key = $1 "\t" $2 "\t" $3; delete has_ended[key]; if ($4 != "failed" && $4 !~ /^ended with/ && ($4 != "not ended" || $5 + 1 >= each)) has_ended[key] = $6}; next}
            has_ended[$1 "\t" $2 "\t" $5] == $3 {next}
            {wanted = ENVIRON["PARTS"] == ""; for (i = 1; i <= n; i++) if (parts[i] != "" && index($2 " " $5, parts[i])) wanted = 1}
            wanted' "$LEDGER" - |
        tr '\t\n' '\0\0' |
        xargs -0 -r -n 5 -P "${JOBS:-16}" bash -c 'one "$@"' one
    awk -F'\t' '!/^#/ {last[$1 "\t" $2 "\t" $3] = $4} END {for (key in last) n[last[key]]++; for (result in n) print n[result], result}' "$LEDGER"
}

write() {
    local ledger=$1 page=$2 table
    awk '/^<!-- sanitizers -->$/ {begins = NR} /^<!-- end -->$/ && begins && !ends {ends = NR} /^<!-- / && begins && NR > begins && !ends {other = 1} END {exit !(ends && !other)}' "$page" ||
        { echo "$page: has no line <!-- sanitizers --> with <!-- end --> after it" >&2; exit 1; }
    table=$(mktemp)
    # shellcheck disable=SC2064
    trap "rm -f '$table' '$table.page'" EXIT
    awk -F'\t' '
        # What counts is of the last form of each program.
        NR == FNR {if (!/^#/) form[$2] = $6; next}
        !/^#/ && $6 != form[$2] {next}
        /^#/ {machine = substr($1, 3) ", " $2; if (!seen[machine]++) machines = machines (machines == "" ? "" : "; ") machine; next}
        {
            split($3, path, "::")
            program = $2; sub(/^test-/, "", program)
            where = program (index($3, "::") ? "::" path[1] : "")
            key = $1 "\t" $2 "\t" $3
            if (!(key in result)) {keys[++n] = key; of[key] = where; tool[key] = $1; test[key] = $3}
            if (!(where in known)) {known[where] = 1; order[++m] = where}
            result[key] = $4
        }
        END {
            n_tools = split("memcheck racecheck initcheck synccheck", tools, " ")
            for (i = 1; i <= n; i++) {
                key = keys[i]; at = of[key] "\t" tool[key]
                if (result[key] == "no kernels" || result[key] == "ignored") continue
                run[at]++; all[tool[key]]++
                if (result[key] == "clean") {clean[at]++; all_clean[tool[key]]++}
                else if (result[key] == "not ended") {
                    name = test[key]; sub(/^[^:]*::/, "", name)
                    if (!((of[key], name) in under)) names[of[key], ++n_names[of[key]]] = name
                    under[of[key], name] = under[of[key], name] (under[of[key], name] == "" ? "" : ", ") tool[key]
                }
                else {bad[of[key]] = bad[of[key]] "**" tool[key] " " test[key] ": " result[key] "** "}
            }
            print "Runs of: " machines "\n"
            print "| tests | memcheck | racecheck | initcheck | synccheck | not ended in its time |"
            print "| --- | ---: | ---: | ---: | ---: | --- |"
            line = "| all |"
            for (t = 1; t <= n_tools; t++) line = line sprintf(" %d of %d |", all_clean[tools[t]], all[tools[t]])
            print line " |"
            for (i = 1; i <= m; i++) {
                line = "| `" order[i] "` |"; some = 0
                for (t = 1; t <= n_tools; t++) {
                    at = order[i] "\t" tools[t]
                    if (run[at]) {line = line sprintf(" %d of %d |", clean[at], run[at]); some = 1} else line = line " - |"
                }
                late = ""
                for (at = 1; at <= n_names[order[i]]; at++) {
                    name = names[order[i], at]
                    late = late (late == "" ? "" : "; ") "`" name "` (" under[order[i], name] ")"
                }
                if (some) print line " " bad[order[i]] late " |"
            }
        }' "$ledger" "$ledger" >"$table"
    awk -v table="$table" '
        /^<!-- sanitizers -->$/ {print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next}
        /^<!-- end -->$/ {skip = 0}
        !skip' "$page" >"$table.page"
    cat "$table.page" >"$page"
}

case "${1:-}" in
    run) (($# >= 3)) || usage; run "${@:2}" ;;
    write) (($# == 3)) || usage; write "$2" "$3" ;;
    *) usage ;;
esac
