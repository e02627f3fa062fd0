#!/usr/bin/env bash
# Built from ns-3's source, the programs write the bytes that they write on the installed ns-3:
# those of tests/identity/expected.json.
# ctest: TIMEOUT 5400 PROCESSORS 2 FULL
# shellcheck source=lib.sh
source "$(dirname -- "${BASH_SOURCE[0]}")/lib.sh"
need_source

clone=$TMP/clone
mkdir -p "$clone/.ns3"
git -C "$ROOT" ls-files -z | (cd "$ROOT" && xargs -0 tar -c --ignore-failed-read 2>/dev/null) |
    tar -x -C "$clone" || exit 1
# A tree of links to the source, with a build of its own.
tree=$clone/.ns3/ns-3.37
mkdir -p "$tree"/{contrib,scratch}
for entry in "$DLTRAIN_NS3"/*; do
    case ${entry##*/} in
    build | cmake-cache | contrib | scratch) ;;
    *) ln -s -- "$entry" "$tree/" ;;
    esac
done
ln -s -- "$DLTRAIN_NS3/scratch/CMakeLists.txt" "$tree/scratch/"
cd "$clone" || exit 1
unset DLTRAIN_NO_INSTALL DLTRAIN_ROOT DLTRAIN_PROGRAMS DLTRAIN_NS3
for command in "configure --source" "show profile" "test -R ^identity\.runs$"; do
    # shellcheck disable=SC2086 # words
    ./ns3 $command >"$TMP/log" 2>&1 </dev/null ||
        { tail -n 60 "$TMP/log" && echo "FAILED: ./ns3 $command" && exit 1; }
done
tail -n 4 "$TMP/log"
