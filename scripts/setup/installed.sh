# shellcheck shell=bash disable=SC2034,SC2153,SC2154 # variables of, and for, the other parts
# The build against an installed ns-3: one CMake build of modules, programs and tests.

installed_set_up() {
    need_packages "${RUN_PACKAGES[@]}" "$NS3_PACKAGE"
    local with_mpi='' source
    if grep -qsxF mpi "$WORK/parts" ||
        grep -qs '^DLTRAIN_NS3_MPI_SOURCE:PATH=.' "$BUILD/CMakeCache.txt"; then
        with_mpi=yes
        need_mpi_source
    fi
    if [[ ! -f $BUILD/CMakeCache.txt || ! -f $BUILD/.dltrain-files ]] || ! has_files "$BUILD"; then
        installed_configure
    fi
    [[ -z $with_mpi ]] || installed_need_part mpi
}

# installed_configure [<CMake option>...]
installed_configure() {
    local log=$LOGS/configure.log
    CXXFLAGS="$(prefix_map "$ROOT") ${CXXFLAGS-}" cmake -S "$ROOT" -B "$BUILD" -G Ninja \
        -DDLTRAIN_NS3_SYSTEM=ON "$@" >"$log" 2>&1 ||
        fail_with_log "$log" "CMake could not configure the build"
    save_configured "$BUILD" .
}

installed_build_targets() {
    # Ninja's log keeps what it ever linked.
    grep -qs $'\tbin/' "$BUILD/.ninja_log" ||
        say "building dltrain on the installed ns-3 $(installed_version): some five minutes on" \
            "two cores, once"
    build_in "$BUILD" "$LOGS/build.log" "$@"
}

installed_libraries() { printf '%s\n' "$BUILD"/lib/*.so; }

installed_binary_of() { printf '%s/bin/%s' "$BUILD" "$1"; }

installed_targets() { ninja -C "$BUILD" -t targets all 2>/dev/null | sed 's/: [^:]*$//'; }

# ns-3's module mpi is in no package: its eight files come from the source of the same release.
installed_need_part() {
    [[ $1 == mpi ]] || return 0
    need_packages "${MPI_PACKAGES[@]}"
    local source
    need_mpi_source
    grep -qxF "DLTRAIN_NS3_MPI_SOURCE:PATH=$source" "$BUILD/CMakeCache.txt" ||
        installed_configure -DDLTRAIN_NS3_MPI_SOURCE="$source"
}

# Sets source to the folder.
need_mpi_source() {
    source=$WORK/mpi-$(installed_version)
    if [[ ! -d $source/model ]] || ! has_files "$source"; then
        fetch_module mpi "$source"
    fi
}
