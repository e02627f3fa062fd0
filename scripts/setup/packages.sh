# shellcheck shell=bash disable=SC2034 # variables used by the other parts
# Debian packages. The first command installs what building and running need; "./ns3 test" the rest.

RUN_PACKAGES=(g++ cmake ninja-build ccache python3
    libboost-dev libboost-program-options-dev libboost-iostreams-dev libprotobuf-dev
    nlohmann-json3-dev
    libjs-d3) # the charts of report.html
SOURCE_PACKAGES=(bzip2)
MPI_PACKAGES=(libopenmpi-dev openmpi-bin)
# What tests need, by the words of scripts/setup/tests.py.
declare -A TEST_PACKAGES=(
    [unit]="libgtest-dev"
    [python]="python3-pandas python3-matplotlib"
    [tshark]="tshark"
    [browser]="chromium chromium-driver python3-selenium"
    [notebook]="python3-nbclient python3-ipykernel"
    [pip]="python3-pip python3-venv"
    # what ./ns3 capture installs on first use: scripts/cluster_simulator/capture/installing.py
    [torch]="python3-torch python3-torchvision libtorch-dev pybind11-dev libpython3-dev"
)

# missing_packages <package>...: those that are not installed, in one line.
missing_packages() {
    local package installed
    installed=" $(dpkg-query -W -f '${db:Status-Status}:${Package} ' "$@" 2>/dev/null) " || true
    for package; do
        [[ $installed == *" installed:$package "* ]] || printf '%s ' "$package"
    done
}

# need_packages <package>...: installs those that are missing, or says what to type.
need_packages() {
    local missing
    if ! command -v dpkg-query apt-get >/dev/null; then
        need_programs
        return
    fi
    missing=$(missing_packages "$@")
    [[ -n $missing ]] || return 0
    missing=${missing% }
    local -a as_root
    find_root || fail "these packages are missing; type:  sudo apt-get install" \
        "--no-install-recommends $missing"
    say "installing with apt${as_root[*]:+ and sudo} (about a minute, once): $missing"
    install_packages "$missing"
}

# On a system without apt the names of packages are unknown; compilers and tools can still be looked
# for.
need_programs() {
    local program
    for program in g++ cmake python3 mpicxx bzip2; do
        command -v "$program" >/dev/null ||
            fail "'$program' is missing, and this is no Debian: install a C++17 compiler, CMake," \
                "Python 3, Open MPI, Boost (with program_options), nlohmann-json, bzip2; Ninja" \
                "and ccache if you can (for ./ns3 test also GoogleTest and tshark)"
    done
}

# Sets as_root to the words before a command that makes it run as root.
find_root() {
    [[ -z ${DLTRAIN_NO_INSTALL:-} ]] || return 1
    as_root=()
    ((EUID == 0)) && return
    command -v sudo >/dev/null || return 1
    as_root=(sudo)
    sudo -n true 2>/dev/null && return
    [[ -t 0 && -t 2 && -z ${CI:-} ]]
}

# install_packages <names>: a fresh machine may have no package lists yet, or old ones.
install_packages() {
    local log=$LOGS/apt.log names
    read -ra names <<<"$1"
    local -a install=("${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -y install \
        --no-install-recommends "${names[@]}")
    if has_package_lists && "${install[@]}" </dev/null >"$log" 2>&1; then
        return
    fi
    update_package_lists || true
    "${install[@]}" </dev/null >>"$log" 2>&1 ||
        fail_with_log "$log" "apt could not install what is missing; type:  sudo apt-get install" \
            "--no-install-recommends $1"
}

has_package_lists() { compgen -G '/var/lib/apt/lists/*_Packages*' >/dev/null; }

# A broken third-party source must not stop us.
update_package_lists() {
    local -a as_root
    find_root || return 1
    mkdir -p "$LOGS" 2>/dev/null || return 1
    "${as_root[@]}" apt-get update </dev/null >>"$LOGS/apt.log" 2>&1 || true
}
