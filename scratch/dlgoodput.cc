/*
 * SPDX-License-Identifier: GPL-2.0-only
 *
 * How many useful days does a training job get on a cluster that fails?
 *
 *     ./ns3 run "dlgoodput --model=llama3-70b --server=dgx-h100 --servers=32 --tp=8 --pp=4
 *                --duration=54d --spares=2"
 */
#include "contrib/dltrain/base/early-environment.h"
#include "contrib/dltrain/programs/frame.h"
#include "contrib/dltrain/programs/goodput.h"

int
main(int argc, char* argv[])
{
    return dltrain::RunProgram("dlgoodput", [&] { return dltrain::RunGoodput(argc, argv); });
}
