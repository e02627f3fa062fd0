/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * Which layout should a training job be launched with?
 *
 *     ./ns3 run "dlplan --model=llama3-70b --server=dgx-h100 --servers=32 --seq=8192
 *                --global-batch=512"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"
#include "contrib/dltrain/programs/planner.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dlplan", [&] { return dltrain::RunPlanner(argc, argv); });
}
