#!/usr/bin/env bash
# The README's first command, the unit tests and the identity runs on Debian 13 (g++ 14, ns-3 3.43,
# Python 3.13), in a root that debootstrap makes from the mirror of this system. Results are the
# bytes of tests/identity/expected.json, as on Debian 12.
#
#   tests/setup/debian-13-test.sh [bookworm]    the same by hand, or on a fresh Debian 12; says how
#                                               long each command took
# ctest: TIMEOUT 5400 PROCESSORS 2 FULL
set -uo pipefail
ROOT=${DLTRAIN_ROOT:-$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)}
SUITE=${1:-trixie}
BASE=$ROOT/.ns3/debian/$SUITE # as debootstrap made it, for the next time
skip() { echo "skipped: $*" && exit 77; }
fail() { echo "FAILED: $*" && exit 1; }

((EUID == 0)) || skip "needs root"
command -v debootstrap >/dev/null || skip "needs debootstrap (apt-get install debootstrap)"
mirror=$(sed -nE 's/^URIs: *([^ ]*\/debian\/?) *$/\1/p
    s/^deb (\[[^]]*\] )?([^ ]*\/debian\/?) .*/\2/p' \
    /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null | head -n 1)
[[ -n $mirror ]] || skip "apt has no mirror of Debian"

if [[ ! -e $BASE/complete ]]; then
    rm -rf -- "$BASE"
    mkdir -p "$(dirname -- "$BASE")"
    debootstrap --variant=minbase "$SUITE" "$BASE" "$mirror" >"$BASE.log" 2>&1 ||
        { tail -n 20 "$BASE.log" && fail "debootstrap $SUITE"; }
    touch "$BASE/complete"
fi
fresh=$(mktemp -d "$(dirname -- "$BASE")/root.XXXXXX")
# shellcheck disable=SC2317 # the trap calls it
leave() {
    umount -l "$fresh/dev" "$fresh/proc" 2>/dev/null
    # Never into a file system that is still mounted.
    rm -rf --one-file-system -- "$fresh"
}
trap leave EXIT
cp -a --reflink=auto -- "$BASE/." "$fresh/"
mount --bind /dev "$fresh/dev" || skip "cannot mount"
mount -t proc proc "$fresh/proc" || skip "cannot mount"

# What is tracked, as it is now.
mkdir "$fresh/dltrain"
git -C "$ROOT" ls-files -z | (cd "$ROOT" && xargs -0 tar -c --ignore-failed-read 2>/dev/null) |
    tar -x -C "$fresh/dltrain" || fail "cannot copy the clone"

# inside <command>...: in the clone, as root, with nothing of this system's environment.
inside() {
    local began=$SECONDS
    echo "- $*"
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 CI=true \
        chroot "$fresh" sh -c 'cd /dltrain && exec "$@"' sh "$@" >"$fresh/out" 2>&1 </dev/null ||
        { tail -n 60 "$fresh/out" && fail "$*"; }
    echo "  $((SECONDS - began)) s"
}
said() { grep -q -- "$1" "$fresh/out" || { tail -n 60 "$fresh/out" && fail "not said: $1"; }; }

inside ./ns3 run "dltrain --model=bloom560m --zero=2"
said '^Step time'
[[ -s $fresh/dltrain/results/dltrain-1/report.html ]] || fail "no report.html"
grep -E '^(Step time|Simulation)' "$fresh/out"
inside ./ns3 show
grep '^ns-3' "$fresh/out"
inside ./ns3 test -L unit
tail -n 12 "$fresh/out" | grep 'tests passed'
inside ./ns3 test -R '^identity\.machinery$' # builds the programs and their parts
inside /usr/bin/python3 tests/identity/identity.py --elsewhere --jobs=2
echo "the bytes of all identity runs, pictures apart, are those of expected.json"
