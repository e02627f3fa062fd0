# shellcheck shell=bash
# "./ns3 test": every test there is, through one ctest.

run_tests() {
    local tests=$WORK/tests target targets=(test-runner)
    lock
    need_packages "${RUN_PACKAGES[@]}" "${TEST_PACKAGES[@]}"
    set_up
    [[ $(tree_value ENABLE_TESTS) == True ]] || configure_quietly
    for target in $(programs); do
        targets+=("$(target_of "$target")")
    done
    say "building the programs and the native tests"
    build_targets "${targets[@]}"
    link_programs
    say "building the unit tests"
    configure_tests "$tests"
    build_in "$tests" "$LOGS/tests.log"
    unlock
    # No test at all is a failure, whatever the reason: a wrong -R, or a broken set-up.
    exec ctest --test-dir "$tests" -j "$JOBS" --progress --output-on-failure --no-tests=error "$@"
}

# Tests call the programs by their plain names, whatever the profile.
link_programs() {
    local program
    rm -rf -- "$WORK/programs"
    mkdir -p "$WORK/programs"
    for program in $(programs); do
        ln -s -- "$(binary_of "$program")" "$WORK/programs/$program"
    done
}

configure_tests() {
    local log=$LOGS/tests-configure.log
    local -a generator=()
    ! command -v ninja >/dev/null || [[ -f $1/CMakeCache.txt ]] || generator=(-G Ninja)
    cmake -S "$ROOT" -B "$1" "${generator[@]}" -DDLTRAIN_PROGRAMS="$WORK/programs" -DDLTRAIN_NS3="$TREE" \
        -DDLTRAIN_TEST_RUNNER="$(built utils test-runner)" >"$log" 2>&1 ||
        fail_with_log "$log" "the tests could not be configured"
}
