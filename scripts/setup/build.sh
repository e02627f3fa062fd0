# shellcheck shell=bash disable=SC2153,SC2154 # variables of the other parts
# Running a build, and what a person sees of it; the programs of scratch/.

programs() {
    local file
    local -a names=()
    for file in "$ROOT"/scratch/*.cc; do
        [[ ! -e $file ]] || names+=("$(basename -- "$file" .cc)")
    done
    printf '%s' "${names[*]-}"
}

is_program() { [[ -f $ROOT/scratch/$1.cc ]]; }

# check_targets <word of build>...: Ninja, and ns3's script, speak of targets in words of their own.
check_targets() {
    local known name
    while (($#)); do
        case $1 in
        -j | --jobs) (($# == 1)) || shift ;; # ns-3's options: has_no_option
        -*) ;;
        *)
            # A path, or the file, of a program will do for ns-3.
            name=${1##*/} name=${name%.cc}
            [[ $ns3_from == source ]] || name=$1
            if ! is_program "$name" && ! is_target "$name"; then
                # A file that has come since: its target comes with CMake's next run.
                [[ $ns3_from == source ]] ||
                    cmake --build "$BUILD" --target build.ninja >"$LOGS/build.log" 2>&1 || true
                is_target "$name" || no_target "$1"
            fi
            ;;
        esac
        shift
    done
}

is_target() {
    known=$("${ns3_from}_targets")
    [[ -n $1 ]] && grep -qxF -- "$1" <<<"$known"
}

no_target() {
    local -a names
    mapfile -t names < <(programs | tr ' ' '\n' && echo && grep -v / <<<"$known")
    usage_error "build $1: no such target$(nearest "$1" "${names[@]}");" \
        "programs: $(programs)"
}

# Tests, mpirun and scripts call the programs by their plain names, whatever the build. (A link
# that is there already is not touched: others may be using it.)
link_programs() {
    local program link
    mkdir -p "$WORK/programs"
    for program in $(programs); do
        link=$WORK/programs/$program
        [[ -x $(binary_of "$program") ]] || continue
        [[ $(readlink -- "$link") == "$(binary_of "$program")" ]] ||
            ln -sfn -- "$(binary_of "$program")" "$link"
    done
}

# build_in <folder> <log> [<target>...]
build_in() {
    local folder=$1 log=$2 targets=()
    shift 2
    (($# == 0)) || targets=(--target "$@")
    local interrupted=''
    trap 'interrupted=yes' INT
    if ! NINJA_STATUS='[%f/%t] ' cmake --build "$folder" -j "$JOBS" "${targets[@]}" 2>&1 |
        tee "$log" | show_progress; then
        ! grep -q '^ninja: build stopped: interrupted' "$log" || interrupted=yes
        [[ -z $interrupted ]] || stop_interrupted
        what_failed "$log" | plain | sed 's/^/    /' >&2
        fail "the build failed (everything it said: $(relative "$log"))"
    fi
    [[ -z $interrupted ]] || stop_interrupted
    trap - INT
}

stop_interrupted() {
    say "interrupted: the same command goes on from here"
    exit 130
}

# what_failed <log>: 40 lines of what the first failed commands said, without the commands.
# Only Ninja marks them; otherwise the end of the log has to do.
what_failed() {
    if grep -q '^FAILED: ' "$1"; then
        awk '/^FAILED: / { show = 1; print; getline; next }
            /^\[[0-9]/ { show = 0 }
            show && lines++ < 40' "$1"
    else
        tail -n 30 "$1"
    fi
}

# plain: without colours, unless a terminal shows them.
plain() { if [[ -t 2 ]]; then cat; else sed 's/\x1b\[[0-9;]*[mK]//g'; fi; }

# show_progress: turns a build's lines into one line of a terminal, or into a few lines of a log
# file.
show_progress() {
    local line count total last=-1 shown=''
    while IFS= read -r line; do
        [[ $line =~ ^\[\ *([0-9]+)(/([0-9]+)|%)\] && $line != *Re-* ]] || continue
        count=${BASH_REMATCH[1]} total=${BASH_REMATCH[3]:-100}
        if [[ -t 2 ]]; then
            printf '\r  building %s of %s ' "$count" "$total" >&2
            shown=yes
        elif ((count * 4 / total != last)); then
            last=$((count * 4 / total))
            say "  building $count of $total"
        fi
    done
    # Gone when it is over: the program's own output starts on a clean line.
    [[ -z $shown ]] || printf '\r\033[K' >&2
}
