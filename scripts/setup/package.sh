# shellcheck shell=bash disable=SC2153,SC2154 # variables of the other parts
# "./ns3 package": a .deb, a wheel and a tarball, for machines without this clone. A build of its
# own: it runs on any processor of the architecture, and names no folder of this machine.

PACKAGE_KINDS=(deb wheel tar)
PACKAGE_PACKAGES=(binutils patchelf dpkg-dev file) # CPack calls dpkg-shlibdeps and file

# package [deb|wheel|tar]... [--output=DIR]
package() {
    local output=$WORK/packages kinds=() work=$WORK/package
    while (($#)); do
        case $1 in
        --output=?*) output=${1#*=} ;;
        --output | --output=) usage_error "package --output: needs a folder, --output=DIR" ;;
        -*) usage_error "package $1: no such option; there is --output=DIR" ;;
        *)
            [[ " ${PACKAGE_KINDS[*]} " == *" $1 "* ]] || usage_error "package $1: no such kind" \
                "of package$(nearest "$1" "${PACKAGE_KINDS[@]}"); there are: ${PACKAGE_KINDS[*]}"
            [[ " ${kinds[*]} " == *" $1 "* ]] || kinds+=("$1")
            ;;
        esac
        shift
    done
    ((${#kinds[@]})) || kinds=("${PACKAGE_KINDS[@]}")
    [[ ! -e $output || -d $output ]] || usage_error "package --output=$output: is no folder"
    is_writable "$output" || usage_error "package --output=$output: cannot be written"
    output=$(cd -- "$output" && pwd)
    export_environment
    lock
    settle_in_clone
    find_ns3
    [[ $ns3_from == installed ]] || usage_error "package: only on the installed ns-3, not on its" \
        "source; type:  ./ns3 configure --installed"
    need_packages "${RUN_PACKAGES[@]}" "$NS3_PACKAGE" "${PACKAGE_PACKAGES[@]}"
    package_build "$work"
    python3 "$ROOT/scripts/setup/package/packages.py" --root="$ROOT" --build="$work/build" \
        --work="$work" --output="$output" "${kinds[@]}" || exit
}

# package_build <folder>
package_build() {
    local log=$LOGS/package.log
    mkdir -p "$1"
    if [[ ! -f $1/build/CMakeCache.txt || ! -f $1/build/.dltrain-files ]] ||
        ! has_files "$1/build"; then
        CXXFLAGS="$(prefix_map "$ROOT")" cmake -S "$ROOT" -B "$1/build" -G Ninja \
            -DDLTRAIN_NS3_SYSTEM=ON -DDLTRAIN_PACKAGE=ON >"$log" 2>&1 ||
            fail_with_log "$log" "CMake could not configure the build of packages"
        save_configured "$1/build" .
        say "building for packages: any processor of this architecture, some five minutes on two" \
            "cores, once"
    fi
    build_in "$1/build" "$log" dltrain-package
}
